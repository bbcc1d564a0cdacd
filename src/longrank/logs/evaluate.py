"""What policies would earn on the decisions of a log, by every estimator that it supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from longrank import checks
from longrank.errors import InvalidInput
from longrank.logs.bounds import bounds
from longrank.logs.check import Checked
from longrank.logs.evidence import Evidence, gather
from longrank.logs.history import History
from longrank.logs.importance import importance, no_support, self_normalised
from longrank.logs.intervals import mean_interval
from longrank.logs.model import Model, fit, model_based
from longrank.logs.replay import replay
from longrank.logs.robust import doubly_robust, doubly_robust_normalised
from longrank.logs.value import Estimate, Settings, cautions
from longrank.policies import Policy

LOGGED = "the log itself"
ESTIMATORS = (
    "bounds",
    "replay",
    "importance sampling",
    "importance sampling, self-normalised",
    "doubly robust",
    "doubly robust, self-normalised",
    "model",
)


def evaluate(
    policies: Mapping[str, Policy],
    history: History,
    *,
    confidence: float = 0.95,
    interval: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
    model: Model | None = None,
) -> list[Estimate]:
    """Every policy by every estimator; a refusal says why.

    The policies stay as they are: they neither learn nor draw. Evaluate them on decisions that
    they have not learned from (:meth:`History.part`).

    Parameters
    ----------
    confidence
        Of the intervals.
    interval
        ``"bootstrap"``, or ``"bernstein"`` where the estimate is a plain mean.
    model
        From :func:`longrank.logs.fit`; by default fitted to this log.
    """
    if interval not in ("bootstrap", "bernstein"):
        raise InvalidInput("interval", "be 'bootstrap' or 'bernstein'", repr(interval))
    settings = Settings(
        checks.real("confidence", confidence, above=0.0, most=0.999999),
        interval,
        checks.whole("resamples", resamples, least=1),
        checks.whole("seed", seed),
    )
    found = Checked(history.name)
    for decision in history.decisions():
        found.add(decision)
    reason = _unsuitable(found)
    if reason:
        return [Estimate(p, e, refused=reason) for p in policies for e in ESTIMATORS]
    fitted = fit(history) if model is None else model
    estimates = [logged(history, settings)]
    for name, policy in policies.items():
        evidence = gather(policy, history, fitted)
        estimates += judge(name, evidence, found, settings)
    return [replace(one, confidence=settings.confidence) for one in estimates]


def _unsuitable(found: Checked) -> str:
    """Why nothing but a warm start is possible."""
    if found.decisions == 0:
        return "there are no decisions to judge by"
    able = {ability.name: ability for ability in found.abilities}
    return "" if able["bounds"].possible else able["bounds"].reason


def logged(history: History, settings: Settings) -> Estimate:
    """What was earned: no other policy, so no estimator."""
    rewards = np.array([decision.reward for decision in history.decisions()])
    span = float(rewards.max() - rewards.min())
    low, high, method = mean_interval(rewards, span, settings)
    n = len(rewards)
    return Estimate(
        LOGGED,
        "mean reward",
        float(rewards.mean()),
        low,
        high,
        method,
        n,
        float(n),
        notes=cautions(n, method),
    )


def judge(name: str, found: Evidence, log: Checked, settings: Settings) -> list[Estimate]:
    """One policy by every estimator."""
    able = {ability.name: ability for ability in log.abilities}
    estimates = [bounds(name, found.bounds, settings)]

    if able["replay"].possible:
        estimates.append(replay(name, found.rewards, found.matches, settings))
    else:
        estimates.append(Estimate(name, "replay", refused=able["replay"].reason))

    reason = _refusal(able["importance sampling"].reason, log, found)
    for estimator, how in (
        ("importance sampling", importance),
        ("importance sampling, self-normalised", self_normalised),
    ):
        estimates.append(
            Estimate(name, estimator, refused=reason)
            if reason
            else how(name, found.rewards, found.weights, found.last, settings)
        )

    reason = reason or ("" if able["doubly robust"].possible else able["doubly robust"].reason)
    if reason:
        both = ("doubly robust", "doubly robust, self-normalised")
        estimates += [Estimate(name, estimator, refused=reason) for estimator in both]
    else:
        parts = found.starts, found.deltas, found.weights, found.last, found.expected
        estimates.append(doubly_robust(name, *parts, settings))
        estimates.append(doubly_robust_normalised(name, *parts, settings))
    estimates.append(model_based(name, found.modelled, settings))
    return estimates


def _refusal(reason: str, log: Checked, found: Evidence) -> str:
    if log.with_propensity < log.decisions:
        return reason
    if found.stops.mean() > 0.01 and not found.short.any():
        return (
            "the log has no support: it always uses up the budget, and this policy stops before "
            f"with probability {found.stops.mean():.2f} or more"
        )
    return no_support(found.weights, found.last, found.unsupported)
