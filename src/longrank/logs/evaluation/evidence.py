"""Evidence: what a log says about a policy, decision by decision."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Outcome
from longrank.logs.abilities import Checked
from longrank.logs.decision import Decision
from longrank.logs.evaluation.correction import correct
from longrank.logs.evaluation.outcome_model import DRAWS, OutcomeModel, expected_of
from longrank.logs.evaluation.target import Target, aim, early_stops, last_step
from longrank.logs.history import History
from longrank.payoffs import Payoffs
from longrank.policies import Policy

Array = NDArray[np.float64]
_CERTAIN = 1.0 - 1e-9


@dataclass(frozen=True)
class Evidence:
    """What the estimators need to know about one policy; every array has a row per decision.

    Also the decisions without an outcome: they are not ``observed``, their rewards are NaN and
    their corrections 0, and all that they tell is what the log and the policy choose.
    """

    rewards: Array
    bounds: Array  # low, high, exact
    weights: Array  # after every action; the last one is repeated
    last: NDArray[np.int64]  # the action that led to the outcome
    matches: Array  # probability of playing exactly the sequence of the log
    unsupported: Array
    starts: Array
    deltas: Array
    expected: Array  # by the model: second and fourth moment of the sum of corrections
    modelled: Array
    stops: Array  # probability of stopping before the budget is used up, along the log
    short: Array  # whether the log did
    observed: NDArray[np.bool_]
    log: Checked

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some decisions."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "log"}
        return replace(self, **{name: array[rows] for name, array in arrays.items()})

    def ended(self) -> Evidence:
        """Return the evidence of the decisions that have an outcome."""
        return self if self.observed.all() else self.take(np.flatnonzero(self.observed))

    @property
    def final_weights(self) -> Array:
        """The weight of every decision up to the action that led to its outcome."""
        return np.asarray(self.weights[np.arange(len(self.weights)), self.last])


def gather(
    policy: Policy,
    history: History,
    model: OutcomeModel,
    draws: int | None = None,
    *,
    learn: bool = False,
) -> Evidence:
    """Ask a policy about every decision of a log; the policy itself does not change.

    ``draws`` is the number of sequences drawn for the model's estimate: four by default, down to
    one for 40,000 decisions, of which the mean is just as good. With ``learn`` a copy of the
    policy learns from each decision after it was asked.
    """
    if draws is None:
        draws = max(1, min(DRAWS, 10_000 * DRAWS // max(len(history), 1)))
    asked = copy.deepcopy(policy)
    log = Checked(history.name)
    rows: list[tuple[float, ...]] = []
    steps: list[Array] = []
    deltas: list[Array] = []
    index = 0  # folds of the model count the decisions that it was fitted to
    for decision in history.decisions(missing=True):
        log.add(decision)
        if decision.outcome is None and (decision.payoffs is None or decision.size is None):
            continue  # nothing is known of it
        row, own, correction = _gather_one(asked, decision, model, index, draws)
        if decision.outcome is not None:
            index += 1
            if learn and decision.learned:
                asked.learn(*decision.observed_by(getattr(asked, "features", None)))
        rows.append(row)
        steps.append(own)
        deltas.append(correction)
    table = np.array(rows)
    return Evidence(
        rewards=table[:, 0],
        bounds=table[:, 1:4],
        last=table[:, 4].astype(np.int64),
        matches=table[:, 5],
        unsupported=table[:, 6],
        starts=table[:, 7],
        expected=table[:, 8:10],
        modelled=table[:, 10],
        stops=table[:, 11],
        short=table[:, 12],
        observed=table[:, 13] > 0.0,
        weights=_padded(steps, repeat=True),
        deltas=_padded(deltas, repeat=False, width=max(map(len, steps))),
        log=log,
    )


def _gather_one(
    policy: Policy, decision: Decision, model: OutcomeModel, index: int, draws: int
) -> tuple[tuple[float, ...], Array, Array]:
    target, payoffs = aim(policy, decision), model.payoffs(decision, index)
    weighed = weigh(target, decision)
    steps, unsupported = np.zeros(len(decision.order) + 1), 0.0
    if weighed is not None:
        steps, unsupported = weighed.steps, weighed.unsupported
    observed = decision.outcome is not None
    ended = decision if observed else replace(decision, outcome=Outcome(len(decision.order), False))
    correction = correct(ended, target, model, index, steps)
    row = (
        decision.reward_under(payoffs) if observed else math.nan,
        *bound(decision, target, payoffs),
        last_step(decision),
        target.reached[-1],
        unsupported,
        correction.start,
        correction.square,
        correction.fourth,
        expected_of(model, decision, index, policy, target.sequence, draws),
        early_stops(target, decision),
        len(decision.order) < decision.tries,
        observed,
    )
    return row, steps, correction.deltas if observed else 0.0 * correction.deltas


def _padded(rows: list[Array], *, repeat: bool, width: int | None = None) -> Array:
    """Stack rows of different lengths, padded with their last number or with 0."""
    table = np.zeros((len(rows), max(map(len, rows)) if width is None else width))
    for row, target_row in zip(rows, table, strict=True):
        target_row[: len(row)] = row
        if repeat:
            target_row[len(row) :] = row[-1]
    return table


@dataclass(frozen=True)
class Weights:
    """w_j = P(first j actions, policy) / P(first j actions, log), for every action of the log.

    ``unsupported`` is the probability that the policy does, along the way, what the log could
    not have done.
    """

    steps: Array
    unsupported: float


def weigh(target: Target, decision: Decision) -> Weights | None:
    """Return the importance weights; None if the log has no propensity."""
    propensity = decision.propensity
    if propensity is None:
        return None
    theirs = target.reached
    if decision.prefix is None:  # only that of the whole sequence is known
        lost = 1.0 - float(theirs[-1]) if propensity >= _CERTAIN else 0.0
        return Weights(np.full(len(theirs) - 1, theirs[-1] / propensity), lost)
    ours = np.ones(len(theirs))
    ours[1:-1], ours[-1] = decision.prefix, propensity
    alone = ours[1:] >= ours[:-1] * _CERTAIN  # the log had no alternative here
    alone[last_step(decision) + 1 :] = False
    lost = float((theirs[:-1] - theirs[1:])[alone].sum())
    return Weights(theirs[1:] / ours[1:], max(lost, 0.0))


def bound(
    decision: Decision, target: Target, payoffs: Payoffs | None = None
) -> tuple[float, float, float]:
    """Bound what the policy can have earned; return low, high, and the probability of exactness.

    No assumption is made on what succeeds. The reward is known if both sequences share the prefix
    up to the outcome, or if the policy stops inside the shared prefix. Otherwise it lies between
    failure of everything and success of the first item that differs; where candidates have prices,
    between the worst and the best that can follow. For a randomised policy: the expectation over
    its choices. Without an outcome nothing is known. ``payoffs`` are those of the decision, by
    default.
    """
    payoffs, outcome = payoffs or decision.payoffs, decision.outcome
    assert payoffs is not None
    tried = 0 if outcome is None else outcome.tried
    losses, spent = payoffs.losses, np.append(0.0, np.cumsum(decision.paid(payoffs)))
    low = high = exact = 0.0
    here = 1.0  # the probability that the policy has played the same so far
    for i in range(tried + 1):
        choices = target.choices[i]
        loss = losses[i] - spent[i]
        # an early stop ends both sequences
        if outcome is not None and i == tried and i < len(decision.order):
            return low + here * loss, high + here * loss, exact + here
        stop, same = float(choices[-1]), 0.0
        if i < tried:
            same = float(choices[decision.order[i]])
        other = 1.0 - stop - same
        low, high = low + here * stop * loss, high + here * stop * loss
        if other > 1e-12:
            worst, best = _extremes(decision, target, payoffs, i)
            low += here * other * (worst - spent[i])
            high += here * other * (best - spent[i])
        exact += here * stop
        here *= same
        if here == 0.0:
            break
        if outcome is not None and outcome.succeeded and i + 1 == tried:
            reward = decision.reward_under(payoffs)
            return low + here * reward, high + here * reward, exact + here
    return low, high, exact


def _extremes(decision: Decision, target: Target, payoffs: Payoffs, i: int) -> tuple[float, float]:
    """Return the least and the most that can follow a choice that differs from the log's i-th.

    What was spent before is not counted. Of a randomised policy it is not known what would follow
    the choice: any of the other candidates.
    """
    order, tried = decision.order, 0 if decision.outcome is None else decision.outcome.tried
    costs, gains, rewards, losses, _ = payoffs.prices(target.choices.shape[1] - 1)
    if not payoffs.has_prices:
        return float(losses[target.reach]), float(rewards[i])
    give_up = losses[i] if i == tried else -np.inf  # whether it ended by itself here is not known
    if target.sequence is not None:
        before, rest = costs[target.sequence[:i]].sum(), payoffs.along(target.sequence)
        worst = min(rest.rewards[i:].min(), rest.losses[-1])
        best = max(rest.rewards[i:].max(), rest.losses[i + 1])
        return float(worst + before), float(max(best + before, give_up))
    free = np.ones(len(costs), np.bool_)
    free[order[:i]] = False
    chances = np.where(free, target.choices[i, :-1], 0.0)
    if i < tried:
        chances[order[i]] = 0.0
    more = target.reach - i - 1
    success = rewards[i] + gains
    worst = np.minimum(success, losses[target.reach])
    best = np.maximum(success, losses[i + 1])
    if more > 0:
        spent = np.sort(costs[free])[::-1][:more].sum()
        least = min(losses[target.reach], rewards[target.reach - 1] + gains[free].min())
        worst = np.minimum(worst, least - spent)
        best = np.maximum(best, (rewards[i + 1] + gains[free] - costs[free]).max())
    worst, best = worst - costs, np.maximum(best - costs, give_up)
    total = chances.sum()
    return float(chances @ worst / total), float(chances @ best / total)
