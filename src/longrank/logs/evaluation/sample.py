"""A sample: the evidence about a policy, a treatment of missing outcomes, and intervals."""

import math
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from longrank.arrays import Array, Flags
from longrank.errors import InvalidInput
from longrank.links import LOGISTIC
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import (
    FEW,
    IntervalSettings,
    betting,
    constant_lower,
    effective_size,
    score,
)
from longrank.logs.evaluation.outcome_model import logistic
from longrank.logs.evaluation.support import (
    doubtful,
    effective_by_design,
    lost_stops,
    lost_support,
    wrong_propensities,
)

TREATMENTS = ("refuse", "at random", "bounds")
TOLERATED = 0.01  # maximum share of missing outcomes for a plain estimate
_MIN_OBSERVED = 0.02  # lower limit of the probability of an outcome, for weights
_USUAL = 0.9  # prior share of known outcomes, with the weight of one decision
_FIRST = 20  # decisions before the first block that is fitted


class Sample:
    """The evidence about a policy under a treatment of missing outcomes.

    ``earnable`` is what a decision can earn at least and at most, by default by the payoffs of the
    log; ``gone`` the number of decisions without an outcome, by default that of the log.
    """

    def __init__(
        self,
        evidence: Evidence,
        settings: IntervalSettings,
        missing: str = "refuse",
        earnable: tuple[float, float] | None = None,
        gone: int | None = None,
    ) -> None:
        self.evidence, self.settings, self.missing = evidence, settings, missing
        self.risk = 1.0 - settings.confidence
        self.gone = evidence.log.missing if gone is None else gone
        self.at_random = missing == "at random"
        self.least, self.most = range_of(evidence) if earnable is None else earnable
        self.span = self.most - self.least
        self.weights = np.ones(len(evidence.observed))  # of decisions whose outcomes are known
        if self.gone and self.at_random:
            self.weights = 1.0 / outcome_probabilities(evidence)
        self.known = evidence.observed * self.weights
        self.prefixes = not evidence.log.lacks("prefix_propensities")
        # effective number by design, on which intervals depend
        own = self.known[evidence.observed]
        loss = float(own.sum()) ** 2 / float((own**2).sum() * len(own))
        self.designed = effective_by_design(evidence) * loss
        self.few = self.designed < FEW or settings.interval == "betting" or doubtful(evidence)
        self.only_bounds = bool(self.gone) and missing == "bounds"
        self.normal = self.prefixes and not self.few and not self.only_bounds

    @property
    def effective(self) -> float:
        """The effective number up to the outcomes, as reported."""
        seen = self.evidence.observed
        return effective_size(self.known[seen] * self.evidence.final_masses[seen])

    @cached_property
    def refused(self) -> str:
        """Why there is no estimate; empty if there is one."""
        reason = wrong_propensities(self.evidence) or lost_support(self.evidence)
        if not reason and not self.prefixes:
            reason = lost_stops(self.evidence)
        if not reason and self.missing == "refuse":
            reason = too_many(self.gone, int(self.evidence.observed.sum()))
        return reason

    @cached_property
    def _corrections(self) -> Array:
        products = (self.evidence.weights * self.evidence.deltas).sum(axis=1)
        return np.asarray(self.known * products)

    @property
    def terms(self) -> Array:
        """The doubly robust estimate of each decision; only observed ones unless at random."""
        terms = np.asarray(self.evidence.starts + self._corrections)
        return terms if self.at_random else terms[self.evidence.observed]

    @property
    def rewards(self) -> Array:
        """What was earned, on the same decisions."""
        evidence = self.evidence
        if not self.at_random:
            return evidence.rewards[evidence.observed]
        rewards = np.where(evidence.observed, evidence.rewards, 0.0)
        mean = float(self.known @ rewards / self.known.sum())
        return np.asarray(mean + self.known * (rewards - mean))

    def value(self) -> float:
        """Return the estimate; NaN if no decision bears on the policy."""
        if self.prefixes:
            return float(self.terms.mean())
        evidence = self.evidence
        mass = np.where(evidence.observed, self.known * evidence.final_masses, 0.0)
        total = float(mass @ np.where(evidence.observed, evidence.rewards, 0.0))
        return total / float(mass.sum()) if mass.any() else math.nan

    def possible(self, value: float) -> float:
        """Limit an estimate to what the policy can have earned in these decisions."""
        low, high = certain_bounds(self.evidence).mean(axis=0)
        return min(max(value, float(low)), float(high))

    def normal_interval(
        self,
        terms: Array,
        earnable: tuple[float, float],
        confidence: float | None = None,
        value: float | None = None,
    ) -> tuple[float, float]:
        """Return the interval of the mean of doubly robust terms, or of differences of them.

        If that mean is not the ``value``, the terms are each decision's influence on it.
        """
        variance = float(terms.var(ddof=1)) / len(terms)
        if not self.at_random:
            seen = self.evidence.observed
            corrections, expected = self._corrections[seen], self.evidence.expected[seen]
            variance = robust_variance(terms, corrections, expected)
        settings = self.settings
        if confidence is not None:
            settings = replace(settings, confidence=confidence)
        value = float(terms.mean()) if value is None else value
        low, high = score(value, variance, self.designed, earnable, settings)
        return widen(low, earnable[0], self.unseen), widen(high, earnable[1], self.unseen)

    def interval(self, risk: float | None = None) -> tuple[float, float]:
        """Return the interval of the value."""
        risk = self.risk if risk is None else risk
        if not self.normal or self.refused:
            return self.betting_interval(risk)
        return self.normal_interval(self.terms, (self.least, self.most), 1.0 - risk)

    @cached_property
    def unseen(self) -> float:
        """The share of the policy with missing outcomes, where these may be anything."""
        if not self.gone or self.at_random:
            return 0.0
        evidence = self.evidence
        share = float(evidence.masses[~evidence.observed, -1].sum()) / len(evidence.masses)
        return min(1.0, max(share, self.gone / (self.gone + float(evidence.observed.sum()))))

    def scaled(self) -> tuple[Array, Array, Array, Array]:
        """Return what a policy earned, and missed, per decision, as a share of what can be earned.

        All are non-negative, and their means are at most the policy's value and 1 minus that value.
        That requires neither support nor outcomes: what is unknown adds to neither. The first two
        are weighted; the other two are certain for every decision.
        """
        least, most, span = self.least, self.most, max(self.span, 1e-300)
        above, below = (each / span for each in self._apart())
        lows, highs = np.clip(certain_bounds(self.evidence), least, most).T
        return self.known * above, self.known * below, (lows - least) / span, (most - highs) / span

    def _apart(self) -> tuple[Array, Array]:
        """Return how far each decision's part of the policy was above the least, below the most."""
        evidence = self.evidence
        mass = np.where(evidence.observed, evidence.final_masses, 0.0)
        earned = np.where(evidence.observed, evidence.earned, 0.0)
        above = np.maximum(earned - self.least * mass, 0.0)
        return above, np.maximum(self.most * mass - earned, 0.0)

    def betting_interval(self, risk: float) -> tuple[float, float]:
        """Return bounds of the value that are valid for any number of decisions.

        Weights and certain bounds get half of the risk each, and the better of the two counts. If
        nothing is certain, weights get all of it.
        """
        low, high = betting_bounds(*self.scaled(), risk)
        span = max(self.span, 1e-300)
        return self.least + span * low, self.least + span * high

    def bounded_gain(
        self, risk: float | None = None, *, certain: bool = True
    ) -> tuple[float, float]:
        """Bound the difference to what was played, for any number of decisions at any time.

        Each end gets half of the risk. The upper end shares its half with what is ``certain``,
        unless that is excluded or nothing is; the lower end, which decides on a switch, has all of
        its half.
        """
        risk, span = 0.5 * (self.risk if risk is None else risk), self.span
        up, down, scale = self.against_log()
        missed = self.surely_missed() if certain else np.zeros(1)
        part = 0.5 * risk if missed.any() else risk
        low = scale * (constant_lower(up, risk) - 1.0)
        high = scale * (1.0 - constant_lower(down, part))
        if missed.any():
            high = min(high, span * (1.0 - constant_lower(missed, part)))
        if low > high:  # contradictory bounds carry no information
            return -span, span
        return max(low, -span), min(high, span)

    def against_log(self) -> tuple[Array, Array, float]:
        """Return non-negative numbers with means 1 + D / s and 1 - D / s, and the last s.

        D is the difference to what was played, and s the range of what can be earned, by the
        largest weight so far, whether or not its outcome is known. Decisions without an outcome
        count as the worst.
        """
        evidence, least, most = self.evidence, self.least, self.most
        reward = np.clip(np.where(evidence.observed, evidence.rewards, least), least, most)
        scale = max(self.span, 1e-300) * np.maximum.accumulate(self.weights)
        above, below = self._apart()
        up = 1.0 + self.known * (above - (reward - least)) / scale
        down = 1.0 + self.known * (below - (most - reward)) / scale
        if not self.at_random:
            up, down = (np.where(evidence.observed, each, 0.0) for each in (up, down))
        return np.maximum(up, 0.0), np.maximum(down, 0.0), float(scale[-1])

    def surely_missed(self) -> Array:
        """Return non-negative numbers with a mean of at most 1 - D / s, from what is certain.

        D is the difference to what was played and s the range of what can be earned.
        """
        evidence, least, most = self.evidence, self.least, self.most
        reward = np.clip(evidence.rewards, least, most)
        possible = np.clip(certain_bounds(evidence)[:, 1], least, most)
        more = (possible - reward) / max(self.span, 1e-300)
        return np.where(evidence.observed, np.maximum(1.0 - more, 0.0), 0.0)


def widen(end: float, extreme: float, unseen: float) -> float:
    """Move an end of an interval by the share of the policy with missing outcomes."""
    return (1.0 - unseen) * end + unseen * extreme


def range_of(evidence: Evidence) -> tuple[float, float]:
    """Return the least and the most that can be earned, by the payoffs of the log.

    Where attempts turn out to cost more than planned it is the least that was earned.
    """
    seen, mass = evidence.observed, evidence.final_masses
    some = seen & (mass > 0.0) & np.isfinite(mass)
    earned = np.concatenate([evidence.rewards[seen], evidence.earned[some] / mass[some]])
    least = float(earned.min(initial=evidence.earnable[:, 0].min()))
    return least, float(earned.max(initial=evidence.earnable[:, 1].max()))


def certain_bounds(evidence: Evidence) -> Array:
    """Return what the policy earns at least and at most in every decision, shape (n, 2).

    As the estimator ``bounds``, except where that is less careful than weights: these assume
    neither that planned costs are true, nor that a cascade ends whatever would have come next.
    Where such assumptions matter, anything is possible.
    """
    if evidence.log.with_outcome_costs:
        return np.full((len(evidence.rewards), 2), (-np.inf, np.inf))
    return np.where(evidence.left[:, np.newaxis], evidence.earnable, evidence.bounds[:, :2])


def betting_bounds(
    earned: Array, missed: Array, sure: Array, lost: Array, risk: float
) -> tuple[float, float]:
    """Return bounds of a value between 0 and 1: see :meth:`Sample.scaled`."""
    if not sure.any() and not lost.any():
        return betting(earned, missed, risk)
    weighted = betting(earned, missed, risk / 2.0)
    certain = betting(sure, lost, risk / 2.0)
    low, high = max(weighted[0], certain[0]), min(weighted[1], certain[1])
    return (low, high) if low <= high else (0.0, 1.0)  # contradictory bounds carry no information


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
    noise = float((fourths - squares**2).mean()) / len(terms)
    believed = max(0.0, 1.0 - noise / gap**2) if gap else 0.0
    return max(float(terms.var()) - (1.0 - believed) * gap, 0.0) / len(terms)


def treatment(missing: str) -> str:
    """Return how to treat decisions without an outcome, as requested."""
    wanted = missing.replace("-", " ")
    if wanted not in TREATMENTS:
        raise InvalidInput("missing", f"be one of {', '.join(TREATMENTS)}", repr(missing))
    return wanted


def too_many(missing: int, decisions: int) -> str:
    """Return why a plain estimate is refused for missing outcomes; empty if it is not."""
    share = missing / max(missing + decisions, 1)
    if share <= TOLERATED:
        return ""
    return (
        f"{missing} of {missing + decisions} decisions ({share:.1%}) have no outcome, more than "
        f"{TOLERATED:.0%}: choose missing 'at random' (--missing at-random) if what was played "
        "explains why (then the others are weighted), or 'bounds' (--missing bounds) for what is "
        "certain whatever the reason"
    )


def outcome_probabilities(evidence: Evidence) -> Array:
    """Return the probability that the outcome of each decision is known, given what was played.

    A logistic regression on the length, the propensity and the items of the sequence, fitted in
    time order to the decisions before its block: so no weight depends on whether its own outcome,
    or a later one, is known, and none changes while the log grows. The first decisions go by the
    share of outcomes so far, and it is 1 as long as none is missing.
    """
    known, played = evidence.observed, evidence.played
    n = len(known)
    before, times = np.append(0.0, np.cumsum(known)[:-1]), np.arange(n)
    own = (before + _USUAL) / (times + 1.0)
    begins = [_FIRST]  # of blocks, each a quarter of what was before
    while begins[-1] < n:
        begins.append(begins[-1] + begins[-1] // 4)
    for begin, end in pairwise(begins):
        fitted = _predicted(played[:begin], known[:begin], played[begin:end])
        own[begin:end] = (begin * fitted + _USUAL) / (begin + 1.0)
    return np.asarray(np.where(before == times, 1.0, np.maximum(own, _MIN_OBSERVED)))


def _predicted(before: Array, known: Flags, played: Array) -> Array:
    middle, spread = before.mean(axis=0), before.std(axis=0)
    some = spread > 1e-9
    x, new = ((part - middle)[:, some] / spread[some] for part in (before, played))
    own = logistic(np.column_stack([x, np.ones(len(x))]), known, 1.0)
    return np.asarray(LOGISTIC.probability(np.column_stack([new, np.ones(len(new))]) @ own))
