"""What policies would earn on the decisions of a log, by every estimator that it supports."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.errors import InvalidInput
from longrank.logs import robust
from longrank.logs.bounds import bound, bounds
from longrank.logs.check import Checked
from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.logs.importance import importance, no_support, self_normalised
from longrank.logs.model import DRAWS, Model, expected_of, fit, model_based
from longrank.logs.replay import replay
from longrank.logs.target import early_stops, last_step, target, weights
from longrank.logs.value import Estimate, Settings, mean_interval
from longrank.logs.warm import receipt
from longrank.policies import Policy

Array = NDArray[np.float64]
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


@dataclass(frozen=True)
class Evidence:
    """All that the estimators need of one policy: a row for every decision."""

    rewards: Array
    bounds: Array  # low, high, exact
    weights: Array  # after every action; the last one goes on
    last: NDArray[np.int64]
    matches: Array
    propensities: Array
    unsupported: Array
    starts: Array
    deltas: Array
    modelled: Array
    stops: Array  # the probability that it stops before the budget is used up, along the log
    short: Array  # whether the log did


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
    found = _seen(history)
    reason = _unsuitable(found)
    if reason:
        return [Estimate(p, e, refused=reason) for p in policies for e in ESTIMATORS]
    fitted = fit(history) if model is None else model
    estimates = [logged(history, settings)]
    for name, policy in policies.items():
        evidence = gather(policy, history, fitted)
        estimates += judge(name, evidence, found, settings)
    return estimates


def _seen(history: History) -> Checked:
    history.validate()
    found = Checked(history.name)
    for decision in history.decisions():
        found.add(decision)
    return found


def _unsuitable(found: Checked) -> str:
    """Why nothing but a warm start is possible."""
    able = {ability.name: ability for ability in found.abilities}
    return "" if able["bounds"].possible else able["bounds"].reason


def logged(history: History, settings: Settings) -> Estimate:
    """What was earned: no other policy, so no estimator."""
    rewards = np.array([decision.reward for decision in history.decisions()])
    span = float(rewards.max() - rewards.min())
    low, high, method = mean_interval(rewards, span, settings)
    n = len(rewards)
    return Estimate(LOGGED, "mean reward", float(rewards.mean()), low, high, method, n, float(n))


def gather(
    policy: Policy, history: History, model: Model, draws: int = DRAWS, *, learn: bool = False
) -> Evidence:
    """Ask the policy about every decision of the log.

    ``draws`` are for the model's estimate. With ``learn`` a copy of the policy learns from each
    decision after it was asked.
    """
    drawn = copy.deepcopy(policy)  # the model's estimate draws from it
    rows: list[tuple[float, ...]] = []
    steps: list[Array] = []
    deltas: list[Array] = []
    for index, decision in enumerate(history.decisions()):
        row, own, correction = _one(drawn, decision, model, index, draws)
        if learn:
            drawn.learn(receipt(decision, getattr(drawn, "features", None)), decision.outcome)
        rows.append(row)
        steps.append(own)
        deltas.append(correction)
    table = np.array(rows)
    return Evidence(
        rewards=table[:, 0],
        bounds=table[:, 1:4],
        last=table[:, 4].astype(np.int64),
        matches=table[:, 5],
        propensities=table[:, 6],
        unsupported=table[:, 7],
        starts=table[:, 8],
        modelled=table[:, 9],
        stops=table[:, 10],
        short=table[:, 11],
        weights=_padded(steps, repeat=True),
        deltas=_padded(deltas, repeat=False, width=max(map(len, steps))),
    )


def _one(
    policy: Policy, decision: Decision, model: Model, index: int, draws: int
) -> tuple[tuple[float, ...], Array, Array]:
    would = target(policy, decision)
    weighed = weights(would, decision)
    propensity = decision.propensity
    start, correction = robust.corrections(decision, would, model, index)
    if weighed is None or propensity is None:
        steps, unsupported, match, propensity = np.zeros(len(decision.order) + 1), 0.0, 0.0, 1.0
    else:
        steps, unsupported = weighed.steps, weighed.unsupported
        match = float(steps[-1]) * propensity
    row = (
        decision.reward,
        *bound(decision, would),
        last_step(decision),
        match,
        propensity,
        unsupported,
        start,
        expected_of(model, decision, index, policy, would.sequence, draws),
        early_stops(would, decision),
        len(decision.order) < decision.tries,
    )
    return row, steps, correction


def _padded(rows: list[Array], *, repeat: bool, width: int | None = None) -> Array:
    """Rows of different lengths as one table, filled up with their last number or with 0."""
    table = np.zeros((len(rows), max(map(len, rows)) if width is None else width))
    for row, target_row in zip(rows, table, strict=True):
        target_row[: len(row)] = row
        if repeat:
            target_row[len(row) :] = row[-1]
    return table


def judge(name: str, found: Evidence, log: Checked, settings: Settings) -> list[Estimate]:
    """One policy by every estimator."""
    able = {ability.name: ability for ability in log.abilities}
    estimates = [bounds(name, found.bounds, settings)]

    if able["replay"].possible:
        estimates.append(replay(name, found.rewards, found.matches, found.propensities, settings))
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
    effective = robust.effective_of(found.weights, found.last)
    for estimator, robustly in (
        ("doubly robust", robust.doubly_robust),
        ("doubly robust, self-normalised", robust.doubly_robust_normalised),
    ):
        estimates.append(
            Estimate(name, estimator, refused=reason)
            if reason
            else robustly(name, found.starts, found.deltas, found.weights, effective, settings)
        )
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
