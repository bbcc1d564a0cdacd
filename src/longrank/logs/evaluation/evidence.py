"""Evidence: what a log says about policies, decision by decision."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Array, Flags, Indices
from longrank.jobs import Jobs
from longrank.logs.abilities import Checked
from longrank.logs.batch import UNKNOWN, Batch
from longrank.logs.columns import PAID
from longrank.logs.decision import Decision
from longrank.logs.evaluation.outcome_model import OutcomeModel
from longrank.logs.evaluation.target import choose
from longrank.logs.evaluation.weighing import (
    EvidenceArrays,
    Expected,
    LoggedActions,
    RoundPayoffs,
    weigh,
)
from longrank.logs.history import Change, History, Progress, changed
from longrank.policies import Policy

DRAWS = 4  # sequences drawn from a randomised policy, at most
_ENOUGH = 10_000  # enough draws for a mean
_MAX_CELLS = 1 << 21  # of the choices of a batch, held in memory at once
UNCHANGED: Change = (None, None)


@dataclass(frozen=True)
class Evidence:
    """What the estimators need to know about one policy; every array has a row per decision.

    Decisions without an outcome are included: they are not ``observed``, their rewards are NaN and
    their corrections 0, and they show only what the log and the policy choose.

    A longer sequence shows what stopping earlier would have earned, so a policy's stops need no
    support: only the probability of the log's prefix matters. ``masses[:, j]`` is the share of the
    policy that the first j + 1 actions of the log represent: its mean is 1 for every j if the log
    supports the policy, and lower by whatever the log could not have done. ``earned`` is what that
    share earned, up to the outcome: its mean is the policy's value. Neither is ever divided by the
    probability that the log stops. ``unsupported`` is the probability that the policy does, before
    the outcome, what the log could not have done.
    """

    rewards: Array
    bounds: Array  # low, high, exact
    weights: Array  # after every action; the last one is repeated
    last: Indices  # the action that led to the outcome
    matches: Array  # probability of playing exactly the sequence of the log
    unsupported: Array
    starts: Array
    deltas: Array
    expected: Array  # by the model: second and fourth moment of the sum of corrections
    modelled: Array
    stops: Array  # probability of stopping before the budget is used up, along the log
    short: Array  # whether the log did
    observed: Flags
    left: Flags  # whether the cascade ended before the sequence did, after a failure
    masses: Array  # the share of the policy that each prefix of the log represents
    earned: Array  # what that share of the policy earned; NaN without an outcome
    earnable: Array  # the least and the most that the decision can earn
    even: Array  # the weight of the first item, for a uniform draw from all candidates
    played: Array  # what was played, in numbers, where outcomes are missing: see `describe`
    lengths: NDArray[np.int32]  # of what the policy plays, or of what it drew
    log: Checked

    def take(self, rows: Indices) -> Evidence:
        """Return the evidence of some decisions."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "log"}
        return replace(self, **{name: array[rows] for name, array in arrays.items()})

    def ended(self) -> Evidence:
        """Return the evidence of the decisions that have an outcome."""
        return self if self.observed.all() else self.take(np.flatnonzero(self.observed))

    @property
    def final_masses(self) -> Array:
        """The share of the policy that every decision represents, up to its outcome."""
        return np.asarray(self.masses[np.arange(len(self.masses)), self.last])

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
    """Ask a policy about every decision of a log: :func:`gather_all` of one policy.

    With ``learn`` a copy of the policy learns from each decision after it was asked.
    """
    asked = copy.deepcopy(policy) if learn else policy
    return gather_all({"": asked}, history, model, draws=draws, learn=learn)[""][""]


def gather_all(
    policies: Mapping[str, Policy],
    history: History,
    model: OutcomeModel,
    changes: Mapping[str, Change] | None = None,
    *,
    draws: int | None = None,
    workers: Jobs | None = None,
    learn: bool = False,
    every: int = 1,
    progress: Progress | None = None,
) -> dict[str, dict[str, Evidence]]:
    """Ask policies about every decision of a log, in one pass; return what it says about each.

    The policies do not change, unless they ``learn``. Batches of the log are weighed by
    ``workers``, with the same result to the last bit whatever their number. For each policy there
    is evidence under each of the ``changes``, functions of the payoffs and budgets by name
    (``None``: unchanged); by default under the payoffs of the log, with the name ``""``.

    ``draws`` is the number of sequences drawn for the model's estimate of a randomised policy: four
    by default, down to one for 10,000 decisions, of which the mean is just as good. With ``every``
    only each n-th decision is asked about. ``progress`` receives the number done and the total.
    """
    changes = {"": UNCHANGED} if changes is None else changes
    total = len(history)
    if draws is None:
        draws = max(1, min(DRAWS, _ENOUGH // max(total, 1)))
    bare = model.bare
    task = _Task(policies, changes, bare, draws, learn, history.missing > 0, every)
    columns, done = defaultdict[tuple[str | None, str], Any](list), 0
    if workers is None or learn:
        workers = Jobs()
    jobs = ((task, *placed) for placed in _placed(history, model))
    for weighed, parts in workers.each(_weigh, jobs):
        for pair, part in parts.items():
            columns[pair].append(part)
        done += weighed
        if progress is not None:
            progress(done, total + history.missing)
    log = check_batches(history, every)
    common = {change: _joined(columns.pop((None, change))) for change in changes}
    return {
        policy: {
            change: Evidence(log=log, **_joined(columns.pop((policy, change))), **common[change])
            for change in changes
        }
        for policy in policies
    }


class _Task(NamedTuple):
    """The parameters that all batches share."""

    policies: Mapping[str, Policy]
    changes: Mapping[str, Change]
    model: OutcomeModel
    draws: int
    learn: bool
    describe: bool  # whether to describe what was played, as outcomes are missing
    every: int


Parts = dict[tuple[str | None, str], EvidenceArrays]  # by policy and change; None is common to all
_COMMON = ("rewards", "last", "short", "earnable")


def _weigh(task: _Task, place: int, batch: Batch, blocks: Indices) -> tuple[int, Parts]:
    """Weigh the decisions of a batch for every policy under every change; return how many."""
    count, places, decisions = len(batch), np.arange(place, place + len(batch)), list(batch)
    # nothing is known of decisions without payoffs or candidates, hence without an outcome
    asked = np.array([each.payoffs is not None and each.size is not None for each in decisions])
    asked &= places % task.every == 0
    if not asked.any():
        return count, {}
    if not asked.all():
        decisions = [decisions[i] for i in np.flatnonzero(asked)]
        batch, blocks, places = Batch.of(decisions), blocks[asked], places[asked]
    parts: Parts = {}
    chances = task.model.expect(batch, blocks)
    played = np.empty((len(decisions), 0))
    if task.describe:
        played = np.stack(list(describe(decisions, chances[0])))
    for change, (payoffs, budget) in task.changes.items():
        altered, same = batch, decisions
        if payoffs is not None or budget is not None:
            same = changed(decisions, payoffs, budget)
            altered = Batch.of(same)
        actions, worth = _tables(altered, same, task.model, blocks)
        expected = _expected(task.model, blocks, worth, chances)
        lengths, observed = actions.lengths, altered.tried >= 0
        common: EvidenceArrays = {
            "observed": observed,
            "left": ~altered.succeeded & (altered.tried < lengths),
            "even": _even(actions, worth.offered.sum(axis=1)),
            "played": played,
        }
        for name, policy in task.policies.items():
            target = choose(policy, same, task.draws, places.tolist(), learn=task.learn)
            columns = weigh(actions, worth, expected, target)
            columns["lengths"] = np.full(len(same), UNKNOWN, np.int32)
            if target.draws:
                columns["lengths"] = target.lengths[:, 0].astype(np.int32)
            common |= {each: columns.pop(each) for each in _COMMON}
            parts[name, change] = columns
        parts[None, change] = common
    return count, parts


def _placed(history: History, model: OutcomeModel) -> Iterator[tuple[int, Batch, Indices]]:
    """Return batches with the places of their first decisions, and the block of each decision.

    The model has not seen decisions without an outcome. Each belongs to the block of the next
    decision that has one, so that its prediction does not depend on whether its outcome is known.
    """
    place, latest = 0, -1
    for batch in history.batches():
        blocks, known = model.seen.blocks(batch.ids), np.flatnonzero(batch.observed)
        if len(known) < len(batch):
            if latest < 0 and not len(known):
                first = next(history.decisions(), None)
                ids = [] if first is None else [first.id]
                latest = int(model.seen.blocks(ids)[0]) if ids else len(model.seen.begins)
            following = np.searchsorted(known, np.arange(len(batch)))
            own = blocks[known]
            own = np.append(own, own[-1] if len(own) else latest)
            blocks = own[following]
        latest = int(blocks[-1])
        cells = (int(batch.lengths.max()) + 1) * (int(batch.sizes.max()) + 1)
        step = max(1, _MAX_CELLS // cells)
        for begin in range(0, len(batch), step):
            part = batch.take(begin, min(begin + step, len(batch)))
            yield place + begin, part, blocks[begin : begin + step]
        place += len(batch)


def describe(decisions: Sequence[Decision], chances: Array) -> Iterator[Array]:
    """Yield features of what was played that may predict whether its outcome is known.

    The length and the propensity of the sequence, and the mean and the first of its items; of
    records their ``chances`` of success by the model.
    """
    first = 0
    for decision in decisions:
        length, propensity, size = len(decision.order), decision.propensity or 1.0, decision.size
        assert size is not None
        rows, first = chances[first : first + size, np.newaxis], first + size
        if decision.items is not None:
            rows = decision.items
        chosen = rows[decision.order] if length else np.zeros((1, rows.shape[1]))
        yield np.concatenate([[length, math.log(propensity)], chosen[0], chosen.mean(axis=0)])


def _even(log: LoggedActions, sizes: Indices) -> Array:
    """Return the weight of each first item for a policy that draws it uniformly.

    Its mean is at most 1, whatever the log supports; 0 where nothing was played or known.
    """
    first = np.where(log.lengths > 0, log.prefix[:, 0], np.nan)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.nan_to_num(1.0 / (sizes * first), nan=0.0, posinf=np.inf))


def _tables(
    batch: Batch, decisions: Sequence[Decision], model: OutcomeModel, blocks: Indices
) -> tuple[LoggedActions, RoundPayoffs]:
    """Return the arrays of a batch: what was played and what it earns, one row per decision."""
    n = len(decisions)
    sizes, lengths = np.array([each.size for each in decisions]), batch.lengths
    most, longest = max(int(sizes.max()), 1), max(each.budget for each in batch.payoffs)
    costs, planned, gains = (np.zeros((n, most)) for _ in range(3))
    for i, decision in enumerate(decisions):
        own, size = decision.payoffs, sizes[i]
        assert own is not None
        if own.costs is not None:
            costs[i, :size] = planned[i, :size] = own.costs
        if own.success_values is not None:
            gains[i, :size] = own.success_values
        if model.costs is not None and not costs[i].any():
            costs[i, :size] = model.costs.expect(decision, int(blocks[i]))
            planned[i, :size] = model.costs.expect(decision)
    inside = np.arange(int(lengths.max()) + 1) < lengths[:, np.newaxis]
    order, prefix = np.full(inside.shape, most), np.full(inside.shape, np.nan)
    order[inside] = batch.lists["order"].values
    paid = np.where(inside, np.take_along_axis(planned, np.where(inside, order, 0), 1), 0.0)
    noise, prefixed = np.zeros(n), np.zeros(n, np.bool_)
    if (bills := batch.lists.get(PAID)) is not None:
        for i in range(n):
            if (bill := bills[i]) is not None:
                paid[i, : len(bill)] = bill
                noise[i] = model.costs.noise if model.costs is not None else 0.0
    if (chances := batch.lists.get("prefix_propensities")) is not None:
        prefixed = chances.known
        prefix[inside & prefixed[:, np.newaxis]] = chances.values
    rewards, losses = (np.zeros((len(batch.payoffs), longest + 2)) for _ in range(2))
    for i, payoffs in enumerate(batch.payoffs):
        rewards[i, : payoffs.budget] = payoffs.rewards
        losses[i, : payoffs.budget + 1] = payoffs.losses
    limits = np.array([each.budget for each in batch.payoffs])[batch.pay]
    tries = np.minimum(np.where(batch.budget == UNKNOWN, limits, batch.budget), sizes)
    ended = batch.tried.astype(np.int64), batch.succeeded, noise
    logged = LoggedActions(order, lengths, paid, prefix, prefixed, batch.propensity, *ended)
    offered = np.arange(most) < sizes[:, np.newaxis]
    own_rewards, own_losses = rewards[batch.pay], losses[batch.pay]
    return logged, RoundPayoffs(offered, costs, planned, gains, own_rewards, own_losses, tries)


def _expected(
    model: OutcomeModel, blocks: Indices, payoffs: RoundPayoffs, chances: tuple[Array, Array]
) -> Expected:
    """Return what the model expects of a batch, each decision in a row."""
    before, later = (np.zeros(payoffs.offered.shape) for _ in range(2))
    before[payoffs.offered], later[payoffs.offered] = chances
    stops = np.zeros((len(model.stops), payoffs.losses.shape[1]))
    width = min(model.stops.shape[1], stops.shape[1])
    stops[:, :width] = model.stops[:, :width]
    overall = np.broadcast_to(stops[-1], (len(blocks), stops.shape[1]))
    return Expected(before, stops[blocks], later, overall)


_LASTING = ("weights", "masses")  # padded with their values at the last position


def _joined(parts: list[EvidenceArrays]) -> EvidenceArrays:
    """Concatenate the columns of batches, padded to the widest batch."""
    joined: EvidenceArrays = {}
    for name in list(parts[0]) if parts else []:
        columns = [part.pop(name) for part in parts]
        width = max(column.shape[-1] for column in columns)
        for i, column in enumerate(columns):
            if column.ndim > 1 and column.shape[1] < width:
                rest = ((0, 0), (0, width - column.shape[1]))
                columns[i] = np.pad(column, rest, "edge" if name in _LASTING else "constant")
        joined[name] = np.concatenate(columns)
    return joined


def check_batches(history: History, every: int = 1) -> Checked:
    """Count what the decisions of a checked log have, or each n-th of them."""
    log, place = Checked(history.name), 0
    for batch in history.batches():
        log.add(batch if every == 1 else Batch.of(list(batch)[-place % every :: every]))
        place += len(batch)
    return log
