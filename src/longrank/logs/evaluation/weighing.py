"""Weights, bounds and model expectations of a policy for each decision of a log.

A batch is processed at once, in arrays of n rows, as wide as the longest sequence and the largest
set of candidates require. Position j means after the first j attempts, or attempt j + 1.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Array, Flags, Indices
from longrank.logs.evaluation.target import TargetChoices

EvidenceArrays = dict[str, NDArray[Any]]
_CERTAIN = 1.0 - 1e-9


class LoggedActions(NamedTuple):
    """The sequences of the log, and their outcomes.

    ``order``, shape (n, L), is padded with STOP, the index of the last column of choices. ``tried``
    is -1 for an unknown outcome. ``paid`` is the cost of each attempt along the order, and
    ``noise`` the variance of actual costs where the outcome reports them. ``propensity`` is NaN
    where unknown; ``prefix`` is valid for decisions that are ``prefixed``.
    """

    order: Indices
    lengths: Indices
    paid: Array
    prefix: Array
    prefixed: Flags
    propensity: Array
    tried: Indices
    succeeded: Flags
    noise: Array


class RoundPayoffs(NamedTuple):
    """Costs and gains of candidates, shape (n, K); rewards and losses, shape (n, B + 2).

    ``costs`` are expected from what was known before each decision, ``planned`` from the whole log;
    ``tries`` is the maximum number of attempts. ``offered`` marks candidates; the rest of a row is
    padding.
    """

    offered: Flags
    costs: Array
    planned: Array
    gains: Array
    rewards: Array
    losses: Array
    tries: Indices


class Expected(NamedTuple):
    """Probabilities of success, shape (n, K), and of an early end of the cascade, shape (n, B + 2).

    ``chances`` and ``stops`` use what was known before each decision, ``later`` and ``later_stops``
    the whole log.
    """

    chances: Array
    stops: Array
    later: Array
    later_stops: Array


def weigh(
    log: LoggedActions, payoffs: RoundPayoffs, model: Expected, target: TargetChoices
) -> EvidenceArrays:
    """Return the columns of the evidence about a policy.

    A decision without an outcome contributes its support and what the model expects.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        weighed = _Weighed(log, payoffs, target)
        return (
            weighed.support()
            | weighed.earnings()
            | {"bounds": weighed.bounds()}
            | weighed.corrections(model)
            | {"modelled": _modelled(payoffs, model, target)}
        )


def _at(table: NDArray[Any], columns: Indices) -> NDArray[Any]:
    """Return the entry of each row in its own column, or in several."""
    wanted = columns if columns.ndim > 1 else columns[:, np.newaxis]
    entries = np.take_along_axis(table, wanted, axis=1)
    return entries if columns.ndim > 1 else entries[:, 0]


def _range(table: Array, allowed: Flags) -> tuple[Array, Array]:
    """Return the least and the largest of the entries of each row that are allowed."""
    least = np.where(allowed, table, np.inf).min(axis=1)
    return least, np.where(allowed, table, -np.inf).max(axis=1)


def _before(steps: Array) -> Array:
    """Return the sums of all columns before each, and of all of them last."""
    return np.hstack([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)])


@dataclass
class _Weighed:
    """The decisions of a batch, compared with what a policy would have done."""

    log: LoggedActions
    payoffs: RoundPayoffs
    target: TargetChoices

    def __post_init__(self) -> None:
        log, table = self.log, self.target.choices
        self.n, self.width = log.order.shape
        self.rows, self.steps = np.arange(self.n), np.arange(self.width)
        self.lengths = log.lengths[:, np.newaxis]
        self.observed = log.tried >= 0
        self.tried = np.where(self.observed, log.tried, 0)
        self.won = log.succeeded & self.observed
        self.last = np.where(self.observed, self.tried - self.won, log.lengths)
        self.until = self.steps <= self.last[:, np.newaxis]
        self.stop = table[:, :, -1]
        self.own = np.take_along_axis(table, log.order[:, :, np.newaxis], axis=2)[:, :, 0]
        self.reached = np.hstack([np.ones((self.n, 1)), np.cumprod(self.own, axis=1)])
        self.spent = _before(log.paid)
        item = log.order[self.rows, np.maximum(self.tried - 1, 0)]
        gains = np.hstack([self.payoffs.gains, np.zeros((self.n, 1))])
        success = _at(self.payoffs.rewards, np.maximum(self.tried - 1, 0)) + _at(gains, item)
        self.earned = np.where(self.won, success, _at(self.payoffs.losses, self.tried))
        self.earned = self.earned - self.spent[self.rows, self.tried]

    def support(self) -> EvidenceArrays:
        """Return weights and masses after every action, and the unsupported part of the policy."""
        log, reached, inside = self.log, self.reached, self.steps < self.lengths
        final = reached[self.rows, log.lengths + 1]
        known, prefixed = ~np.isnan(log.propensity), log.prefixed
        ours = np.where(inside, log.prefix, log.propensity[:, np.newaxis])
        before = np.hstack([np.ones((self.n, 1)), ours[:, :-1]])
        weights = reached[:, 1:] / ours
        self.stopping = reached[:, :-1] / before * self.stop
        masses = np.cumsum(self.stopping, axis=1) + np.where(inside, weights, 0.0)
        other = reached[:, :-1] * (1.0 - self.stop) - np.where(inside, reached[:, 1:], 0.0)
        forced = self.until & (ours >= before * _CERTAIN)  # the log had no alternative here
        lost = np.maximum(np.where(forced, other, 0.0).sum(axis=1), 0.0)
        # where only the propensity of the whole sequence is known
        whole = (final / log.propensity)[:, np.newaxis]
        lost_all = np.where(log.propensity >= _CERTAIN, 1.0 - final, 0.0)
        last = np.minimum(self.steps, self.lengths)
        one_by_one = (prefixed & known)[:, np.newaxis]
        otherwise = np.where(known[:, np.newaxis], whole, 0.0)
        self.weights = np.where(one_by_one, _at(weights, last), otherwise)
        early = np.where(self.until, reached[:, :-1] * self.stop, 0.0)
        return {
            "weights": self.weights,
            "masses": np.where(one_by_one, _at(masses, last), otherwise),
            "unsupported": np.where(known, np.where(prefixed, lost, lost_all), 0.0),
            "matches": final,
            "last": self.last.astype(np.int32),
            "short": log.lengths < self.payoffs.tries,
            "stops": np.where(self.steps < self.payoffs.tries[:, np.newaxis], early, 0.0).sum(1),
        }

    def earnings(self) -> EvidenceArrays:
        """Return the rewards of the log, what the policy earned of them, and the possible range."""
        log, payoffs = self.log, self.payoffs
        ends = payoffs.losses[:, : self.width] - self.spent[:, : self.width]
        gained = np.where(self.until, self.stopping * ends, 0.0).sum(axis=1)
        # a success, or an early stop, at an item that the policy may have played
        reached = self.weights[self.rows, self.last] * self.earned
        gained = gained + np.where(self.last < log.lengths, reached, 0.0)
        gained = np.where(log.prefixed, gained, self.weights[:, 0] * self.earned)
        known = ~np.isnan(log.propensity)
        return {
            "rewards": np.where(self.observed, self.earned, np.nan),
            "earned": np.where(known, np.where(self.observed, gained, np.nan), 0.0),
            "earnable": self._earnable(),
        }

    def _earnable(self) -> Array:
        """Return the least and the most that each decision can earn."""
        costs, gains, tries = self.payoffs.planned, self.payoffs.gains, self.payoffs.tries
        places = np.arange(self.payoffs.losses.shape[1])
        least, most = _range(self.payoffs.losses, places <= tries[:, np.newaxis])
        low, high = _range(self.payoffs.rewards, places < tries[:, np.newaxis])
        offered, some = self.payoffs.offered, tries > 0
        worst = low + np.where(offered, gains, np.inf).min(axis=1, initial=np.inf)
        best = high + np.where(offered, gains - costs, -np.inf).max(axis=1, initial=-np.inf)
        spent = _sum_of_largest(costs, tries)
        least = np.where(some, np.minimum(least, worst) - spent, least)
        return np.column_stack([least, np.where(some, np.maximum(most, best), most)])

    def bounds(self) -> Array:
        """Bound what the policy can have earned; the third column is the probability of exactness.

        Without an outcome, any attempt may have succeeded.
        """
        losses, tried = self.payoffs.losses, self.tried
        low, high, exact = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        here = np.ones(self.n)  # how likely the policy is to have done the same so far
        sequences = None if self.target.random else self._after_sequences()
        for i in range(self.width):
            loss = losses[:, i] - self.spent[:, i]
            # an early stop ends both sequences
            ended = self.observed & (tried == i) & (i < self.log.lengths) & (here > 0.0)
            low, high = low + ended * here * loss, high + ended * here * loss
            exact, here = exact + ended * here, np.where(ended | (tried < i), 0.0, here)
            stop = self.stop[:, i]
            same = np.where(i < tried, self.own[:, i], 0.0)
            low, high = low + here * stop * loss, high + here * stop * loss
            exact = exact + here * stop
            other = np.where(here > 0.0, 1.0 - stop - same, 0.0)
            if (other > 1e-12).any():
                give_up = np.where(i == tried, losses[:, i], -np.inf)  # the cascade may have ended
                if sequences is None:
                    worst, best = self._after_any(i, give_up)
                else:
                    worst, best = (ends[:, min(i, ends.shape[1] - 1)] for ends in sequences)
                    best = np.maximum(best, give_up)
                some, share = other > 1e-12, here * other
                low = low + np.where(some, share * (worst - self.spent[:, i]), 0.0)
                high = high + np.where(some, share * (best - self.spent[:, i]), 0.0)
            here = here * same
            ended = self.won & (tried == i + 1)
            low, high = low + ended * here * self.earned, high + ended * here * self.earned
            exact, here = exact + ended * here, np.where(ended, 0.0, here)
        return np.column_stack([low, high, exact])

    def _after_sequences(self) -> tuple[Array, Array]:
        """Return the least and the most that can follow each position of a policy's sequence."""
        sequence, lengths = self.target.sequences[:, 0], self.target.lengths[:, 0]
        inside = np.arange(sequence.shape[1]) < lengths[:, np.newaxis]
        paid = _before(np.where(inside, _at(self.payoffs.planned, sequence), 0.0))
        width = sequence.shape[1]
        won = self.payoffs.rewards[:, :width] + _at(self.payoffs.gains, sequence) - paid[:, 1:]
        worst = np.where(inside, won, np.inf)[:, ::-1]
        best = np.where(inside, won, -np.inf)[:, ::-1]
        worst = np.minimum.accumulate(worst, axis=1)[:, ::-1]
        best = np.maximum.accumulate(best, axis=1)[:, ::-1]
        nothing = _at(self.payoffs.losses, lengths) - paid[self.rows, lengths]
        worst = np.minimum(worst, nothing[:, np.newaxis])
        best = np.maximum(best, self.payoffs.losses[:, 1 : width + 1] - paid[:, 1:])
        return worst + paid[:, :-1], best + paid[:, :-1]

    def _after_any(self, i: int, give_up: Array) -> tuple[Array, Array]:
        """Return the same for a randomised policy: any of the other candidates may follow."""
        costs, gains, losses = self.payoffs.planned, self.payoffs.gains, self.payoffs.losses
        rewards, reach = self.payoffs.rewards, self.payoffs.tries
        free = self.payoffs.offered.copy()
        for j in range(i):
            inside = np.flatnonzero(j < self.log.lengths)
            free[inside, self.log.order[inside, j]] = False
        more = np.maximum(reach - i - 1, 0)
        spent = _sum_of_largest(np.where(free, costs, 0.0), more)
        least = np.where(free, _at(rewards, np.maximum(reach - 1, 0))[:, None] + gains, np.inf)
        most = np.where(free, rewards[:, i + 1, None] + gains - costs, -np.inf)
        nothing = _at(losses, reach)
        least = np.minimum(nothing, least.min(axis=1, initial=np.inf)) - spent
        least = np.where(more > 0, least, np.inf)[:, None]
        most = np.where(more > 0, most.max(axis=1, initial=-np.inf), -np.inf)[:, None]
        chances = np.where(free, self.target.choices[:, i, :-1], 0.0)
        same = np.flatnonzero((i < self.tried) & (i < self.log.lengths))
        chances[same, self.log.order[same, i]] = 0.0
        success = rewards[:, i, None] + gains
        worst = np.minimum(np.minimum(success, nothing[:, None]), least) - costs
        best = np.maximum(np.maximum(success, losses[:, i + 1, None]), most) - costs
        best = np.maximum(best, give_up[:, None])
        total, some = chances.sum(axis=1), chances > 0.0
        low = np.where(some, chances * worst, 0.0).sum(axis=1) / total
        return low, np.where(some, chances * best, 0.0).sum(axis=1) / total

    def corrections(self, model: Expected) -> EvidenceArrays:
        """Return what the model expects of the policy, and how the log corrects it.

        ``starts`` is V, and ``deltas`` are r_j + V(after action j) - Q(action j): V of a prefix of
        the log is the policy's mean of Q over the actions that may follow. ``expected`` are the
        second and the fourth moment of sum_j w_j delta_j over all possible outcomes.
        """
        payoffs, width, log = self.payoffs, self.width, self.log
        losses, rewards = payoffs.losses[:, :width], payoffs.rewards[:, :width]
        early = model.stops[:, :width]
        items, chances = self.target.choices[:, :, :-1], model.chances
        gain = chances * payoffs.gains - payoffs.costs
        success = np.einsum("ijc,ic->ij", items, chances)
        margin = np.einsum("ijc,ic->ij", items, gain)
        after = self._after_failure(model, success, margin)
        on = rewards * success + margin + (items.sum(axis=2) - success) * after
        values = self.stop * losses + items.sum(axis=2) * early * losses + (1.0 - early) * on
        # the same of the log's own action
        inside = self.steps < self.lengths
        own = np.where(inside, log.order, 0)
        p, cost = (np.where(inside, _at(table, own), 0.0) for table in (chances, payoffs.costs))
        earned = rewards + np.where(inside, _at(payoffs.gains, own), 0.0) - cost
        on = p * earned + (1.0 - p) * (after - cost)
        actions = np.where(inside, early * losses + (1.0 - early) * on, losses)
        used_up = self.steps == payoffs.tries[:, np.newaxis]  # STOP is certain
        values, actions = np.where(used_up, losses, values), np.where(used_up, losses, actions)
        following = np.hstack([values[:, 1:], np.zeros((self.n, 1))])
        following = np.where(inside, following, 0.0)
        deltas = np.where(self.until, following - actions - log.paid, 0.0)
        ends = self.earned + self.spent[self.rows, self.last] - actions[self.rows, self.last]
        deltas[self.rows, self.last] = ends  # nothing follows the end
        deltas[~self.observed] = 0.0
        going = self.weights * (following - cost - actions)
        moments = self._moments(p, early, earned - actions, losses - actions, going)
        return {"starts": values[:, 0], "deltas": deltas, "expected": moments}

    def _after_failure(self, model: Expected, success: Array, margin: Array) -> Array:
        """Return the value of continuing after one more failure, from each prefix of the log.

        Costs already paid are excluded. A randomised policy is assumed to keep its present
        probabilities, which costs some variance but adds no bias.
        """
        payoffs, target, tries = self.payoffs, self.target, self.payoffs.tries[:, np.newaxis]
        after = np.zeros((self.n, self.width))
        if not target.random:
            played, lengths = (target.sequences[:, 0], target.lengths[:, 0]), target.lengths[:, 0]
            ahead = values_ahead(*played, model.chances, payoffs.costs, payoffs, model.stops)
            shared = min(self.width, ahead.shape[1] - 1)
            after[:, :shared] = ahead[:, 1 : shared + 1]
            return np.where(self.steps < lengths[:, np.newaxis], after, 0.0)
        going = 1.0 - self.stop
        p = np.where(self.stop < 1.0, success / going, 0.0)
        gain = np.where(self.stop < 1.0, margin / going, 0.0)
        after += _at(payoffs.losses, payoffs.tries)[:, np.newaxis]
        for j in range(int(tries.max(initial=0)) - 1, 0, -1):
            loss, early = payoffs.losses[:, j, None], model.stops[:, j, None]
            on = p * payoffs.rewards[:, j, None] + gain + (1.0 - p) * after
            on = early * loss + (1.0 - early) * on
            now = self.stop * loss + going * on
            after = np.where((self.steps < j) & (j < tries), now, after)
        return np.where(self.steps < tries, after, 0.0)

    def _moments(
        self, chances: Array, early: Array, won: Array, lost: Array, going: Array
    ) -> Array:
        weights, noise = self.weights, self.log.noise
        square, fourth = np.zeros(self.n), np.zeros(self.n)
        total, here, spread = np.zeros(self.n), np.ones(self.n), np.zeros(self.n)

        def add(likely: Array, sums: Array) -> None:
            nonlocal square, fourth
            x = np.where(likely > 0.0, sums, 0.0) ** 2
            square = square + likely * (x + spread)
            fourth = fourth + likely * (x * x + 6.0 * x * spread + 3.0 * spread * spread)

        for i in range(self.width):
            inside, w = i < self.log.lengths, weights[:, i]
            stops = np.where(inside, here * early[:, i], np.where(i == self.log.lengths, here, 0.0))
            add(stops, total + w * lost[:, i])
            spread = spread + np.where(inside, noise * w * w, 0.0)
            wins = np.where(inside, (here - stops) * chances[:, i], 0.0)
            add(wins, total + w * won[:, i])
            total = total + np.where(inside, going[:, i], 0.0)
            here = here - stops - wins
        return np.column_stack([square, fourth])


def values_ahead(
    sequences: Indices,
    lengths: Indices,
    chances: Array,
    costs: Array,
    payoffs: RoundPayoffs,
    stops: Array,
) -> Array:
    """Return the value of the rest of each sequence after 0, 1, ... failures.

    Costs already paid are excluded; ``stops`` are the probabilities of an early end.
    """
    losses = payoffs.losses
    values = losses[:, : sequences.shape[1] + 1].copy()
    gains, p, paid = (_at(each, sequences) for each in (payoffs.gains, chances, costs))
    for i in range(sequences.shape[1] - 1, -1, -1):
        earned = p[:, i] * (payoffs.rewards[:, i] + gains[:, i])
        on = earned + (1.0 - p[:, i]) * values[:, i + 1] - paid[:, i]
        on = stops[:, i] * losses[:, i] + (1.0 - stops[:, i]) * on
        values[:, i] = np.where(i < lengths, on, losses[:, i])
    return values


def _modelled(payoffs: RoundPayoffs, model: Expected, target: TargetChoices) -> Array:
    """Return what the model expects of the policy's own sequences, by the whole log."""
    if not target.draws:
        return np.full(len(payoffs.tries), np.nan)
    total = np.zeros(len(payoffs.tries))
    for draw in range(target.draws):
        drawn = target.sequences[:, draw], target.lengths[:, draw]
        ahead = values_ahead(*drawn, model.later, payoffs.planned, payoffs, model.later_stops)
        total += ahead[:, 0]
    return total / target.draws


def _sum_of_largest(costs: Array, count: Indices) -> Array:
    """Return the sum of the largest costs of each row, as many as ``count``."""
    largest = -np.sort(-costs, axis=1)
    chosen = np.arange(costs.shape[1]) < count[:, np.newaxis]
    return np.asarray(np.where(chosen, largest, 0.0).sum(axis=1))
