"""Evidence: what a log says about policies, decision by decision."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.jobs import Jobs
from longrank.kernels import Expected, Findings, Logged, Worth
from longrank.logs.abilities import CERTAIN, Checked
from longrank.logs.batch import UNKNOWN, Batch
from longrank.logs.decision import Decision
from longrank.logs.evaluation.outcome_model import OutcomeModel
from longrank.logs.evaluation.target import aim
from longrank.logs.history import Change, History, changed
from longrank.policies import Policy

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
DRAWS = 4  # sequences drawn from a randomised policy, at most
_ENOUGH = 10_000  # draws whose mean is good enough
UNCHANGED: Change = (None, None)


@dataclass(frozen=True)
class Evidence:
    """What the estimators need to know about one policy; every array has a row per decision.

    Also the decisions without an outcome: they are not ``observed``, their rewards are NaN and
    their corrections 0, and all that they tell is what the log and the policy choose.

    A sequence that goes on longer shows what stopping earlier would have earned. So a policy's stop
    needs no support: what counts is how likely the log's prefix was. ``masses[:, j]`` is how much
    of the policy the first j + 1 actions of the log stand for: its mean is 1 for every j if the log
    supports the policy, and less by what it could not have done. ``earned`` is what that much of
    the policy earned, up to the outcome: its mean is what the policy earns. Neither is ever divided
    by the probability that the log stops. ``unsupported`` is the probability that the policy does,
    before the outcome, what the log could not have done.
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
    left: NDArray[np.bool_]  # whether the cascade ended by itself after a failure
    masses: Array  # how much of the policy each prefix of the log stands for
    earned: Array  # what that much of the policy earned; NaN without an outcome
    earnable: Array  # the least and the most that the decision can earn
    even: Array  # the weight of the first item if one were drawn from all candidates alike
    played: Array  # what was played, in numbers, where outcomes are missing: see `describe`
    lengths: NDArray[np.int32]  # of what the policy plays, or of what it drew
    log: Checked

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some decisions."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "log"}
        return replace(self, **{name: array[rows] for name, array in arrays.items()})

    def ended(self) -> Evidence:
        """Return the evidence of the decisions that have an outcome."""
        return self if self.observed.all() else self.take(np.flatnonzero(self.observed))

    @property
    def final_masses(self) -> Array:
        """How much of the policy every decision stands for, up to its outcome."""
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
) -> dict[str, dict[str, Evidence]]:
    """Ask policies about every decision of a log, in one pass; return what it says about each.

    The policies do not change, unless they ``learn``. Batches of the log are weighed by
    ``workers``, with the same result to the last bit whatever their number. For each policy there
    is evidence under each of the ``changes``, functions of the payoffs and budgets by name
    (``None``: unchanged); by default under the payoffs of the log, with the name ``""``.

    ``draws`` is the number of sequences drawn for the model's estimate of a randomised policy:
    four by default, down to one for 10,000 decisions, of which the mean is just as good. With
    ``every`` only each n-th decision is asked about.
    """
    changes = {"": UNCHANGED} if changes is None else changes
    total = len(history)
    if draws is None:
        draws = max(1, min(DRAWS, _ENOUGH // max(total, 1)))
    bare = model.bare
    task = _Task(policies, changes, bare, draws, learn, history.missing > 0, every)
    room = total + history.missing
    log, found = Checked(history.name), {pair: _Columns(room) for pair in task.pairs()}
    common = {change: _Columns(room) for change in changes}  # to all policies
    if workers is None or learn:
        workers = Jobs()
    jobs = ((task, *placed) for placed in _placed(history, model))
    for part, counted in workers.each(_weigh, jobs):
        _merge(log, counted)
        for (policy, change), columns in part.items():
            (common[change] if policy is None else found[policy, change]).add(columns)
    return {
        policy: {
            change: Evidence(log=log, **found[policy, change].all, **common[change].all)
            for change in changes
        }
        for policy in policies
    }


class _Task(NamedTuple):
    """What is asked of every batch."""

    policies: Mapping[str, Policy]
    changes: Mapping[str, Change]
    model: OutcomeModel
    draws: int
    learn: bool
    describe: bool  # whether it matters what was played, for outcomes are missing
    every: int

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return every policy with every change."""
        return ((policy, change) for policy in self.policies for change in self.changes)


Found = dict[str, NDArray[Any]]
Parts = dict[tuple[str | None, str], Found]  # by policy and change; None is what all have in common
_COMMON = ("rewards", "last", "short", "observed", "left", "earnable", "even", "played")


def _weigh(task: _Task, place: int, batch: Batch, blocks: Counts) -> tuple[Parts, Checked]:
    """Weigh the decisions of a batch for every policy under every change."""
    places = np.arange(place, place + len(batch))
    decisions = list(batch)
    if task.every > 1:
        asked = slice(-place % task.every, None, task.every)
        decisions, blocks, places = decisions[asked], blocks[asked], places[asked]
        if not decisions:
            return {}, Checked("")
        batch = Batch.of(decisions)
    log = count(batch)
    known = [one.payoffs is not None and one.size is not None for one in decisions]
    if not all(known):  # nothing is known of what has no outcome either
        decisions = [one for one, there in zip(decisions, known, strict=True) if there]
        if not decisions:
            return {}, log
        batch, blocks, places = Batch.of(decisions), blocks[known], places[known]
    found: Parts = {}
    chances = task.model.expect(batch, blocks)
    played = np.empty((len(decisions), 0))
    if task.describe:
        played = np.stack(list(describe(decisions, chances[0])))
    for change, (payoffs, budget) in task.changes.items():
        there, same = batch, decisions
        if payoffs is not None or budget is not None:
            same = changed(decisions, payoffs, budget)
            there = Batch.of(same)
        log_, worth = _tables(there, same, task.model, blocks)
        believed = Expected(*chances, task.model.stops, blocks)
        for name, policy in task.policies.items():
            aims = aim(policy, same, task.draws, places.tolist(), learn=task.learn)
            room = _room(len(same), int(np.diff(there.order.firsts).max()) + 1)
            kernels.weigh_decisions(log_, worth, believed, aims, room)
            lengths = np.full(len(same), UNKNOWN)
            if aims.draws:
                lengths = np.diff(aims.sequence_firsts)[:: aims.draws]
            columns = room._asdict() | {
                "observed": there.tried >= 0,
                "left": ~there.succeeded & (there.tried < np.diff(there.order.firsts)),
                "even": _even(log_, np.diff(worth.firsts)),
                "played": played,
                "lengths": lengths.astype(np.int32),
                "last": room.last.astype(np.int32),
            }
            found[None, change] = {each: columns.pop(each) for each in _COMMON}
            found[name, change] = columns
    return found, log


def _placed(history: History, model: OutcomeModel) -> Iterator[tuple[int, Batch, Counts]]:
    """Return batches with the places of their first decisions, and the block of each decision.

    A model has not seen what has no outcome. Such a decision is in the block of the next one that
    has an outcome, so that what is expected of it does not depend on whether its outcome is known.
    """
    place, latest = 0, -1
    for batch in history.batches():
        blocks, known = model.seen.blocks(batch.ids), np.flatnonzero(batch.tried >= 0)
        if len(known) < len(batch):
            if latest < 0 and not len(known):
                first = next(history.decisions(), None)
                latest = len(model.seen.begins) if first is None else _block_of(model, first)
            following = np.searchsorted(known, np.arange(len(batch)))
            own = blocks[known]
            own = np.append(own, own[-1] if len(own) else latest)
            blocks = own[following]
        latest = int(blocks[-1])
        yield place, batch, blocks
        place += len(batch)


def _block_of(model: OutcomeModel, decision: Decision) -> int:
    return int(model.seen.blocks([decision.id])[0])


def describe(decisions: Sequence[Decision], chances: Array) -> Iterator[Array]:
    """Return what was played, in numbers that may tell whether its outcome is known.

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


def _even(log: Logged, sizes: Counts) -> Array:
    """Return the weight of each first item for a policy that draws one of all candidates alike.

    Whatever the log supports, its mean is at most 1; 0 where nothing was played or is known.
    """
    some = np.diff(log.firsts) > 0
    chances = np.full(len(sizes), np.nan)
    chances[some] = log.prefix[log.firsts[:-1][some]]
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.nan_to_num(1.0 / (sizes * chances), nan=0.0, posinf=np.inf))


def _room(count: int, width: int) -> Findings:
    def numbers(*more: int) -> Array:
        return np.zeros((count, *more))

    return Findings(
        rewards=numbers(),
        bounds=numbers(3),
        last=np.zeros(count, np.int64),
        matches=numbers(),
        unsupported=numbers(),
        starts=numbers(),
        expected=numbers(2),
        modelled=numbers(),
        stops=numbers(),
        short=np.zeros(count, np.bool_),
        weights=numbers(width),
        deltas=numbers(width),
        masses=numbers(width),
        earned=numbers(),
        earnable=numbers(2),
    )


def _tables(
    batch: Batch, decisions: Sequence[Decision], model: OutcomeModel, blocks: Counts
) -> tuple[Logged, Worth]:
    """Return what a batch says of what was played and of what it earns, as the kernels take it."""
    sizes = np.array([one.size for one in decisions], np.int64)
    firsts = np.append(0, np.cumsum(sizes))
    costs, gains = np.zeros(int(firsts[-1])), np.zeros(int(firsts[-1]))
    planned = costs
    priced = np.array([one.has_prices for one in batch.payoffs])[batch.pay]
    if model.costs is not None or priced.any():
        planned = costs.copy()
        priced = priced | (model.costs is not None)
        for i, decision in enumerate(decisions):
            own, payoffs = slice(firsts[i], firsts[i + 1]), decision.payoffs
            assert payoffs is not None
            if payoffs.costs is not None:
                costs[own] = planned[own] = payoffs.costs
            if payoffs.success_values is not None:
                gains[own] = payoffs.success_values
            if model.costs is not None and not costs[own].any():
                costs[own] = model.costs.expect(decision, int(blocks[i]))
                planned[own] = model.costs.expect(decision)
    order = batch.order
    owner = np.repeat(np.arange(len(decisions)), np.diff(order.firsts))
    paid, noise = planned[firsts[owner] + order.values], np.zeros(len(decisions))
    if batch.costs is not None:
        for i, decision in enumerate(decisions):
            bill = None if decision.outcome is None else decision.outcome.costs
            if bill is not None:
                paid[order.firsts[i] : order.firsts[i] + len(bill)] = bill
                noise[i] = model.costs.noise if model.costs is not None else 0.0
    prefix, prefixed = np.full(len(order.values), np.nan), np.zeros(len(decisions), np.bool_)
    if batch.prefix is not None:
        prefixed[:] = True if batch.prefix.known is None else batch.prefix.known
        prefix[np.repeat(prefixed, np.diff(order.firsts))] = batch.prefix.values
    longest = max(one.budget for one in batch.payoffs)
    rewards, losses = (np.zeros((len(batch.payoffs), longest + 1)) for _ in range(2))
    for i, payoffs in enumerate(batch.payoffs):
        rewards[i, : payoffs.budget] = payoffs.rewards
        losses[i, : payoffs.budget + 1] = payoffs.losses
    limits = np.array([one.budget for one in batch.payoffs])[batch.pay]
    tries = np.minimum(np.where(batch.budget == UNKNOWN, limits, batch.budget), sizes)
    logged = Logged(
        firsts=order.firsts,
        order=order.values,
        paid=paid,
        prefix=prefix,
        prefixed=prefixed,
        propensity=batch.propensity,
        tried=batch.tried.astype(np.int64),
        succeeded=batch.succeeded,
        tries=tries.astype(np.int64),
        noise=noise,
    )
    pay = batch.pay.astype(np.int64)
    return logged, Worth(firsts, costs, planned, gains, priced, pay, rewards, losses)


_LASTING = ("weights", "masses")  # what holds after the last position of a decision


class _Columns:
    """The evidence as it is gathered: columns with room for all decisions of a log."""

    def __init__(self, room: int) -> None:
        self._room, self._count = room, 0
        self._columns: Found = {}

    def add(self, found: Found) -> None:
        """Add the evidence of some further decisions."""
        first = self._count
        self._count += len(next(iter(found.values())))
        for name, column in found.items():
            have = self._columns.get(name)
            if have is None or column.shape[1:] > have.shape[1:]:
                have = self._columns[name] = self._widened(have, column, first, name in _LASTING)
            have[first : self._count, ...][_within(column)] = column
            if name in _LASTING and have.shape[1] > column.shape[1]:
                have[first : self._count, column.shape[1] :] = column[:, -1:]

    def _widened(
        self, have: NDArray[Any] | None, column: NDArray[Any], count: int, repeat: bool
    ) -> NDArray[Any]:
        wide = np.zeros((self._room, *column.shape[1:]), column.dtype)
        if have is not None:
            wide[:count, : have.shape[1]] = have[:count]
            if repeat:
                wide[:count, have.shape[1] :] = have[:count, -1:]
        return wide

    @property
    def all(self) -> Found:
        """The columns."""
        return {name: column[: self._count] for name, column in self._columns.items()}


def _within(column: NDArray[Any]) -> tuple[slice, ...]:
    return tuple(slice(size) for size in column.shape)


def check_batches(history: History) -> Checked:
    """Return what the decisions of a checked log have, as :meth:`Checked.add` counts it."""
    log = Checked(history.name)
    for batch in history.batches():
        _merge(log, count(batch))
    return log


def count(batch: Batch) -> Checked:
    """Return what :meth:`Checked.add` counts of the decisions of a batch."""
    observed = batch.tried >= 0
    if batch.more.keys() & {"learned", "candidates"} or not all(
        lists is None or lists.known is None for lists in (batch.items, batch.prefix, batch.costs)
    ):
        log = Checked("")
        for decision in batch:
            log.add(decision)
        return log
    n, none = int(observed.sum()), np.zeros(len(batch), np.bool_)
    chances = batch.propensity[observed]
    chances = chances[~np.isnan(chances)]
    priced = none
    if batch.payoffs:
        priced = np.array([one.has_prices for one in batch.payoffs])[batch.pay] & (batch.pay >= 0)
    told = none if batch.costs is None else ~none
    return Checked(
        "",
        decisions=n,
        missing=len(batch) - n,
        tries=int(batch.tried[observed].sum()),
        with_items=0 if batch.items is None else n,
        with_payoffs=int((batch.pay[observed] >= 0).sum()),
        with_prices=int(priced[observed].sum()),
        with_outcome_costs=int(told[observed].sum()),
        without_costs=int((observed & (batch.tried > 0) & ~priced & ~told).sum()),
        with_propensity=len(chances),
        with_prefix=0 if batch.prefix is None else n,
        randomised=int((chances < CERTAIN).sum()),
        min_propensity=float(chances.min(initial=1.0)),
        max_propensity=float(chances.max(initial=0.0)),
    )


def _merge(log: Checked, part: Checked) -> None:
    """Add what was counted of further decisions."""
    for one in fields(Checked):
        ours, theirs = getattr(log, one.name), getattr(part, one.name)
        if one.name.startswith(("min_", "max_")):
            setattr(log, one.name, (min if one.name.startswith("min_") else max)(ours, theirs))
        elif isinstance(ours, int):
            setattr(log, one.name, ours + theirs)
