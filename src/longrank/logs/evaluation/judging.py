"""Judging: from evidence about policies to verdicts, differences, and decisions of the gate."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from longrank.arrays import Array
from longrank.errors import InvalidInput
from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import IntervalSettings, interval_between, score
from longrank.logs.evaluation.sample import Sample, range_of, widen
from longrank.logs.evaluation.support import wrong_propensities
from longrank.logs.evaluation.verdict import LOGGED, PLAYED, Difference, Verdict, plain

SHARES = (0.1, 0.05, 0.02, 0.01)  # of the traffic, to try a policy on
_MIN_EFFECTIVE = 30  # effective decisions: fewer are no reason to try a policy
_AT_RISK = 0.01  # of what a decision can earn: what may be lost per decision while it is tried


def judge(sample: Sample, policy: str = "") -> Verdict:
    """Return the verdict on a policy.

    Which estimator it is, and whether it is refused, follows from what was chosen and which
    outcomes are missing, never from how decisions ended: refusals that look at outcomes select.
    """
    log = sample.evidence.log
    reason = log.lacks(*NEEDS["importance sampling"]) or wrong_propensities(sample.evidence)
    verdict = _by_bounds(sample, reason) if reason else _by_weights(sample)
    notes = (f"{log.missing} decisions have no outcome",) if log.missing else ()
    verdict = replace(
        verdict,
        policy=policy,
        gain=replace(verdict.gain, policy=policy),
        notes=notes,
        missing=log.missing,
        confidence=sample.settings.confidence,
    )
    return _advise(verdict, sample)


def _by_weights(sample: Sample) -> Verdict:
    value, seen = sample.value(), sample.evidence.observed
    if not sample.normal and not math.isnan(value):
        value = sample.possible(value)
    low, high = sample.interval()
    gain = _gain(sample, value)
    if sample.refused or sample.only_bounds:
        value, gain = math.nan, replace(gain, value=math.nan)
    value = value if math.isnan(value) else min(max(value, low), high)
    estimator = "doubly robust" if sample.prefixes else "importance sampling"
    method = "normal" if sample.normal and not sample.refused else "betting"
    verdict = Verdict("", value, low, high, estimator, method, sample.effective, int(seen.sum()))
    played = float(sample.rewards.mean()) if seen.any() else math.nan
    return replace(verdict, refused=sample.refused, gain=gain, played=played)


def _gain(sample: Sample, value: float) -> Difference:
    """Return the difference to what was played."""
    rewards, span = sample.rewards, sample.span
    if not sample.normal or sample.refused:
        low, high = sample.bounded_gain()
        more = min(max(value - float(rewards.mean()), low), high)
        return Difference("", LOGGED, more, low, high, "betting")
    terms = sample.terms - rewards
    low, high = sample.normal_interval(terms, (-span, span))
    return Difference("", LOGGED, float(terms.mean()), low, high, "normal")


def _by_bounds(sample: Sample, reason: str) -> Verdict:
    """Return the verdict by a deterministic log: what its decisions show for certain."""
    evidence, settings, earnable = sample.evidence, sample.settings, (sample.least, sample.most)
    lows, highs, exact = evidence.bounds.T
    clipped = np.clip(lows, *earnable), np.clip(highs, *earnable)
    low, high, method = interval_between(*clipped, earnable, settings)
    n = int(evidence.observed.sum())
    verdict = Verdict("", math.nan, low, high, "bounds", method, math.nan, n)
    if float(exact.mean()) <= 1.0 - 1e-9:
        return replace(verdict, refused=reason)
    value, played = float(lows.mean()), float(sample.rewards.mean())
    gain = _known_gain(sample)
    return replace(verdict, value=value, effective=float(n), gain=gain, played=played)


def _known_gain(sample: Sample) -> Difference:
    """Return the difference to what was played if all that the policy would earn is known."""
    evidence, settings, span = sample.evidence, sample.settings, sample.span
    below, above = (
        evidence.bounds[:, 0] - np.where(evidence.observed, evidence.rewards, otherwise)
        for otherwise in (sample.most, sample.least)
    )
    if not below.any() and not above.any():
        return Difference("", LOGGED, 0.0, 0.0, 0.0)
    low, high, method = interval_between(below, above, (-span, span), settings)
    value = float(below.mean()) if evidence.observed.all() else math.nan
    return Difference("", LOGGED, value, low, high, method)


def _advise(verdict: Verdict, sample: Sample) -> Verdict:
    """Add the advice: see :class:`Verdict`."""
    gain = verdict.gain
    if verdict.refused or math.isnan(gain.low):
        return verdict
    if gain.high < 0.0:
        return replace(verdict, advice="keep")
    if gain.low > 0.0 and sample.bounded_gain()[0] > 0.0:
        return replace(verdict, advice="promote", share=1.0)
    if not gain.value > 0.0 or verdict.effective < _MIN_EFFECTIVE:
        return verdict
    lost = max(-gain.low, 0.0)
    at_most = _AT_RISK * sample.span / lost if lost else SHARES[0]
    share = next((each for each in SHARES if each <= at_most), 0.0)
    return replace(verdict, advice="try", share=share) if share else verdict


@dataclass(frozen=True)
class Comparable:
    """What a comparison of two policies needs of each: far less than the evidence."""

    policy: str
    refused: str
    value: float = math.nan
    low: float = math.nan  # of an interval with half of the risk
    high: float = math.nan
    span: float = 0.0
    unseen: float = 0.0
    designed: float = 0.0  # effective number
    terms: Array | None = None  # the doubly robust estimates of single decisions, if supported


def comparable(sample: Sample, verdict: Verdict) -> Comparable:
    """Return what a comparison needs of the sample about a policy."""
    reason = sample.evidence.log.lacks(*NEEDS["importance sampling"]) or sample.refused
    if reason:
        return Comparable(verdict.policy, reason)
    ends = sample.interval(sample.risk / 2.0)
    sizes = sample.span, sample.unseen, sample.designed
    terms = sample.terms if sample.normal else None
    return Comparable(verdict.policy, "", verdict.value, *ends, *sizes, terms)


def differ(first: Comparable, second: Comparable, settings: IntervalSettings) -> Difference:
    """Return how much more the first of two policies would earn.

    Decision by decision if the design of the log supports doubly robust estimates of both;
    otherwise from the bounds of both, each with half of the risk.
    """
    name, other = first.policy, second.policy
    if first.refused or second.refused:
        return Difference(name, other)
    if first.terms is None or second.terms is None:
        low, high = first.low - second.high, first.high - second.low
        return Difference(name, other, first.value - second.value, low, high, "betting")
    terms, unseen = first.terms - second.terms, max(first.unseen, second.unseen)
    span, designed = max(first.span, second.span), min(first.designed, second.designed)
    variance, value = float(terms.var(ddof=1)) / len(terms), float(terms.mean())
    low, high = score(value, variance, designed, (-span, span), settings)
    low, high = widen(low, -span, unseen), widen(high, span, unseen)
    return Difference(name, other, value, low, high, "normal")


@dataclass(frozen=True)
class GateDecision:
    """What the gate says: ``answer`` is "promote", "keep" or "not enough data"; ``gain`` why."""

    answer: str
    gain: Difference
    reason: str = ""

    def __str__(self) -> str:
        name = f"`{self.gain.policy}`"
        if self.reason:
            return f"{self.answer}: this log cannot tell what {name} would earn: {self.reason}"
        gain = self.gain.compared(PLAYED, " per decision")
        return f"{self.answer}: {name} would earn {gain}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts, ready for JSON; unknown values are None."""
        gain = {name: getattr(self.gain, name) for name in ("value", "low", "high")}
        answer = {"answer": self.answer, "sentence": str(self), "policy": self.gain.policy}
        return dict(plain({**answer, "gain": gain, "reason": self.reason}))


def check_gate(
    evidence: Evidence,
    settings: IntervalSettings,
    policy: str = "",
    missing: str = "refuse",
    earnable: tuple[float, float] | None = None,
) -> GateDecision:
    """Decide whether a policy may replace what is played, by bounds that are valid at any time.

    The question may be repeated every day while the log grows: a policy that earns no more than
    what is played is ever promoted with a probability of at most 1 - confidence, and one that earns
    no less is ever turned down with at most the same.

    Proof: what a decision's part of the policy earned above the least that can be earned, less what
    the log earned above it, has given the past an expectation of at most D, and divided by the
    range of what can be earned it is at least -1. So a gambler's capital (:func:`mixture`) is a
    nonnegative supermartingale if D <= 0, it has the same course at every look, and it ever
    reaches 1 / (1 - confidence) with a probability of at most 1 - confidence (Ville 1939).

    The range must be known beforehand: ``earnable``, or that of each decision if all are alike. By
    the range of what has been seen, a policy that fails where rare decisions are worth a hundred
    times as much would be promoted before the first of them. It needs right propensities, but
    neither support nor a model. A doubly robust term would vary less, but nothing bounds it from
    below unless the least propensity is known beforehand, too: a sequence so unlikely that the log
    never shows it would be judged by the model alone.
    """
    known = _range(evidence, earnable)
    sample = Sample(evidence, settings, missing, known)
    reason = evidence.log.lacks(*NEEDS["importance sampling"]) or sample.refused
    if not reason and known is None:
        reason = (
            "what a decision can earn differs between decisions; say the least and the most that "
            "any can (earnable)"
        )
    if reason:
        return GateDecision("not enough data", Difference(policy, LOGGED), reason)
    low, high = sample.bounded_gain(2.0 * sample.risk, certain=False)
    value = min(max(sample.value() - float(sample.rewards.mean()), low), high)
    gain = Difference(
        policy, LOGGED, math.nan if sample.only_bounds else value, low, high, "betting"
    )
    answer = "promote" if low > 0.0 else "keep" if high < 0.0 else "not enough data"
    return GateDecision(answer, gain)


def _range(evidence: Evidence, declared: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return what any decision can earn: as declared, or if all are alike; None if not known."""
    least, most = range_of(evidence)
    room = 1e-9 * max(abs(least), abs(most), 1e-300)
    if declared is not None:
        if least < declared[0] - room or most > declared[1] + room:
            rule = "hold what every decision of the log can earn"
            raise InvalidInput("earnable", f"{rule}, {least:g} to {most:g}", declared)
        return declared
    alike = np.abs(evidence.earnable - (least, most)).max(initial=0.0) <= room
    return (least, most) if alike else None
