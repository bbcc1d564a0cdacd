"""Judging: from the evidence of a log to a verdict on a policy, and to differences of policies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.estimators import (
    certain_bounds,
    possible,
    range_of,
    robust_terms,
    robust_variance,
    scaled,
)
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import (
    FEW,
    IntervalSettings,
    effective_size,
    mean_interval,
    score,
)
from longrank.logs.evaluation.observation import chances, too_many
from longrank.logs.evaluation.sequences import constant_lower
from longrank.logs.evaluation.support import (
    doubtful,
    effective_by_design,
    lost_stops,
    lost_support,
    wrong_propensities,
)
from longrank.logs.evaluation.verdict import LOGGED, Difference, Verdict

Array = NDArray[np.float64]
SHARES = (0.1, 0.05, 0.02, 0.01)  # of the traffic, to try a policy on
_WORTH_A_TRY = 30  # effective decisions: fewer are no reason to try a policy
_AT_RISK = 0.01  # of what a decision can earn: what may be lost per decision while it is tried


def judge(
    found: Evidence, settings: IntervalSettings, policy: str = "", missing: str = "refuse"
) -> Verdict:
    """Return the verdict on a policy from the evidence of a log.

    Which estimator it is, and whether it is refused, follows from what was chosen and which
    outcomes are missing, never from how decisions ended: refusals that look at outcomes select.
    """
    judged = Judged(found, settings, missing)
    log = found.log
    reason = log.lacks(*NEEDS["importance sampling"]) or wrong_propensities(found)
    verdict = _bounded(judged, reason) if reason else judged.verdict()
    gone = f"{log.missing} decisions have no outcome"
    notes = (*verdict.notes, gone) if log.missing else verdict.notes
    verdict = replace(verdict, policy=policy, notes=notes, missing=log.missing)
    verdict = replace(verdict, gain=replace(verdict.gain, policy=policy))
    return _advise(verdict, judged)


class Judged:
    """The evidence about a policy under a treatment of missing outcomes."""

    def __init__(
        self,
        found: Evidence,
        settings: IntervalSettings,
        missing: str,
        earnable: tuple[float, float] | None = None,
    ) -> None:
        self.found, self.settings, self.missing = found, settings, missing
        self.risk = 1.0 - settings.confidence
        self.gone = found.log.missing
        self.least, self.most = range_of(found) if earnable is None else earnable
        self.weights = np.ones(len(found.observed))  # of decisions whose outcomes are known
        if self.gone and missing == "at random":
            self.weights = 1.0 / chances(found)
        self.known = found.observed * self.weights
        self.prefixes = not found.log.lacks("prefix_propensities")
        self.designed = self._designed()
        few = self.designed < FEW or settings.interval == "betting" or doubtful(found)
        worst = self.gone and missing == "bounds"
        self.normal = self.prefixes and not few and not worst

    def _designed(self) -> float:
        """Return the effective number by the design of the log, which intervals go by."""
        own = effective_by_design(self.found)
        weights = self.known[self.found.observed]
        return own * float(weights.sum()) ** 2 / float((weights**2).sum() * len(weights))

    @property
    def effective(self) -> float:
        """The effective number up to the outcomes, to be told."""
        seen = self.found.observed
        return effective_size(self.known[seen] * self.found.final_masses[seen])

    @cached_property
    def refused(self) -> str:
        reason = wrong_propensities(self.found) or lost_support(self.found)
        if not reason and not self.prefixes:
            reason = lost_stops(self.found)
        if not reason and self.missing == "refuse":
            reason = too_many(self.gone, int(self.found.observed.sum()))
        return reason

    @property
    def terms(self) -> Array:
        """The doubly robust estimates of single decisions, on all of them or those that ended."""
        found = self.found
        corrections = self.known * (found.weights * found.deltas).sum(axis=1)
        terms = np.asarray(found.starts + corrections)
        return terms if self.missing == "at random" else terms[found.observed]

    @property
    def rewards(self) -> Array:
        """What was earned, on the same decisions."""
        found = self.found
        if self.missing != "at random":
            return found.rewards[found.observed]
        rewards = np.where(found.observed, found.rewards, 0.0)
        mean = float(self.known @ rewards / self.known.sum())
        return np.asarray(mean + self.known * (rewards - mean))

    def value(self) -> float:
        """Return the estimate; NaN if nothing that was played says anything of the policy."""
        if self.prefixes:
            return float(self.terms.mean())
        found = self.found
        mass = np.where(found.observed, self.known * found.final_masses, 0.0)
        total = float(mass @ np.where(found.observed, found.rewards, 0.0))
        return total / float(mass.sum()) if mass.any() else math.nan

    def verdict(self) -> Verdict:
        """Return the verdict, but for the names and what to do."""
        reason, found, value = self.refused, self.found, self.value()
        estimator = "doubly robust" if self.prefixes else "importance sampling"
        only = bool(self.gone) and self.missing == "bounds"
        if not self.normal and not math.isnan(value):
            value = possible(found, value)
        low, high = self.interval()
        gain = self.gain(value)
        if reason or only:
            value, gain = math.nan, replace(gain, value=math.nan)
        return Verdict(
            "",
            min(max(value, low), high) if not math.isnan(value) else value,
            low,
            high,
            estimator,
            "normal" if self.normal and not reason else "betting",
            self.effective,
            int(found.observed.sum()),
            refused=reason,
            gain=gain,
            confidence=self.settings.confidence,
            played=float(self.rewards.mean()) if found.observed.any() else math.nan,
        )

    def interval(self, risk: float | None = None) -> tuple[float, float]:
        """Return the interval of the value."""
        risk = self.risk if risk is None else risk
        if not self.normal or self.refused:
            return scaled(self.found, self.known).interval(risk)
        settings = replace(self.settings, confidence=1.0 - risk)
        terms = self.terms
        variance = float(terms.var(ddof=1)) / len(terms)
        if self.missing != "at random":
            ended = self.found.ended()
            variance = robust_variance(terms, terms - ended.starts, ended.expected)
        earnable = self.least, self.most
        low, high = score(float(terms.mean()), variance, self.designed, earnable, settings)
        return self.widen(low, self.least), self.widen(high, self.most)

    @cached_property
    def unseen(self) -> float:
        """The share of the policy whose outcomes are not known, where these may be anything."""
        if not self.gone or self.missing == "at random":
            return 0.0
        found = self.found
        share = float(found.masses[~found.observed, -1].sum()) / len(found.masses)
        return min(1.0, max(share, self.gone / (self.gone + float(found.observed.sum()))))

    def widen(self, end: float, extreme: float) -> float:
        """Move an end by the share of the policy whose outcomes are not known."""
        return (1.0 - self.unseen) * end + self.unseen * extreme

    def gain(self, value: float) -> Difference:
        """Return the difference to what was played."""
        span, rewards = self.most - self.least, self.rewards
        if not self.normal or self.refused:
            low, high = self.bet()
            more = min(max(value - float(rewards.mean()), low), high)
            return Difference("", LOGGED, more, low, high, "betting")
        terms = self.terms - rewards
        variance = float(terms.var(ddof=1)) / len(terms)
        if self.missing != "at random":
            ended = self.found.ended()
            variance = robust_variance(terms, robust_terms(ended) - ended.starts, ended.expected)
        earnable = -span, span
        low, high = score(float(terms.mean()), variance, self.designed, earnable, self.settings)
        low, high = self.widen(low, -span), self.widen(high, span)
        return Difference("", LOGGED, float(terms.mean()), low, high, "normal")

    def bet(self, risk: float | None = None, *, certain: bool = True) -> tuple[float, float]:
        """Bound the difference to what was played, for any number of decisions at any time.

        Half of the risk is that of each end. The upper end shares its half with what is
        ``certain``, unless that is to be left out or there is nothing; the lower one, by which one
        switches, has all of its half.
        """
        risk, span = 0.5 * (self.risk if risk is None else risk), self.most - self.least
        up, down, scale = self.against_log()
        missed = self.surely_missed() if certain else np.zeros(1)
        part = 0.5 * risk if missed.any() else risk
        low, high = (
            scale * (constant_lower(up, risk) - 1.0),
            scale * (1.0 - constant_lower(down, part)),
        )
        if missed.any():
            high = min(high, span * (1.0 - constant_lower(missed, part)))
        if low > high:  # bounds that contradict each other say nothing
            return -span, span
        return max(low, -span), min(high, span)

    def against_log(self) -> tuple[Array, Array, float]:
        """Return numbers of at least 0 with the means 1 + D / s and 1 - D / s, and the last s.

        D is the difference to what was played, and s the range of what can be earned, by the
        largest weight so far, whether or not its outcome is known. Decisions without an outcome
        count as the worst.
        """
        found, least, most = self.found, self.least, self.most
        mass = np.where(found.observed, found.final_masses, 0.0)
        earned = np.where(found.observed, found.earned, 0.0)
        reward = np.clip(np.where(found.observed, found.rewards, least), least, most)
        scale = max(most - least, 1e-300) * np.maximum.accumulate(self.weights)
        above, below = np.maximum(earned - least * mass, 0.0), np.maximum(most * mass - earned, 0.0)
        up = 1.0 + self.known * (above - (reward - least)) / scale
        down = 1.0 + self.known * (below - (most - reward)) / scale
        if self.missing != "at random":
            up, down = np.where(found.observed, up, 0.0), np.where(found.observed, down, 0.0)
        return np.maximum(up, 0.0), np.maximum(down, 0.0), float(scale[-1])

    def surely_missed(self) -> Array:
        """Return numbers of at least 0 with a mean of at most 1 - D / s, by what is certain.

        D is the difference to what was played and s the range of what can be earned.
        """
        found, least, most = self.found, self.least, self.most
        reward = np.clip(found.rewards, least, most)
        possible = np.clip(certain_bounds(found)[:, 1], least, most)
        more = (possible - reward) / max(most - least, 1e-300)
        return np.where(found.observed, np.maximum(1.0 - more, 0.0), 0.0)


def _bounded(judged: Judged, reason: str) -> Verdict:
    """Return the verdict of a log without chance: what its decisions show for certain."""
    found, settings = judged.found, judged.settings
    lows, highs, exact = found.bounds.T
    earnable = judged.least, judged.most
    low, _, _ = mean_interval(np.clip(lows, *earnable), earnable, settings)
    _, high, method = mean_interval(np.clip(highs, *earnable), earnable, settings)
    n, known = int(found.observed.sum()), float(exact.mean()) > 1.0 - 1e-9
    verdict = Verdict("", math.nan, low, high, "bounds", method, math.nan, n)
    verdict = replace(verdict, confidence=settings.confidence)
    if not known:
        return replace(verdict, refused=reason)
    gain = _known_gain(judged)
    value, played = float(lows.mean()), float(judged.rewards.mean())
    return replace(verdict, value=value, effective=float(n), gain=gain, played=played)


def _known_gain(judged: Judged) -> Difference:
    """Return the difference to what was played if all that the policy would earn is known."""
    found, settings, span = judged.found, judged.settings, judged.most - judged.least
    earned = found.bounds[:, 0]
    below = earned - np.where(found.observed, found.rewards, judged.most)
    above = earned - np.where(found.observed, found.rewards, judged.least)
    if not below.any() and not above.any():
        return Difference("", LOGGED, 0.0, 0.0, 0.0)
    low, _, _ = mean_interval(below, (-span, span), settings)
    _, high, method = mean_interval(above, (-span, span), settings)
    value = float(below.mean()) if found.observed.all() else math.nan
    return Difference("", LOGGED, value, low, high, method)


def _advise(verdict: Verdict, judged: Judged) -> Verdict:
    """Fill in what to do: see :class:`Verdict`."""
    gain = verdict.gain
    if verdict.refused or math.isnan(gain.low):
        return verdict
    if gain.high < 0.0:
        return replace(verdict, advice="keep")
    if gain.low > 0.0 and judged.bet()[0] > 0.0:
        return replace(verdict, advice="promote", share=1.0)
    if not gain.value > 0.0 or verdict.effective < _WORTH_A_TRY:
        return verdict
    lost = max(-gain.low, 0.0)
    at_most = _AT_RISK * (judged.most - judged.least) / lost if lost else SHARES[0]
    share = next((one for one in SHARES if one <= at_most), 0.0)
    return replace(verdict, advice="try", share=share) if share else verdict


@dataclass(frozen=True)
class Comparable:
    """What the difference between two policies takes of each: less than the evidence."""

    policy: str
    refused: str
    value: float
    low: float  # of an interval with half of the risk
    high: float
    span: float
    unseen: float
    designed: float  # effective number
    terms: Array | None = None  # the doubly robust estimates of single decisions, if supported


def comparable(
    found: Evidence, settings: IntervalSettings, policy: str = "", missing: str = "refuse"
) -> Comparable:
    """Return what differences take of the evidence about a policy."""
    judged = Judged(found, settings, missing)
    reason = found.log.lacks(*NEEDS["importance sampling"]) or judged.refused
    if reason:
        return Comparable(policy, reason, math.nan, math.nan, math.nan, 0.0, 0.0, 0.0)
    return Comparable(
        policy,
        "",
        judged.verdict().value,
        *judged.interval(judged.risk / 2.0),
        judged.most - judged.least,
        judged.unseen,
        judged.designed,
        judged.terms if judged.normal else None,
    )


def differ(one: Comparable, two: Comparable, settings: IntervalSettings) -> Difference:
    """Return how much more the first of two policies would earn.

    Decision by decision if the design of the log supports doubly robust estimates of both;
    otherwise from the bounds of both, each with half of the risk.
    """
    name, other = one.policy, two.policy
    if one.refused or two.refused:
        return Difference(name, other)
    if one.terms is None or two.terms is None:
        value = one.value - two.value
        return Difference(name, other, value, one.low - two.high, one.high - two.low, "betting")
    terms, unseen = one.terms - two.terms, max(one.unseen, two.unseen)
    span = max(one.span, two.span)
    variance, value = float(terms.var(ddof=1)) / len(terms), float(terms.mean())
    designed = min(one.designed, two.designed)
    low, high = score(value, variance, designed, (-span, span), settings)
    low, high = (1.0 - unseen) * low - unseen * span, (1.0 - unseen) * high + unseen * span
    return Difference(name, other, value, low, high, "normal")
