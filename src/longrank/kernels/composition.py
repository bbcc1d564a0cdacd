"""A whole run of a policy through a stream of rounds, composed of the kernels of its parts.

A policy names its rule, a feature map its choice and a learner its step; :func:`compose_run` puts
them into one compiled loop. No part knows the others, so a new one needs no change here. Records
have a loop of their own, :func:`compose_record_run`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import Kernel, compiled, compose
from longrank.kernels.length import committed_length, patience_of
from longrank.kernels.link import probabilities
from longrank.kernels.numbers import Coding, code_raw, observe_numbers
from longrank.kernels.ranking import top

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Keys = NDArray[np.uint64]


class Rule(NamedTuple):
    """How a policy decides: ``kernel(greedy, along, now, belief, payoffs, settings)``.

    Returns the order, its rows and the length to commit to. The order need only reach the first
    success. A rule takes kernels as arguments, so it is made with ``kernels.generic``.

    ``greedy`` and ``along`` are those of the features' :class:`Selection`. ``now`` is (items of the
    round, which of them succeed, whether the round is random, a random key for each item, the
    largest norm of a row); ``belief`` is (weights, inverse, link code, ceiling); ``payoffs`` is
    (rewards, losses, ``enough_to_go_on`` of them); ``settings`` are the policy's own.
    """

    kernel: Kernel
    settings: tuple[Any, ...] = ()


class Selection(NamedTuple):
    """What features make of the items of a stream, and how a round's best are chosen.

    ``items`` has a row for each item, in the form that the kernels take: ``greedy(items, weights,
    inverse, bonus, ceiling, count)`` returns order, rows, means and scores of the best, and
    ``along(items, order)`` the rows of a given order. No row is longer than ``longest``.
    """

    items: Matrix
    greedy: Kernel
    along: Kernel
    longest: float


class Step(NamedTuple):
    """How a learner learns: ``kernel(state, rows, succeeded)``, changing arrays of ``state``.

    ``state`` is a tuple that begins with the weights and the inverse.
    """

    kernel: Kernel
    state: tuple[Any, ...]


class RecordRule(NamedTuple):
    """How a policy decides about records: by mean + bonus * width, or at random at full length.

    ``bonus(keys)`` turns the random numbers of all candidates, which :meth:`longrank.Policy.chance`
    draws, into how many standard deviations are added to the mean of each; in random rounds the
    numbers themselves give the order. So many failures as ``foresight`` says are foreseen. These
    are numbers rather than a kernel, so that one loop, compiled once, serves all policies.
    """

    bonus: Callable[[Vector], Vector]
    foresight: int = 0


class RecordSelection(NamedTuple):
    """The records of a stream and their contexts, encoded.

    Keys and raw numbers of each side. The keys of numbers are filled in as a run goes on, since
    the samples that they depend on grow as it learns.
    """

    layout: Any
    own: tuple[Keys, Matrix]
    shared: tuple[Keys, Matrix]


class RecordStep(NamedTuple):
    """How a learner of sparse rows chooses and learns.

    ``choose(state, rows, plan, bonus, ceiling, count, foresight)`` returns order and scores of the
    best; ``learn(state, rows, plan, succeeded)`` the next state, of arrays that may have grown. The
    learner goes on from the last one after ``take_over(state, rows learned from)``.
    """

    choose: Kernel
    learn: Kernel
    state: tuple[Any, ...]
    take_over: Callable[[Any, int], None]


def declared(part: object, method: str, *arguments: object) -> Any:
    """Ask a part how it is compiled; None if its own class does not say.

    The word of a parent does not count: a subclass may act otherwise.
    """
    return getattr(part, method)(*arguments) if method in vars(type(part)) else None


@compiled
def rows_along(items: Matrix, order: Indices) -> Matrix:
    """The rows of a given order, where each item is its row. O(count d)."""
    return items[order]


@compiled
def learn_nothing(
    state: tuple[Vector, Matrix],
    rows: Matrix,
    succeeded: bool,
) -> None:
    """The step of a belief that never changes."""


def _unbound(*_: Any) -> Any:
    raise NotImplementedError


rule = greedy = along = step = choose = learn = (
    _unbound  # compose_run binds them to the kernels of parts
)


def _run(
    stream: tuple[Matrix, Indices, Flags],
    chance: tuple[Flags, Vector],
    payoffs: tuple[Vector, Vector, Vector],
    belief: tuple[Vector, Matrix, int, float],
    state: tuple[Any, ...],
    settings: tuple[Any, ...],
    longest: float,
    life: tuple[Vector, Indices, Indices],
) -> None:
    """Rank, play and learn in every round t, whose items are rows ``starts[t]:starts[t+1]``.

    Fills ``life``: what was earned, the lengths committed to, and how many were tried.
    """
    items, starts, wins = stream
    at_random, keys = chance
    rewards, losses, _ = payoffs
    earned, lengths, tried = life
    for t in range(starts.shape[0] - 1):
        start, end = starts[t], starts[t + 1]
        won = wins[start:end]
        now = (items[start:end], won, at_random[t], keys[start:end], longest)
        order, rows, length = rule(greedy, along, now, belief, payoffs, settings)
        attempts, succeeded = 0, False
        while attempts < length and not succeeded:
            succeeded = won[order[attempts]]
            attempts += 1
        earned[t] = rewards[attempts - 1] if succeeded else losses[attempts]
        lengths[t], tried[t] = length, attempts
        if attempts > 0:
            step(state, rows[:attempts], succeeded)


def compose_run(rule: Rule, choice: Selection, step: Step) -> Kernel:
    """The loop of these parts, compiled and cached for them: see :func:`_run`."""
    return compose(
        _run, rule=rule.kernel, greedy=choice.greedy, along=choice.along, step=step.kernel
    )


def _run_records(
    rounds: tuple[Indices, Flags, Flags],
    candidates: tuple[Keys, Matrix],
    contexts: tuple[Keys, Matrix],
    codings: tuple[Coding, Coding],
    plan: tuple[Indices, Indices, Keys],
    chance: tuple[Flags, Vector],
    optimism: tuple[Vector, int],
    payoffs: tuple[Vector, Vector],
    link: tuple[int, float],
    state: tuple[Any, ...],
    probing: tuple[bool, Indices],
    patience: tuple[float, Indices],
    life: tuple[Vector, Indices, Indices],
) -> tuple[Any, ...]:
    """Rank, play and learn in every round t, whose records are ``starts[t]:starts[t+1]``.

    A loop of its own, since rows are made anew in every round, and the state of a learner may
    grow. Fills ``life`` as :func:`_run` does, and returns the state. ``ends`` says with which
    records a round ends: those that succeed, and those whose failure is final. ``patience`` is
    that of the payoffs, and how often a cascade went on and stopped (of no length if that is not
    learned), which is counted on.
    """
    starts, wins, ends = rounds
    own, shared = codings
    at_random, drawn = chance
    bonus, foresight = optimism
    rewards, losses = payoffs
    earned, lengths, tried = life
    given, counts = patience
    for t in range(starts.shape[0] - 1):
        start, end = starts[t], starts[t + 1]
        raw, context_raw = candidates[1][start:end], contexts[1][t : t + 1]
        keys, numbers = code_raw(candidates[0][start:end], raw, own)
        context_keys, context_numbers = code_raw(contexts[0][t : t + 1], context_raw, shared)
        context = context_keys[0][1:], context_numbers[0][1:]
        length = count = min(rewards.shape[0], end - start)
        if at_random[t]:
            order = top(drawn[start:end], count)
        else:
            rows = keys, numbers, context
            order, scores = choose(state, rows, plan, bonus[start:end], link[1], count, foresight)
            chances = probabilities(link[0], scores)
            q = given
            if counts.shape[0] and given == 1.0:
                q = patience_of(counts[0], counts[1])
            length = committed_length(chances, rewards, losses, probing[0], probing[1], q)
        attempts, succeeded, over = 0, False, False
        while attempts < length and not over:
            item = start + order[attempts]
            succeeded, over = wins[item], ends[item]
            attempts += 1
        earned[t] = rewards[attempts - 1] if succeeded else losses[attempts]
        lengths[t], tried[t] = length, attempts
        if attempts > 0:
            observed = order[:attempts]
            rows = keys[observed], numbers[observed], context
            state = learn(state, rows, plan, succeeded)
            observe_numbers(raw[observed], own.samples, own.sizes, own.seen)
            observe_numbers(context_raw, shared.samples, shared.sizes, shared.seen)
            if counts.shape[0]:
                counts[0] += attempts - 1
                counts[1] += int(not succeeded and attempts < length)
    return state


def compose_record_run(step: RecordStep) -> Kernel:
    """The loop of a learner, compiled and cached for it: see :func:`_run_records`."""
    return compose(_run_records, choose=step.choose, learn=step.learn)
