"""The estimators: each turns the evidence about a policy into an estimate, or refuses.

Importance sampling (IPS) and its self-normalised form (SNIPS), doubly robust (DR) and its own
(SNDR), and the direct method (DM, here ``model``); bounds and replay, which need no model. A new
one is a function and an entry of :data:`ESTIMATORS`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from longrank.arrays import Array
from longrank.document.numbers import plain_number, rounded
from longrank.logs.abilities import NEEDS, Checked
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import (
    bootstrap,
    cautions,
    effective_size,
    interval_between,
    matched,
    ratio,
    ratio_interval,
    score,
)
from longrank.logs.evaluation.sample import Sample
from longrank.logs.evaluation.support import doubtful, no_prefix_support, no_support


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
        ends = ", ".join(plain_number(end, 4) for end in (self.low, self.high))
        span = "" if math.isnan(self.low) else f"[{ends}]"
        return f"{self.policy}, {self.estimator}: {value}{span}".rstrip()


@dataclass(frozen=True)
class Estimator:
    """An estimator: what it computes, what it needs of a log, and when it refuses.

    Attributes
    ----------
    estimate
        Turns a sample into an estimate; the names of policy and estimator are filled in later.
    needs
        What the log must have: names that :meth:`longrank.logs.Checked.lacks` knows.
    refuses
        Returns why the evidence does not suffice, empty if it does; called only if the log has
        everything needed.
    """

    name: str
    estimate: Callable[[Sample], Estimate]
    needs: tuple[str, ...]
    refuses: Callable[[Evidence], str] = lambda _: ""

    def judge(self, policy: str, sample: Sample) -> Estimate:
        """Estimate the value of a policy, or say why that is refused."""
        evidence = sample.evidence
        reason = evidence.log.lacks(*self.needs) or self.refuses(evidence)
        if reason:
            return Estimate(policy, self.name, refused=reason)
        return replace(self.estimate(sample), policy=policy, estimator=self.name)


def cost_notes(log: Checked) -> tuple[str, ...]:
    """Return notes on how attempts without reported costs are counted."""
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


def bounds(sample: Sample) -> Estimate:
    """Bound the value without assumptions.

    ``low`` and ``high`` are certain for the decisions of this log. A note says what they become
    for further decisions of the same kind.
    """
    evidence, settings = sample.evidence, sample.settings
    lows, highs, exact = np.ascontiguousarray(evidence.bounds.T)
    earnable = min(sample.least, float(lows.min())), max(sample.most, float(highs.max()))
    lowest, highest, method = interval_between(lows, highs, earnable, settings)
    ends = " to ".join(rounded(end, highest - lowest) for end in (lowest, highest))
    level = f"{100.0 * settings.confidence:.4g} %"
    note = f"for further decisions like these: {ends} ({level}, {method})"
    low, high, known = (float(each.mean()) for each in (lows, highs, exact))
    value, notes = low if known > 1.0 - 1e-12 else math.nan, (note, *cost_notes(evidence.log))
    return Estimate("", "", value, low, high, "bounds", len(lows), exact=known, notes=notes)


def replay(sample: Sample) -> Estimate:
    """Average the rewards of decisions in which the log played the same (Li et al. 2011).

    STOP is a part of the sequence. Keeping a match is independent of its reward only if all
    sequences of the log were equally likely. (Counting a shared prefix as a match would keep
    early successes more often.)
    """
    matches, least, most = sample.evidence.matches, sample.least, sample.most
    kept, span = matches > 0.0, max(sample.span, 1e-300)
    weights, rewards = matches[kept], sample.evidence.rewards[kept]
    above = (rewards - least) / span
    value = float(weights @ rewards / weights.sum())
    low = least + span * matched(weights, above, sample.risk / 2.0)
    high = most - span * matched(weights, 1.0 - above, sample.risk / 2.0)
    effective, rounds = effective_size(matches), int(kept.sum())
    notes = cautions(effective, "betting")
    return Estimate("", "", value, low, high, "betting", rounds, effective, notes=notes)


def no_match(evidence: Evidence) -> str:
    """Return why replay cannot be trusted, or has nothing to average; empty if it can."""
    if not (evidence.matches > 0.0).any():
        return f"none of the {len(evidence.rewards)} decisions played what this policy would play"
    reason = no_support(evidence)
    if not reason and doubtful(evidence):
        return (
            "the weights are two standard errors from 1: it may play what some contexts never show"
        )
    return reason


def importance(sample: Sample) -> Estimate:
    """Average w_T r, with w_T the weight of the actions up to the one that led to the outcome.

    Unbiased if the log supports the policy and its propensities are right. For sequences of fixed
    length it is the reward interaction IPS of McInerney et al. (2020): in the Open Bandit Pipeline
    (obp) ``SlateRewardInteractionIPS``.
    """
    final = sample.evidence.final_weights
    terms = final * sample.evidence.rewards
    column, settings = terms[:, np.newaxis], sample.settings
    estimate = _resampled(
        sample,
        float(terms.mean()),
        terms,
        lambda: bootstrap(column, lambda means: means[:, 0], terms, settings),
    )
    if abs(final.mean() - 1.0) > 0.1:
        note = f"the weights average {final.mean():.2f} instead of 1, by chance or for a reason"
        estimate = replace(estimate, notes=(*estimate.notes, note))
    return estimate


def self_normalised(sample: Sample) -> Estimate:
    """Average the same with weights over their mean per position: less variance, some bias.

    ``SelfNormalizedSlateRewardInteractionIPS`` in obp.
    """
    evidence = sample.evidence
    rows, terms = np.arange(len(evidence.rewards)), np.zeros(evidence.weights.shape)
    terms[rows, evidence.last] = evidence.final_weights * evidence.rewards
    value, influence = ratio(np.zeros(len(rows)), terms, evidence.weights)
    columns = terms, evidence.weights, sample.settings
    return _resampled(sample, value, influence, lambda: ratio_interval(*columns)[1:])


def _resampled(
    sample: Sample, value: float, influence: Array, interval: Callable[[], tuple[float, float]]
) -> Estimate:
    """Return an estimate with the wider ends of two intervals.

    One is that of a bootstrap; the other allows for rare events.
    """

    def approximate() -> tuple[float, float, str]:
        effective = effective_size(sample.evidence.final_weights)
        variance = float(influence.var(ddof=1)) / len(influence)
        wide = score(value, variance, effective, (sample.least, sample.most), sample.settings)
        own = interval()
        return min(own[0], wide[0]), max(own[1], wide[1]), "bootstrap"

    return _weighted(sample, value, approximate)


def _weighted(
    sample: Sample, value: float, approximate: Callable[[], tuple[float, float, str]]
) -> Estimate:
    """Return a weighted estimate with the interval that the design of the log allows.

    That is the ``approximate`` one if there are enough effective decisions and the weights are
    sound, and otherwise betting, which needs neither. The value is clipped to the interval, with a
    note.
    """
    if sample.few:
        (low, high), method = sample.betting_interval(sample.risk), "betting"
    else:
        low, high, method = approximate()
        low, high = max(low, sample.least), min(high, sample.most)
    notes = cautions(sample.designed, method, "few decisions follow the policy to the end, so ")
    kept = min(max(sample.possible(value) if sample.few else value, low), high)
    if abs(kept - value) > 1e-9:
        within = sample.least - 1e-9 <= value <= sample.most + 1e-9
        limit = "what is certain and its interval" if within else "what can be earned"
        notes += (f"{plain_number(value, 4)} before it was limited to {limit}",)
    rounds = len(sample.evidence.rewards)
    return Estimate("", "", kept, low, high, method, rounds, sample.effective, notes=notes)


def doubly_robust(sample: Sample) -> Estimate:
    """Average V + sum_j w_j delta_j (Kiyohara et al. 2022, with STOP as an action).

    The model says what to expect, and the log corrects it. Unbiased if the log supports the
    policy, whatever the model; the better the model, the smaller the variance. What stopping earns
    is known, so the log need not stop where the policy does. ``SlateCascadeDoublyRobust`` in obp.
    """
    return _robust(sample, sample.value(), sample.terms)


def doubly_robust_normalised(sample: Sample) -> Estimate:
    """Average the same with weights divided by their mean per position.

    The analogue for sequences of ``SelfNormalizedDoublyRobust`` in obp.
    """
    evidence = sample.evidence
    corrections = evidence.weights * evidence.deltas
    return _robust(sample, *ratio(evidence.starts, corrections, evidence.weights))


def _robust(sample: Sample, value: float, influence: Array) -> Estimate:
    earnable = sample.least, sample.most
    return _weighted(
        sample, value, lambda: (*sample.normal_interval(influence, earnable, value=value), "normal")
    )


def not_robust(evidence: Evidence) -> str:
    """Return why a doubly robust estimate is refused; empty if it is not."""
    return no_prefix_support(evidence) or evidence.log.lacks(*NEEDS["doubly robust"])


def model_based(sample: Sample) -> Estimate:
    """Average what the outcome model expects in every decision: a point, without an interval."""
    note = "only as good as its model; no interval covers the model's errors"
    modelled = sample.evidence.modelled
    n, notes = len(modelled), (note, *cost_notes(sample.evidence.log))
    value = float(modelled.mean())
    return Estimate("", "", value, method="model", rounds=n, effective=float(n), notes=notes)


_WEIGHTED = ("items", "payoffs", "propensity")
ESTIMATORS = {
    each.name: each
    for each in (
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
