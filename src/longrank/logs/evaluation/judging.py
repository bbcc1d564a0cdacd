"""Judging: from the sample of a log to a verdict on a policy, and to differences of policies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.intervals import IntervalSettings, mean_interval, score
from longrank.logs.evaluation.sample import Sample, widen
from longrank.logs.evaluation.support import wrong_propensities
from longrank.logs.evaluation.verdict import LOGGED, Difference, Verdict

Array = NDArray[np.float64]
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
    return Verdict(
        "",
        min(max(value, low), high) if not math.isnan(value) else value,
        low,
        high,
        "doubly robust" if sample.prefixes else "importance sampling",
        "normal" if sample.normal and not sample.refused else "betting",
        sample.effective,
        int(seen.sum()),
        refused=sample.refused,
        gain=gain,
        played=float(sample.rewards.mean()) if seen.any() else math.nan,
    )


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
    """Return the verdict of a log without chance: what its decisions show for certain."""
    evidence, settings, earnable = sample.evidence, sample.settings, (sample.least, sample.most)
    lows, highs, exact = evidence.bounds.T
    low, _, _ = mean_interval(np.clip(lows, *earnable), earnable, settings)
    _, high, method = mean_interval(np.clip(highs, *earnable), earnable, settings)
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
    low, _, _ = mean_interval(below, (-span, span), settings)
    _, high, method = mean_interval(above, (-span, span), settings)
    value = float(below.mean()) if evidence.observed.all() else math.nan
    return Difference("", LOGGED, value, low, high, method)


def _advise(verdict: Verdict, sample: Sample) -> Verdict:
    """Fill in what to do: see :class:`Verdict`."""
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
    """What the difference between two policies takes of each: less than the evidence."""

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
    """Return what differences take of the sample about a policy."""
    reason = sample.evidence.log.lacks(*NEEDS["importance sampling"]) or sample.refused
    if reason:
        return Comparable(verdict.policy, reason)
    return Comparable(
        verdict.policy,
        "",
        verdict.value,
        *sample.interval(sample.risk / 2.0),
        sample.span,
        sample.unseen,
        sample.designed,
        sample.terms if sample.normal else None,
    )


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
