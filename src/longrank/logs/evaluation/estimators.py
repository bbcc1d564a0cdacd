"""The estimators: each turns the evidence about a policy into an estimate, or refuses.

A new one is a function and an entry of :data:`ESTIMATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank.logs.abilities import NEEDS, Checked
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import (
    IntervalSettings,
    bernstein,
    cautions,
    effective_size,
    mean_interval,
    normal,
    ratio,
    ratio_interval,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """What a policy would earn per decision, by one estimator; or why that cannot be said.

    Attributes
    ----------
    policy, estimator
        Names of the policy and of the estimator.
    value
        The estimate; NaN if it was refused, or if there are only bounds.
    low, high
        The confidence interval; for bounds, what is certain about the decisions of the log.
    confidence
        The confidence level of the interval, if it is one.
    method
        How the interval was made: bootstrap, normal, bernstein or bounds.
    rounds
        The number of decisions that it rests on.
    effective
        The effective number of decisions, (sum w)^2 / sum w^2.
    exact
        The share of decisions whose reward is known for certain (bounds only).
    refused
        Why there is no estimate; empty if there is one.
    notes
        What to know before trusting it.
    """

    policy: str
    estimator: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    method: str = ""
    rounds: int = 0
    effective: float = math.nan
    exact: float = math.nan
    refused: str = ""
    notes: tuple[str, ...] = ()
    confidence: float = math.nan

    def __str__(self) -> str:
        if self.refused:
            return f"{self.policy}, {self.estimator}: refused, {self.refused}"
        value = "" if math.isnan(self.value) else f"{self.value:.4f} "
        return f"{self.policy}, {self.estimator}: {value}[{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Estimator:
    """An estimator: what it computes, what it needs of a log, and when it refuses.

    Attributes
    ----------
    estimate
        Turns evidence into an estimate; the names of policy and estimator are filled in later.
    needs
        What the log must have, in the words of :meth:`longrank.logs.Checked.lacks`.
    refuses
        Returns why the evidence does not suffice, empty if it does; asked if the log has all
        that is needed.
    """

    name: str
    estimate: Callable[[Evidence, IntervalSettings], Estimate]
    needs: tuple[str, ...]
    refuses: Callable[[Evidence], str] = lambda _: ""

    def judge(self, policy: str, found: Evidence, settings: IntervalSettings) -> Estimate:
        """Estimate the value of a policy, or say why that is refused."""
        reason = found.log.lacks(*self.needs) or self.refuses(found)
        if reason:
            return Estimate(policy, self.name, refused=reason)
        return replace(self.estimate(found, settings), policy=policy, estimator=self.name)


def mean_reward(rewards: Array, settings: IntervalSettings) -> Estimate:
    """Estimate the mean of observed rewards."""
    span = float(rewards.max() - rewards.min())
    low, high, method = mean_interval(rewards, span, settings)
    n = len(rewards)
    notes = cautions(n, method)
    return Estimate("", "", float(rewards.mean()), low, high, method, n, float(n), notes=notes)


def cost_notes(log: Checked) -> tuple[str, ...]:
    """Return how attempts are counted whose real costs are not known, where those of others are."""
    if not log.with_outcome_costs:
        return ()
    notes = []
    if log.without_costs:
        notes.append(
            f"{log.without_costs} decisions do not say what their attempts cost: they count what "
            "such attempts cost on average"
        )
    notes.append("attempts that the log did not make cost as planned, or else as on average")
    return tuple(notes)


def bounds(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Bound the value without assumptions.

    ``low`` and ``high`` are certain for the decisions of this log. A note says what they become
    for further decisions of the same kind.
    """
    low, high, exact = found.bounds.mean(axis=0)
    lows, highs = np.ascontiguousarray(found.bounds[:, 0]), np.ascontiguousarray(found.bounds[:, 1])
    span = float(highs.max() - lows.min())
    lowest, _, _ = mean_interval(lows, span, settings)
    _, highest, method = mean_interval(highs, span, settings)
    note = (
        f"for further decisions like these: {lowest:.4f} to {highest:.4f} "
        f"({settings.confidence:.0%}, {method})"
    )
    return Estimate(
        "",
        "",
        value=float(low) if exact > 1.0 - 1e-12 else float("nan"),
        low=float(low),
        high=float(high),
        method="bounds",
        rounds=len(lows),
        exact=float(exact),
        notes=(note, *cost_notes(found.log)),
    )


def replay(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the rewards of decisions in which the log played the same (Li et al. 2011).

    STOP is a part of the sequence. Keeping a match is independent of its reward only if all
    sequences of the log were equally likely. (Counting a shared prefix as a match would keep
    early successes more often.)
    """
    kept = found.matches > 0.0
    weights = found.matches[kept, np.newaxis]
    terms = found.rewards[kept, np.newaxis] * weights
    value, low, high = ratio_interval(terms, weights, settings)
    effective = effective_size(found.matches)
    notes = cautions(effective, "bootstrap")
    rounds = int(kept.sum())
    return Estimate("", "", value, low, high, "bootstrap", rounds, effective, notes=notes)


def no_match(found: Evidence) -> str:
    """Return why replay has nothing to average; empty if it has."""
    if (found.matches > 0.0).any():
        return ""
    return f"none of the {len(found.rewards)} decisions played what this policy would play"


def importance(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average w_T r, with w_T the weight of the actions up to the one that led to the outcome.

    Unbiased if the log supports the policy and its propensities are right. For sequences of fixed
    length it is the reward interaction IPS of McInerney et al. (2020).
    """
    rewards, final = found.rewards, found.final_weights
    terms = final * rewards
    # the range of w r, taken from what was observed
    span = float(final.max() * (max(rewards.max(), 0.0) - min(rewards.min(), 0.0)))
    low, high, method = mean_interval(terms, span, settings)
    effective, n = effective_size(final), len(rewards)
    notes = cautions(effective, method)
    if abs(final.mean() - 1.0) > 0.1:
        biased = f"the weights average {final.mean():.2f} instead of 1, which biases the value"
        notes += (f"{biased}: the self-normalised form corrects for that",)
    return Estimate("", "", float(terms.mean()), low, high, method, n, effective, notes=notes)


def self_normalised(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the same with weights over their mean per position: less variance, some bias."""
    rows, final = np.arange(len(found.rewards)), found.final_weights
    terms = np.zeros(found.weights.shape)
    terms[rows, found.last] = final * found.rewards
    value, low, high = ratio_interval(terms, found.weights, settings)
    effective = effective_size(final)
    notes = cautions(effective, "bootstrap")
    return Estimate("", "", value, low, high, "bootstrap", len(rows), effective, notes=notes)


def no_support(found: Evidence) -> str:
    """Return why weights cannot tell what the policy would earn; empty if they can.

    Weights that are supported have mean 1 after every number of actions.
    """
    stops, unsupported, n = found.stops, found.unsupported, len(found.weights)
    if stops.mean() > 0.01 and not found.short.any():
        return (
            "the log has no support: it always uses up the budget, and this policy stops earlier "
            f"with probability {stops.mean():.2f} or more"
        )
    if unsupported.max() > 1e-9:
        return (
            f"the log has no support: in {int((unsupported > 1e-9).sum())} of {n} decisions it "
            f"was certain to do something that this policy does differently "
            f"({unsupported.mean():.1%} of its choices); a deterministic log gives bounds only"
        )
    final = found.final_weights
    mean = float(final.mean())
    if mean == 0.0:
        return f"none of the {n} decisions began as this policy would"
    error = float(final.std(ddof=1)) / np.sqrt(n) if n > 1 else np.inf
    if mean < 0.8 and mean + 6.0 * error < 1.0:
        return (
            f"the log has no support: the weights average {mean:.3f} instead of 1, so about "
            f"{1.0 - mean:.0%} of what this policy plays could not occur in the log"
        )
    return ""


def doubly_robust(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average V + sum_j w_j delta_j (Kiyohara et al. 2022, with STOP as an action).

    The model says what to expect, and the log corrects it. Unbiased if the log supports the
    policy, whatever the model; the better the model, the smaller the variance.
    """
    corrections = (found.weights * found.deltas).sum(axis=1)
    terms = found.starts + corrections
    if settings.interval == "bernstein":
        low, high = bernstein(terms, float(terms.max() - terms.min()), settings)
        method = settings.interval
    else:
        spread = robust_variance(terms, corrections, found.expected)
        low, high = normal(float(terms.mean()), spread, settings)
        method = "normal"
    effective, n = effective_size(found.final_weights), len(terms)
    notes = cautions(effective, method)
    return Estimate("", "", float(terms.mean()), low, high, method, n, effective, notes=notes)


def doubly_robust_normalised(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the same with weights divided by their mean per position."""
    corrections = found.weights * found.deltas
    value, influence = ratio(found.starts, corrections, found.weights)
    spread = robust_variance(influence, corrections.sum(axis=1), found.expected)
    low, high = normal(value, spread, settings)
    effective, n = effective_size(found.final_weights), len(found.starts)
    notes = cautions(effective, "normal")
    return Estimate("", "", value, low, high, "normal", n, effective, notes=notes)


def robust_variance(terms: Array, corrections: Array, expected: Array) -> float:
    """Return the variance of the mean of terms, which the log alone estimates poorly.

    Much of it comes from long runs of failures with a large weight, so rare that many logs hold
    none; such logs would make a policy seem better and more certain than it is. The model knows
    how likely these runs were. So the observed mean square of the corrections is shrunk towards
    the expected one (``expected``, shape (n, 2): second and fourth moments), as far as their
    difference may be chance (James, Stein 1961, the positive part): the more the log contradicts
    the model, the less the model counts.
    """
    squares, fourths = expected.T
    gap = float((corrections**2).mean() - squares.mean())
    chance = float((fourths - squares**2).mean()) / len(terms)
    believed = max(0.0, 1.0 - chance / gap**2) if gap else 0.0
    return max(float(terms.var()) - (1.0 - believed) * gap, 0.0) / len(terms)


def not_robust(found: Evidence) -> str:
    """Return why a doubly robust estimate is refused; empty if it is not."""
    return no_support(found) or found.log.lacks(*NEEDS["doubly robust"])


def model_based(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average what the outcome model expects in every decision."""
    estimate = mean_reward(found.modelled, settings)
    note = "as good as its model: the interval does not include the model's errors"
    return replace(estimate, notes=(note, *cost_notes(found.log), *estimate.notes))


_WEIGHTED = ("items", "payoffs", "propensity")
ESTIMATORS = {
    one.name: one
    for one in (
        Estimator("bounds", bounds, NEEDS["bounds"]),
        Estimator("replay", replay, NEEDS["replay"], no_match),
        Estimator("importance sampling", importance, _WEIGHTED, no_support),
        Estimator("importance sampling, self-normalised", self_normalised, _WEIGHTED, no_support),
        Estimator("doubly robust", doubly_robust, _WEIGHTED, not_robust),
        Estimator(
            "doubly robust, self-normalised", doubly_robust_normalised, _WEIGHTED, not_robust
        ),
        Estimator("model", model_based, NEEDS["model"]),
    )
}
