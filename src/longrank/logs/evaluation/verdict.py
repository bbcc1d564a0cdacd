"""The verdict on a policy: what it would earn, with what confidence, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import notebook
from longrank.document import plain_number, rounded
from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.estimators import (
    Estimate,
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
from longrank.logs.evaluation.sequences import lower
from longrank.logs.evaluation.support import (
    doubtful,
    effective_by_design,
    lost_stops,
    lost_support,
    wrong_propensities,
)

Array = NDArray[np.float64]
LOGGED = "the log itself"
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # of the traffic, to try a policy on
_WORTH_A_TRY = 30  # effective decisions: fewer are no reason to try a policy
_AT_RISK = 0.01  # of what a decision can earn: what may be lost per decision while it is tried


@dataclass(frozen=True)
class Difference:
    """How much more one policy would earn per decision than another, or than the log did.

    Attributes
    ----------
    policy, other
        The names; ``other`` may be "the log itself".
    value, low, high
        The difference with its confidence interval, paired by decision if both estimates are
        doubly robust; NaN if it is unknown.
    method
        How the interval was computed: "normal", or "betting", which is valid for any sample size.
    """

    policy: str
    other: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    method: str = ""

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.policy} against {self.other}: not known"
        return f"{self.policy} would earn {self.compared(self.other)}"

    def compared(self, other: str, per: str = "", currency: str = "") -> str:
        """Return the interval in words, such as "0.10 to 0.20 more than the log itself"."""
        if self.low == self.high == 0.0:
            return f"exactly as much{per} as {other}"
        return f"{_more(self.low, self.high, _unit(currency))}{per} than {other}"


@dataclass(frozen=True)
class Verdict:
    """What a policy would earn per decision, by the best estimator that the log's design supports.

    Attributes
    ----------
    policy
        Its name.
    value
        The estimate; NaN if it is refused, or if there are only bounds.
    low, high
        The confidence interval. If the verdict is refused, bounds that are valid whatever the log
        does not show.
    estimator, method
        "doubly robust", "importance sampling" or "bounds", and how the interval was computed:
        "normal", or "betting", which is valid for any number of decisions.
    effective
        How many decisions of the policy itself would be as informative as the log, by the weights
        up to the outcome, (sum w)^2 / sum w^2; NaN if the log has no weights.
    rounds, missing
        The number of decisions with an outcome, and of those without.
    refused
        Why there is no estimate; empty if there is one.
    gain
        The difference from what was played.
    advice
        What to do: "promote", "try", "keep" or "not enough data". *Promote* if the whole interval
        of the gain is above 0, and so is that of betting, valid for any number of decisions.
        *Keep* what is played if the whole interval is below 0. *Try* it on a ``share`` of the
        traffic if it looks better, where the share is so small that even at the lower end at most
        1 % of what a decision can earn is lost per decision. Otherwise, or if the verdict is
        refused, there is *not enough data*.
    share
        The share of the traffic to try it on: 1 to promote, 0 to keep.
    played
        What was played earned per decision; NaN if it is unknown.
    confidence
        The confidence level of the intervals.
    notes
        What to know before trusting it.
    """

    policy: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    estimator: str = ""
    method: str = ""
    effective: float = 0.0
    rounds: int = 0
    missing: int = 0
    refused: str = ""
    gain: Difference = Difference("", LOGGED)
    advice: str = "not enough data"
    share: float = 0.0
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    played: float = math.nan

    def __str__(self) -> str:
        return self.told()

    @property
    def uplift(self) -> float:
        """The estimated gain as a share of what was played; NaN unless that earned something."""
        return self.gain.value / self.played if self.played > 0.0 else math.nan

    def told(self, currency: str = "") -> str:
        """Return the verdict as a sentence, with amounts in a currency if there is one."""
        name, level = f"`{self.policy}`", f"{100.0 * self.confidence:.4g} %"
        lost = f"; {self.missing} decisions have no outcome" if self.missing else ""
        earned = _span(self.low, self.high) + _unit(currency)
        if self.refused:
            text = f"this log cannot tell what {name} would earn: {self.refused}"
            if not math.isnan(self.low):
                text += f"; all that is certain: {earned} per decision ({level})"
            return text + (lost if "no outcome" not in text else "")
        if math.isnan(self.gain.low):
            text = f"{name} would earn {earned} per decision ({level})"
        else:
            gain = self.gain.compared("what was played", " per decision", currency)
            text = f"{name} would earn {gain} ({level}){self._best(currency)}"
        what = {
            "promote": "safe to switch to it",
            "try": "it looks better, but the log does not prove it: try it on "
            f"{100.0 * self.share:.4g} % of the traffic",
            "keep": "keep what is played",
            "not enough data": "not enough data to switch",
        }[self.advice]
        return f"{text}; {self.effective:.0f} effective decisions{lost}; {what}"

    def _best(self, currency: str) -> str:
        """Return the point in the interval of the gain, in words."""
        gain = self.gain
        if math.isnan(gain.value) or gain.low == gain.high:
            return ""
        best = rounded(gain.value, gain.high - gain.low, sign=True) + _unit(currency)
        share = plain_number(100.0 * self.uplift, 0, sign=True)
        return f", best estimate {best}" + ("" if math.isnan(self.uplift) else f" or {share} %")

    def _repr_html_(self) -> str:
        """Show the verdict in a notebook: the sentence, and the numbers behind it."""
        value, low, high = _shown(self.value, self.low, self.high)
        gain = _shown(self.gain.value, self.gain.low, self.gain.high)
        rows = [
            ("earns per decision", value, low, high),
            ("more than what was played", *gain),
        ]
        by = f"{self.estimator} ({self.method})" if self.method else self.estimator
        notes = [str(self), *([f"estimated by {by}"] if by else []), *self.notes]
        head = ["", "estimate", "low", "high"]
        return notebook.table(f"Verdict on {self.policy}: {self.advice}", head, rows, notes)


def _shown(*numbers: float) -> tuple[str, ...]:
    return tuple("" if math.isnan(number) else plain_number(number, 4) for number in numbers)


class Evaluation(list[Estimate]):
    """The individual estimates of an evaluation, and the verdicts drawn from them.

    Attributes
    ----------
    verdicts
        One :class:`Verdict` per policy, by name.
    differences
        Each policy against the log itself, and the policies against each other.
    missing
        The number of decisions without an outcome.
    """

    verdicts: dict[str, Verdict]
    differences: list[Difference]
    missing: int

    def __init__(
        self,
        estimates: Iterable[Estimate],
        verdicts: dict[str, Verdict],
        differences: list[Difference],
        missing: int,
    ) -> None:
        super().__init__(estimates)
        self.verdicts, self.differences, self.missing = verdicts, differences, missing

    def __repr__(self) -> str:
        lines = [f"<Evaluation of {', '.join(self.verdicts)}: {len(self)} estimates>"]
        return "\n".join([*lines, *map(str, self.verdicts.values())])

    def _repr_html_(self) -> str:
        """Show the verdicts in a notebook, then the estimates."""
        rows = [(name, str(verdict)) for name, verdict in self.verdicts.items()]
        head = ["policy", "estimator", "value", "low", "high", "effective decisions", "refused"]
        estimates = []
        for one in self:
            effective = "" if math.isnan(one.effective) else f"{one.effective:.0f}"
            numbers = _shown(one.value, one.low, one.high)
            estimates.append((one.policy, one.estimator, *numbers, effective, one.refused))
        verdicts = notebook.table("Verdicts", ["policy", "verdict"], rows)
        return verdicts + notebook.table("Estimates per decision", head, estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, ready for JSON; unknown values are None."""
        told = {name: asdict(one) | {"sentence": str(one)} for name, one in self.verdicts.items()}
        found: dict[str, Any] = {
            "missing": self.missing,
            "verdicts": told,
            "differences": [asdict(one) for one in self.differences],
            "estimates": [asdict(one) for one in self],
        }
        return {name: _plain(one) for name, one in found.items()}


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

    def bet(self, risk: float | None = None, *, anytime: bool = False) -> tuple[float, float]:
        """Bound the difference to what was played by betting: for any number of decisions.

        Half of the risk is that of each end. The upper end shares its half with what is certain,
        unless it is asked ``anytime``; the lower one, by which one switches, has all of its half.
        """
        risk, span = 0.5 * (self.risk if risk is None else risk), self.most - self.least
        up, down, scale = self.against_log()
        low = scale * (lower(up, risk, anytime=anytime) - 1.0)
        high = scale * (1.0 - lower(down, risk if anytime else 0.5 * risk, anytime=anytime))
        if not anytime:
            high = min(high, span * (1.0 - lower(self.surely_missed(), 0.5 * risk)))
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
        more = (np.clip(found.bounds[:, 1], least, most) - reward) / max(most - least, 1e-300)
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
    at_most = _AT_RISK * (judged.most - judged.least) / lost if lost else SHARES[2]
    share = next((one for one in SHARES[2:] if one <= at_most), 0.0)
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


def _more(low: float, high: float, unit: str) -> str:
    if high <= 0.0:
        return f"{_span(-high, -low)}{unit} less"
    if low >= 0.0:
        return f"{_span(low, high)}{unit} more"
    less, more = (rounded(end, high - low) for end in (-low, high))
    return f"{less}{unit} less to {more}{unit} more"


def _unit(currency: str) -> str:
    return f" {currency}" if currency else ""


def _span(low: float, high: float) -> str:
    ends = [rounded(end, high - low) for end in (low, high)]
    return ends[0] if low == high else " to ".join(ends)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
