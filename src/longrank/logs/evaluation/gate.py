"""The gate: whether a policy may replace what is played, asked as often as one likes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from longrank import checks
from longrank.errors import InvalidInput
from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.evidence import Evidence, gather_all
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.outcome_model import fit
from longrank.logs.evaluation.sample import Sample, range_of, treatment
from longrank.logs.evaluation.verdict import LOGGED, Difference
from longrank.logs.history import History
from longrank.policies import Policy


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
        gain = self.gain.compared("what was played", " per decision")
        return f"{self.answer}: {name} would earn {gain}"


def gate(
    source: Any,
    policies: Mapping[str, Policy],
    *,
    confidence: float = 0.95,
    missing: str = "refuse",
    earnable: tuple[float, float] | None = None,
) -> dict[str, GateDecision]:
    """Decide for each policy whether it may replace what is played; ask as often as you like.

    The bounds are valid at all times simultaneously, so the log may grow between looks, as that of
    a service does: a policy that earns no more than what was played is ever promoted with
    probability at most 1 - ``confidence``. This requires the same policies at every look, and a log
    of decisions that they have not learned from. If decisions can earn different amounts,
    ``earnable`` gives the minimum and maximum that any decision, including future ones, can earn.
    """
    level = checks.real("confidence", confidence, above=0.0, maximum=0.999999)
    settings, treated = IntervalSettings(level), treatment(missing)
    history = History.of(source).keep()
    gathered = gather_all(policies, history, fit(history), draws=0)
    return {
        name: check_gate(evidence[""], settings, name, treated, earnable)
        for name, evidence in gathered.items()
    }


def check_gate(
    evidence: Evidence,
    settings: IntervalSettings,
    policy: str = "",
    missing: str = "refuse",
    earnable: tuple[float, float] | None = None,
) -> GateDecision:
    """Say whether a policy may replace what is played, by bounds that one may ask for at any time.

    So one may ask every day while the log grows: a policy that earns no more than what is played
    is ever promoted with a probability of at most 1 - confidence, and one that earns no less is
    ever turned down with at most the same.

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
