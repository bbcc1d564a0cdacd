"""Decisions of a log, many at once: what it says of a policy, and how likely successes were.

Lists of different lengths lie one after another in one array: those of decision i from
``firsts[i]`` up to ``firsts[i + 1]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.laplace import laplace_cascade
from longrank.kernels.link import LOGISTIC, probability

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

_CERTAIN = 1.0 - 1e-9


class Logged(NamedTuple):
    """What was played, and how it ended.

    ``tried`` is -1 where that is not known. ``tries`` is the maximum number of attempts, ``paid``
    what each attempt along the order costs, and ``noise`` the variance of real costs where the
    outcome tells them. ``propensity`` is NaN where it is not known; ``prefix`` is known of those
    that are ``prefixed``.
    """

    firsts: Indices
    order: Indices
    paid: Vector
    prefix: Vector
    prefixed: Flags
    propensity: Vector
    tried: Indices
    succeeded: Flags
    tries: Indices
    noise: Vector


class Worth(NamedTuple):
    """What the candidates of each decision cost and earn, and what positions do.

    ``costs`` are those to expect by what was known before; ``planned`` those to expect by the
    whole log. Decision i has the rewards ``rewards[pay[i]]``; ``losses`` likewise.
    """

    firsts: Indices
    costs: Vector
    planned: Vector
    gains: Vector
    priced: Flags
    pay: Indices
    rewards: Matrix
    losses: Matrix


class Expected(NamedTuple):
    """How likely candidates are to succeed and cascades to end: ``chances`` and ``stops``.

    By what was known before each decision, row ``block[i]`` of ``stops``; and by the whole log,
    the last row.
    """

    chances: Vector
    later: Vector
    stops: Matrix
    block: Indices


class Aims(NamedTuple):
    """What the policy would do: its sequences, and its choices along those of the log.

    Decision i has ``draws`` sequences, of which there is one if ``certain``: then its choices are
    those of the sequence.
    """

    certain: bool
    draws: int
    sequence_firsts: Indices
    sequences: Indices
    reach: Indices
    choice_firsts: Indices
    choices: Vector


class Findings(NamedTuple):
    """What is filled, a row per decision: :class:`longrank.logs.evaluation.evidence.Evidence`."""

    rewards: Vector
    bounds: Matrix
    last: Indices
    matches: Vector
    unsupported: Vector
    starts: Vector
    expected: Matrix
    modelled: Vector
    stops: Vector
    short: Flags
    weights: Matrix
    deltas: Matrix
    masses: Matrix
    earned: Vector
    earnable: Matrix


@compiled
def fit_in_turn(
    weights: Vector,
    inverse: Matrix,
    firsts: Indices,
    rows: Matrix,
    succeeded: Flags,
    begins: Flags,
    saved: Matrix,
    predicted: Vector,
) -> None:
    """Predict the attempts of each decision, then learn them: logistic regression in one pass.

    Where a block ``begins``, its weights are added to ``saved``, of which the first are those of
    the block before; they predict the whole block.
    """
    block = 0
    for i in range(firsts.shape[0] - 1):
        if begins[i]:
            block += 1
            saved[block] = weights
        own = saved[block]
        for j in range(firsts[i], firsts[i + 1]):
            score = 0.0
            for c in range(own.shape[0]):
                score += own[c] * rows[j, c]
            predicted[j] = probability(LOGISTIC, score)
        if firsts[i + 1] > firsts[i]:
            laplace_cascade(
                weights, inverse, rows[firsts[i] : firsts[i + 1]], succeeded[i], 1.0, 0.0
            )


@compiled
def _early(stops: Vector, i: int) -> float:
    return float(stops[i]) if i < stops.shape[0] else 0.0


@compiled
def values_of_sequence(
    sequence: Indices,
    chances: Vector,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
    stops: Vector,
    values: Vector,
) -> None:
    """Fill the value of the rest of a sequence after 0, ..., n failures.

    What was spent before is not counted; ``stops`` is the probability that it is abandoned.
    """
    n = sequence.shape[0]
    values[n] = losses[n]
    for i in range(n - 1, -1, -1):
        item = sequence[i]
        p, early = chances[item], _early(stops, i)
        further = p * (rewards[i] + gains[item]) + (1.0 - p) * values[i + 1] - costs[item]
        values[i] = early * losses[i] + (1.0 - early) * further


@compiled
def _follow(sequence: Indices, order: Indices, choices: Matrix) -> None:
    """Fill the choices of somebody who plays exactly ``sequence``, along ``order``."""
    s, n, stop = sequence.shape[0], order.shape[0], choices.shape[1] - 1
    for i in range(n + 1):
        choices[i, sequence[i] if i < s else stop] = 1.0
        if i >= min(s, n) or sequence[i] != order[i]:
            break


@compiled
def _weigh(
    choices: Matrix,
    reached: Vector,
    prefix: Vector,
    prefixed: bool,
    propensity: float,
    last: int,
    steps: Vector,
    masses: Vector,
    stopping: Vector,
) -> float:
    """Fill weights and masses after every action; return what the log could not have done.

    ``stopping`` is the mass of stopping after each prefix. See
    :class:`longrank.logs.evaluation.evidence.Evidence`.
    """
    n, stop = prefix.shape[0], choices.shape[1] - 1
    for j in range(n + 1):
        steps[j], masses[j], stopping[j] = 0.0, 0.0, 0.0
    if np.isnan(propensity):
        return 0.0
    if not prefixed:  # only that of the whole sequence is known
        for j in range(n + 1):
            steps[j] = masses[j] = reached[n + 1] / propensity
        return float(1.0 - reached[n + 1]) if propensity >= _CERTAIN else 0.0
    before, lost, stopped = 1.0, 0.0, 0.0
    for j in range(n + 1):
        here = prefix[j] if j < n else propensity
        steps[j] = reached[j + 1] / here
        stopping[j] = reached[j] / before * choices[j, stop]
        stopped += stopping[j]
        masses[j] = stopped
        other = reached[j] * (1.0 - choices[j, stop])
        if j < n:
            masses[j] += steps[j]
            other -= reached[j + 1]  # with an item other than the log's
        if j <= last and here >= before * _CERTAIN:  # the log had no alternative here
            lost += other
        before = here
    return max(lost, 0.0)


@compiled
def _earnable(
    tries: int, priced: bool, costs: Vector, gains: Vector, rewards: Vector, losses: Vector
) -> tuple[float, float]:
    """Return the least and the most that a decision can earn."""
    least, most = losses[0], losses[0]
    low, high = np.inf, -np.inf
    for i in range(tries):
        least, most = min(least, losses[i + 1]), max(most, losses[i + 1])
        low, high = min(low, rewards[i]), max(high, rewards[i])
    if tries == 0:
        return least, most
    if not priced or costs.shape[0] == 0:
        return min(least, low), max(most, high)
    dearest, spent = np.sort(-costs), 0.0
    for i in range(min(tries, dearest.shape[0])):
        spent -= dearest[i]
    worst = low + gains.min()
    best = high + (gains - costs).max()
    return min(least, worst) - spent, max(most, best)


@compiled
def _extremes_certain(
    sequence: Indices,
    i: int,
    give_up: float,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
) -> tuple[float, float]:
    """Return the least and the most that can follow the i-th item of a sequence."""
    n, spent = sequence.shape[0], 0.0
    worst, best = np.inf, -np.inf
    for j in range(i, n):
        item = sequence[j]
        spent += costs[item]
        won = rewards[j] + gains[item] - spent
        worst, best = min(worst, won), max(best, won)
        if j == i:
            best = max(best, losses[i + 1] - spent)
    return min(worst, float(losses[n]) - spent), max(best, give_up)


@compiled
def _extremes_random(
    choices: Vector,
    order: Indices,
    i: int,
    tried: int,
    reach: int,
    give_up: float,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
) -> tuple[float, float]:
    """Return the same of a randomised policy: any of the other candidates may follow."""
    k = costs.shape[0]
    free = np.ones(k, np.bool_)
    for j in range(i):
        free[order[j]] = False
    more = reach - i - 1
    least, most, spent = np.inf, -np.inf, 0.0
    if more > 0:
        prices = np.sort(-costs[free])
        for j in range(min(more, prices.shape[0])):
            spent -= prices[j]
        for c in range(k):
            if free[c]:
                least = min(least, rewards[reach - 1] + gains[c])
                most = max(most, rewards[i + 1] + gains[c] - costs[c])
        least = min(losses[reach], least) - spent
    total, low, high = 0.0, 0.0, 0.0
    for c in range(k):
        chance = choices[c] if free[c] and not (i < tried and c == order[i]) else 0.0
        if chance == 0.0:
            continue
        success = rewards[i] + gains[c]
        worst = min(success, losses[reach], least) - costs[c]
        best = max(max(success, losses[i + 1], most) - costs[c], give_up)
        total += chance
        low += chance * worst
        high += chance * best
    return low / total, high / total


@compiled
def _bound(
    choices: Matrix,
    order: Indices,
    tried: int,
    succeeded: bool,
    observed: bool,
    reward: float,
    paid: Vector,
    certain: bool,
    sequence: Indices,
    reach: int,
    priced: bool,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
) -> tuple[float, float, float]:
    """Bound what the policy can have earned, and how likely that is to be exact.

    Of a decision without an outcome it is not known what succeeded: ``tried`` is 0 then.
    """
    stop_at = choices.shape[1] - 1
    low, high, exact, here, spent = 0.0, 0.0, 0.0, 1.0, 0.0
    for i in range(tried + 1):
        loss = losses[i] - spent
        if observed and i == tried and i < order.shape[0]:  # an early stop ends both sequences
            return low + here * loss, high + here * loss, exact + here
        stop = choices[i, stop_at]
        same = choices[i, order[i]] if i < tried else 0.0
        other = 1.0 - stop - same
        low += here * stop * loss
        high += here * stop * loss
        if other > 1e-12:
            give_up = losses[i] if i == tried else -np.inf  # it may have ended by itself here
            if not priced:
                worst, best = losses[reach], rewards[i]
            elif certain:
                worst, best = _extremes_certain(sequence, i, give_up, costs, gains, rewards, losses)
            else:
                worst, best = _extremes_random(
                    choices[i], order, i, tried, reach, give_up, costs, gains, rewards, losses
                )
            low += here * other * (worst - spent)
            high += here * other * (best - spent)
        exact += here * stop
        here *= same
        if here == 0.0:
            break
        if succeeded and i + 1 == tried:
            return low + here * reward, high + here * reward, exact + here
        if i < tried:
            spent += paid[i]
    return low, high, exact


@compiled
def _continue(
    choices: Matrix,
    n: int,
    tries: int,
    chances: Vector,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
    stops: Vector,
    after: Vector,
) -> None:
    """Fill the value left after one more failure, from each prefix of the log on.

    What was spent until then is not counted. The later choices of a randomised policy are taken
    to be those that it has now, which costs some variance but no bias.
    """
    k = chances.shape[0]
    for i in range(min(n + 1, tries)):
        stop, p, gain = choices[i, k], 0.0, 0.0
        if stop < 1.0:
            for c in range(k):
                p += choices[i, c] * chances[c]
                gain += choices[i, c] * (chances[c] * gains[c] - costs[c])
            p, gain = p / (1.0 - stop), gain / (1.0 - stop)
        value = losses[tries]
        for j in range(tries - 1, i, -1):
            on = p * rewards[j] + gain + (1.0 - p) * value
            early = _early(stops, j)
            on = early * losses[j] + (1.0 - early) * on
            value = stop * losses[j] + (1.0 - stop) * on
        after[i] = value


@compiled
def _appraise(
    choices: Matrix,
    order: Indices,
    tries: int,
    after: Vector,
    chances: Vector,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
    stops: Vector,
    values: Vector,
    actions: Vector,
) -> None:
    """Fill V after each prefix of the log, and Q of the action that follows it there."""
    n, k = order.shape[0], chances.shape[0]
    values[n + 1] = 0.0
    for i in range(n + 1):
        loss = losses[i]
        if i == tries:  # the budget is used up: STOP is certain
            values[i], actions[i] = loss, loss
            continue
        early, mean = _early(stops, i), choices[i, k] * loss
        actions[i] = loss
        for c in range(k):
            own = i < n and c == order[i]
            if choices[i, c] == 0.0 and not own:
                continue
            on = chances[c] * (rewards[i] + gains[c]) - costs[c] + (1.0 - chances[c]) * after[i]
            going = early * loss + (1.0 - early) * on
            mean += choices[i, c] * going
            if own:
                actions[i] = going
        values[i] = mean


@compiled
def _moments(
    order: Indices,
    steps: Vector,
    values: Vector,
    actions: Vector,
    noise: float,
    chances: Vector,
    costs: Vector,
    gains: Vector,
    rewards: Vector,
    losses: Vector,
    stops: Vector,
) -> tuple[float, float]:
    """Return the second and fourth moment of sum_j w_j delta_j over all possible outcomes.

    ``noise`` is the variance that the real costs of an attempt add.
    """
    n = order.shape[0]
    square, fourth, total, here, spread = 0.0, 0.0, 0.0, 1.0, 0.0
    for i in range(n):
        item, w = order[i], steps[i]
        stop = here * _early(stops, i)
        won = (here - stop) * chances[item]
        x = (total + w * (losses[i] - actions[i])) ** 2
        square += stop * (x + spread)
        fourth += stop * (x * x + 6.0 * x * spread + 3.0 * spread * spread)
        spread += noise * w * w
        earned = rewards[i] + gains[item] - costs[item]
        x = (total + w * (earned - actions[i])) ** 2
        square += won * (x + spread)
        fourth += won * (x * x + 6.0 * x * spread + 3.0 * spread * spread)
        total += w * (values[i + 1] - costs[item] - actions[i])
        here -= stop + won
    x = float((total + steps[n] * (losses[n] - actions[n])) ** 2)
    square += here * (x + spread)
    fourth += here * (x * x + 6.0 * x * spread + 3.0 * spread * spread)
    return square, fourth


@compiled
def weigh_decisions(
    log: Logged, worth: Worth, model: Expected, aims: Aims, found: Findings
) -> None:
    """Fill what each decision of a log says about a policy.

    Of a decision without an outcome that is its support, and what the model expects.
    """
    wide = int((worth.firsts[1:] - worth.firsts[:-1]).max())
    longest = int((log.firsts[1:] - log.firsts[:-1]).max())
    furthest = int((aims.sequence_firsts[1:] - aims.sequence_firsts[:-1]).max())
    table = np.zeros((longest + 1, wide + 1))
    reached, steps = np.ones(longest + 2), np.zeros(longest + 1)
    masses, stopping = np.zeros(longest + 1), np.zeros(longest + 1)
    after, values, actions = np.zeros(longest + 1), np.zeros(longest + 2), np.zeros(longest + 1)
    ahead = np.zeros(furthest + 1)
    finally_ = model.stops[model.stops.shape[0] - 1]
    width = found.weights.shape[1]
    for i in range(log.tried.shape[0]):
        order = log.order[log.firsts[i] : log.firsts[i + 1]]
        paid = log.paid[log.firsts[i] : log.firsts[i + 1]]
        prefix = log.prefix[log.firsts[i] : log.firsts[i + 1]]
        a, b = worth.firsts[i], worth.firsts[i + 1]
        costs, planned, gains = worth.costs[a:b], worth.planned[a:b], worth.gains[a:b]
        chances, later = model.chances[a:b], model.later[a:b]
        rewards, losses = worth.rewards[worth.pay[i]], worth.losses[worth.pay[i]]
        stops, n, k = model.stops[model.block[i]], order.shape[0], b - a
        tries, observed = log.tries[i], log.tried[i] >= 0
        tried, succeeded = log.tried[i], log.succeeded[i]
        last = tried - succeeded
        if not observed:
            tried, succeeded, last = 0, False, n
        found.last[i], found.short[i] = last, n < tries

        earned = losses[tried]
        if succeeded:
            earned = rewards[tried - 1] + gains[order[tried - 1]]
        for j in range(tried):
            earned -= paid[j]
        found.rewards[i] = earned if observed else np.nan

        s = i * aims.draws
        sequence = aims.sequences[aims.sequence_firsts[s] : aims.sequence_firsts[s + 1]]
        choices = table[: n + 1, : k + 1]
        choices[:, :] = 0.0
        if aims.certain:
            _follow(sequence, order, choices)
        else:
            at = aims.choice_firsts[i]
            for j in range(n + 1):
                for c in range(k + 1):
                    choices[j, c] = aims.choices[at]
                    at += 1
        for j in range(n + 1):
            reached[j + 1] = reached[j] * choices[j, order[j] if j < n else k]
        found.matches[i] = reached[n + 1]
        found.unsupported[i] = _weigh(
            choices, reached, prefix, log.prefixed[i], log.propensity[i], last, steps, masses,
            stopping,
        )  # fmt: skip
        gained = 0.0
        if observed and not np.isnan(log.propensity[i]):
            if log.prefixed[i]:
                spent = 0.0
                for j in range(last + 1):
                    gained += stopping[j] * (losses[j] - spent)
                    if j < n:
                        spent += paid[j]
                if last < n:  # a success, or an early stop, at an item that it may have played
                    gained += steps[last] * earned
            else:
                gained = steps[0] * earned
        found.earned[i] = gained
        if not observed and not np.isnan(log.propensity[i]):
            found.earned[i] = np.nan
        least, most = _earnable(tries, worth.priced[i], planned, gains, rewards, losses)
        found.earnable[i, 0], found.earnable[i, 1] = least, most
        stopped = 0.0
        for j in range(min(last + 1, tries)):
            stopped += reached[j] * choices[j, k]
        found.stops[i] = stopped

        low, high, exact = _bound(
            choices, order, tried, succeeded, observed, earned, paid, aims.certain, sequence,
            aims.reach[i], worth.priced[i], planned, gains, rewards, losses,
        )  # fmt: skip
        found.bounds[i, 0], found.bounds[i, 1], found.bounds[i, 2] = low, high, exact

        for j in range(n + 1):
            after[j] = 0.0
        if aims.certain:
            values_of_sequence(sequence, chances, costs, gains, rewards, losses, stops, ahead)
            for j in range(min(n + 1, sequence.shape[0])):
                after[j] = ahead[j + 1]
        else:
            _continue(choices, n, tries, chances, costs, gains, rewards, losses, stops, after)
        _appraise(
            choices, order, tries, after, chances, costs, gains, rewards, losses, stops,
            values, actions,
        )  # fmt: skip
        found.starts[i] = values[0]
        for j in range(width):
            found.weights[i, j] = steps[min(j, n)]
            found.masses[i, j] = masses[min(j, n)]
            found.deltas[i, j] = 0.0
        if observed:
            spent = 0.0
            for j in range(last):
                found.deltas[i, j] = values[j + 1] - actions[j] - paid[j]
                spent += paid[j]
            found.deltas[i, last] = earned + spent - actions[last]  # nothing follows the end
        square, fourth = _moments(
            order, steps, values, actions, log.noise[i], chances, costs, gains, rewards, losses,
            stops,
        )  # fmt: skip
        found.expected[i, 0], found.expected[i, 1] = square, fourth

        total = 0.0
        for draw in range(aims.draws):
            first, end = aims.sequence_firsts[s + draw], aims.sequence_firsts[s + draw + 1]
            values_of_sequence(
                aims.sequences[first:end], later, planned, gains, rewards, losses, finally_, ahead
            )
            total += ahead[0]
        found.modelled[i] = total / aims.draws if aims.draws else np.nan
