"""The estimators: each turns the evidence about a policy into an estimate, or refuses.

A new one is a function and an entry of :data:`ESTIMATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.document import plain_number, rounded
from longrank.logs.abilities import NEEDS, Checked
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import (
    FEW,
    IntervalSettings,
    betting,
    bootstrap,
    cautions,
    effective_size,
    mean_interval,
    ratio,
    ratio_interval,
    score,
)
from longrank.logs.evaluation.sequences import matched
from longrank.logs.evaluation.support import (
    doubtful,
    effective_by_design,
    no_prefix_support,
    no_support,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """What a policy would earn per decision, by one estimator; or why it cannot be estimated.

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
        How the interval was computed: bootstrap, normal, betting or bounds; a model has none.
    rounds
        The number of decisions it is based on.
    effective
        The effective number of decisions, (sum w)^2 / sum w^2 of the weights up to the outcomes.
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
        value = "" if math.isnan(self.value) else f"{plain_number(self.value, 4)} "
        span = (
            ""
            if math.isnan(self.low)
            else f"[{plain_number(self.low, 4)}, {plain_number(self.high, 4)}]"
        )
        return f"{self.policy}, {self.estimator}: {value}{span}".rstrip()


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


def mean_reward(
    rewards: Array, earnable: tuple[float, float], settings: IntervalSettings
) -> Estimate:
    """Estimate the mean of observed rewards, which lie in a known range."""
    low, high, method = mean_interval(rewards, earnable, settings)
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
    least, most = range_of(found)
    earnable = min(least, float(lows.min())), max(most, float(highs.max()))
    lowest, _, _ = mean_interval(lows, earnable, settings)
    _, highest, method = mean_interval(highs, earnable, settings)
    ends = " to ".join(rounded(end, highest - lowest) for end in (lowest, highest))
    level = f"{100.0 * settings.confidence:.4g} %"
    note = f"for further decisions like these: {ends} ({level}, {method})"
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


def range_of(found: Evidence) -> tuple[float, float]:
    """Return the least and the most that can be earned, by the payoffs of the log.

    Where attempts turn out to cost more than planned it is the least that was earned.
    """
    least, most = float(found.earnable[:, 0].min()), float(found.earnable[:, 1].max())
    rewards, earned = found.rewards[found.observed], found.earned[found.observed]
    seen = [rewards]
    mass = found.final_masses[found.observed]
    some = (mass > 0.0) & np.isfinite(mass)
    if some.any():
        seen.append(earned[some] / mass[some])
    all_seen = np.concatenate(seen)
    if not len(all_seen):
        return least, most
    return min(least, float(all_seen.min())), max(most, float(all_seen.max()))


class Scaled(NamedTuple):
    """What a policy earned, and missed, per decision, on the scale of what can be earned.

    All are at least 0, and their means at most the policy's value and 1 minus that value; this
    needs no support of the log, and no outcome: what is not known adds to neither. ``earned`` and
    ``missed`` are weighted, ``sure`` and ``lost`` are what every decision shows for certain.
    """

    earned: Array
    missed: Array
    sure: Array
    lost: Array
    least: float
    span: float

    def interval(self, risk: float) -> tuple[float, float]:
        """Return bounds of the value that are valid for any number of decisions.

        Weights and certainty have half of the risk each, and the better of the two counts. Weights
        have all of it where nothing is certain.
        """
        if not self.sure.any() and not self.lost.any():
            low, high = betting(self.earned, self.missed, risk)
        else:
            weighted = betting(self.earned, self.missed, risk / 2.0)
            certain = betting(self.sure, self.lost, risk / 2.0)
            low, high = max(weighted[0], certain[0]), min(weighted[1], certain[1])
            if low > high:  # bounds that contradict each other say nothing
                low, high = 0.0, 1.0
        return self.least + self.span * low, self.least + self.span * high


def scaled(found: Evidence, known: Array) -> Scaled:
    """Scale what a policy earned; ``known`` is the weight of each outcome, 0 if it is missing."""
    least, most = range_of(found)
    span = max(most - least, 1e-300)
    mass = np.where(found.observed, found.final_masses, 0.0)
    earned = np.where(found.observed, found.earned, 0.0)
    up = np.maximum(earned - least * mass, 0.0) / span
    down = np.maximum(most * mass - earned, 0.0) / span
    lows, highs = np.clip(certain_bounds(found), least, most).T
    sure, lost = (lows - least) / span, (most - highs) / span
    return Scaled(known * up, known * down, sure, lost, least, span)


def certain_bounds(found: Evidence) -> Array:
    """Return what the policy earns at least and at most in every decision, shape (n, 2).

    As the estimator ``bounds`` says, where weights would not be more careful: they need neither
    planned costs that are true, nor a cascade that ends whatever would have come next. Where these
    matter, anything is possible.
    """
    if found.log.with_outcome_costs:
        return np.full((len(found.rewards), 2), (-np.inf, np.inf))
    return np.where(found.left[:, np.newaxis], found.earnable, found.bounds[:, :2])


def possible(found: Evidence, value: float) -> float:
    """Limit an estimate to what the policy can have earned in these decisions."""
    low, high = certain_bounds(found).mean(axis=0)
    return min(max(value, float(low)), float(high))


def shown(
    found: Evidence,
    settings: IntervalSettings,
    value: float,
    approximate: Callable[[], tuple[float, float, str]],
) -> Estimate:
    """Return a weighted estimate with the interval that the design of the log allows.

    That is the ``approximate`` one if there are enough effective decisions and the weights are as
    they should be, and otherwise the one by betting, which needs neither.
    """
    designed = effective_by_design(found)
    few = designed < FEW or settings.interval == "betting" or doubtful(found)
    least, most = range_of(found)
    if few:
        ones = np.ones(len(found.rewards))
        low, high = scaled(found, ones).interval(1.0 - settings.confidence)
        method = "betting"
    else:
        low, high, method = approximate()
        low, high = max(low, least), min(high, most)
    notes = cautions(designed, method, "few decisions follow the policy to the end, so ")
    kept = min(max(possible(found, value) if few else value, low), high)
    if abs(kept - value) > 1e-9:
        within = least - 1e-9 <= value <= most + 1e-9
        limit = "what is certain and its interval" if within else "what can be earned"
        notes += (f"{plain_number(value, 4)} before it was limited to {limit}",)
    rounds, effective = len(found.rewards), effective_size(found.final_masses)
    return Estimate("", "", kept, low, high, method, rounds, effective, notes=notes)


def replay(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the rewards of decisions in which the log played the same (Li et al. 2011).

    STOP is a part of the sequence. Keeping a match is independent of its reward only if all
    sequences of the log were equally likely. (Counting a shared prefix as a match would keep
    early successes more often.)
    """
    kept = found.matches > 0.0
    weights, rewards = found.matches[kept], found.rewards[kept]
    least, most = range_of(found)
    span = max(most - least, 1e-300)
    above = (rewards - least) / span
    value = float(weights @ rewards / weights.sum())
    risk = (1.0 - settings.confidence) / 2.0
    low = least + span * matched(weights, above, risk)
    high = most - span * matched(weights, 1.0 - above, risk)
    effective = effective_size(found.matches)
    notes = cautions(effective, "betting")
    rounds = int(kept.sum())
    return Estimate("", "", value, low, high, "betting", rounds, effective, notes=notes)


def no_match(found: Evidence) -> str:
    """Return why replay cannot be trusted, or has nothing to average; empty if it can."""
    if not (found.matches > 0.0).any():
        return f"none of the {len(found.rewards)} decisions played what this policy would play"
    reason = no_support(found)
    if not reason and doubtful(found):
        return (
            "the weights are two standard errors from 1: it may play what some contexts never show"
        )
    return reason


def importance(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average w_T r, with w_T the weight of the actions up to the one that led to the outcome.

    Unbiased if the log supports the policy and its propensities are right. For sequences of fixed
    length it is the reward interaction IPS of McInerney et al. (2020).
    """
    final = found.final_weights
    terms = final * found.rewards
    value = float(terms.mean())

    def approximate() -> tuple[float, float, str]:
        variance = float(terms.var(ddof=1)) / len(terms)
        wide = score(value, variance, effective_size(final), range_of(found), settings)
        own = bootstrap(terms[:, np.newaxis], lambda means: means[:, 0], terms, settings)
        return min(own[0], wide[0]), max(own[1], wide[1]), "bootstrap"

    estimate = shown(found, settings, value, approximate)
    if abs(final.mean() - 1.0) > 0.1:
        note = f"the weights average {final.mean():.2f} instead of 1, by chance or for a reason"
        estimate = replace(estimate, notes=(*estimate.notes, note))
    return estimate


def self_normalised(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the same with weights over their mean per position: less variance, some bias."""
    rows, final = np.arange(len(found.rewards)), found.final_weights
    terms = np.zeros(found.weights.shape)
    terms[rows, found.last] = final * found.rewards
    value, influence = ratio(np.zeros(len(rows)), terms, found.weights)

    def approximate() -> tuple[float, float, str]:
        _, *own = ratio_interval(terms, found.weights, settings)
        variance = float(influence.var(ddof=1)) / len(rows)
        wide = score(value, variance, effective_size(final), range_of(found), settings)
        return min(own[0], wide[0]), max(own[1], wide[1]), "bootstrap"

    return shown(found, settings, value, approximate)


def robust_terms(found: Evidence) -> Array:
    """Return the doubly robust estimate of every decision."""
    return np.asarray(found.starts + (found.weights * found.deltas).sum(axis=1))


def doubly_robust(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average V + sum_j w_j delta_j (Kiyohara et al. 2022, with STOP as an action).

    The model says what to expect, and the log corrects it. Unbiased if the log supports the
    policy, whatever the model; the better the model, the smaller the variance. What stopping earns
    is known, so the log need not stop where the policy does.
    """
    terms = robust_terms(found)
    value = float(terms.mean())

    def approximate() -> tuple[float, float, str]:
        spread = robust_variance(terms, terms - found.starts, found.expected)
        effective = effective_by_design(found)
        return *score(value, spread, effective, range_of(found), settings), "normal"

    return shown(found, settings, value, approximate)


def doubly_robust_normalised(found: Evidence, settings: IntervalSettings) -> Estimate:
    """Average the same with weights divided by their mean per position."""
    corrections = found.weights * found.deltas
    value, influence = ratio(found.starts, corrections, found.weights)

    def approximate() -> tuple[float, float, str]:
        spread = robust_variance(influence, corrections.sum(axis=1), found.expected)
        effective = effective_by_design(found)
        return *score(value, spread, effective, range_of(found), settings), "normal"

    return shown(found, settings, value, approximate)


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
    return no_prefix_support(found) or found.log.lacks(*NEEDS["doubly robust"])


def model_based(found: Evidence, settings: IntervalSettings) -> Estimate:  # noqa: ARG001
    """Average what the outcome model expects in every decision: a point, without an interval."""
    note = "as good as its model, whose errors no interval can tell"
    n, value = len(found.modelled), float(found.modelled.mean())
    notes = (note, *cost_notes(found.log))
    return Estimate("", "", value, method="model", rounds=n, effective=float(n), notes=notes)


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
