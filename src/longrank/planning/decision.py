"""One decision: scores, an order, its best length, and the receipt."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.arrays import Indices, Vector
from longrank.decision import Ranking
from longrank.features import Coverage, Records
from longrank.features.plain import Unchecked
from longrank.features.tabular import NOTHING
from longrank.learners import Blocks, Learner
from longrank.learners.base import Belief
from longrank.payoffs import Payoffs
from longrank.planning.contenders import LARGE, find_best, find_looked_at
from longrank.planning.priced import plan_priced
from longrank.planning.round import Greedy, Optimism, Round, belief_of, scores_of
from longrank.rows import SparseRows


def decide(learner: Learner, dealt: Round, optimism: Optimism) -> Ranking:
    """Choose the order and the length that are best by the scores, and make the receipt."""
    features, bonus = dealt.features, optimism.bonus
    bound = math.nan
    if dealt.payoffs.costs is not None:
        greedy, bound = plan_priced(learner, dealt, optimism)
        dealt = _pays(dealt)
    elif features.sparse:
        return _decide_blocks(learner, dealt, optimism)
    elif optimism.weights is not None or not features.independent:
        greedy = _greedy(learner, dealt, optimism)
    elif isinstance(bonus, np.ndarray):
        greedy = _by_scores(learner, dealt, optimism)
    else:
        return _decide_plain(learner, dealt, bonus)
    return _finish(learner, dealt, greedy, bound, optimism.words)


def follow(learner: Learner, dealt: Round, order: Indices, bound: float = math.nan) -> Ranking:
    """Play a given order for as long as that pays by its means.

    ``bound`` is what the best length of this order may miss of the optimum.
    """
    rows = dealt.features.along(dealt.candidates, order)
    means, _ = belief_of(learner, dealt).score(rows)
    return _finish(learner, dealt, (order, rows, means, means), bound)


def _pays(dealt: Round) -> Round:
    """Make no probe where not even a certain success would pay."""
    if not dealt.minimum:
        return dealt
    costs, values, rewards, losses, _ = dealt.payoffs.prices(len(dealt.candidates))
    pays = (rewards[0] + values - costs > losses[0]).any()
    return dealt if pays else dealt._replace(minimum=0)


def _greedy(learner: Learner, dealt: Round, optimism: Optimism) -> Greedy:
    """Choose position by position, by drawn weights or where rows depend on those above."""
    features, candidates, _, count, _ = dealt
    belief, bonus = learner.belief(), optimism.bonus
    if optimism.weights is None:
        return _by_position(dealt, belief, bonus)
    certain = belief._replace(weights=optimism.weights, inverse=np.zeros_like(belief.inverse))
    if features.independent:
        order, rows, _, scores = find_best(features.rows(candidates), certain, 0.0, count)
    else:
        order, rows, _, scores = _by_position(dealt, certain, 0.0)
    return order, rows, belief.score(rows)[0], scores


def _by_position(dealt: Round, belief: Belief, bonus: float) -> Greedy:
    """Choose the best item at each position, given those above it."""
    features, candidates, _, count, _ = dealt
    if isinstance(features, Coverage) and features.gain is None:
        weights, inverse, ceiling, _ = belief
        return kernels.greedy_coverage(candidates, weights, inverse, bonus, ceiling, count)
    order, means, scores = np.empty(count, np.int64), np.empty(count), np.empty(count)
    chosen: list[int] = []
    for position in range(count):
        mean_of, width_of = belief.score(features.next_rows(candidates, chosen))
        score_of = scores_of(mean_of, width_of, bonus, belief.ceiling)
        score_of[chosen] = -math.inf
        best = int(np.argmax(score_of))
        order[position], means[position], scores[position] = best, mean_of[best], score_of[best]
        chosen.append(best)
    return order, features.along(candidates, order), means, scores


def _by_scores(learner: Learner, dealt: Round, optimism: Optimism) -> Greedy:
    """Choose by scores whose bonuses differ."""
    rows = dealt.features.rows(dealt.candidates)
    means, scores = optimism.score(learner.belief(), rows)
    order = kernels.top(scores, dealt.tries)
    return order, np.ascontiguousarray(rows[order], np.float64), means[order], scores[order]


def _bonuses(optimism: Optimism, size: int) -> Vector:
    bonus = optimism.bonus
    return bonus if isinstance(bonus, np.ndarray) else np.full(size, bonus)


def _decide_plain(learner: Learner, dealt: Round, bonus: float) -> Ranking:
    """Decide by sorting, in one call of a kernel."""
    features, candidates, payoffs, count, minimum = dealt
    rows = features.rows(candidates)
    if rows.size >= LARGE:
        checked = not isinstance(candidates, Unchecked)
        return _finish(learner, dealt, find_best(rows, learner.belief(), bonus, count, checked))
    chosen, numbers, last = _last(learner, payoffs, minimum, count, learner.dim)
    length = kernels.decide_plain(
        rows, learner.weights, learner.inverse, bonus, learner.link.ceiling, last
    )
    ranking = Ranking.from_buffer(chosen[:length], numbers, learner.dim)
    return ranking.planned(payoffs.patience)


def _decide_blocks(learner: Learner, dealt: Round, optimism: Optimism) -> Ranking:
    """Decide by the dense block and the sparse columns, in one call of a kernel."""
    features, candidates, payoffs, count, minimum = dealt
    assert isinstance(features, Records)
    rows, numbers, size, dim = candidates.rows, candidates.numbers, candidates.size, candidates.dim
    assert isinstance(learner, Blocks)
    belief, some = learner.belief(dim), None
    plan, labels = features.labels(candidates)
    items, view = (
        (np.empty((size, 0)), NOTHING) if numbers is None else (numbers.items, numbers.view)
    )
    marks = np.zeros(dim, np.bool_) if numbers is None else numbers.marks
    looks = np.zeros(size, np.bool_) if optimism.looks is None else optimism.looks
    alike = not isinstance(optimism.bonus, np.ndarray)
    settings = optimism.bonus if alike else 0.0, optimism.wide, marks, learner.prior
    few = kernels.CONTENDERS
    if numbers is not None and size > few and alike and not len(plan.left):
        few = kernels.count_contenders(count)
        if size > few:
            some = find_looked_at(numbers, looks, belief, settings, few)
            items, looks, optimism = items[some], looks[some], optimism.subset(some)
            rows = rows.take(some)
    bonuses = _bonuses(optimism, len(items))
    draws = np.abs(bonuses) if optimism.draws is None else optimism.draws
    chosen, filled, last = _last(learner, payoffs, minimum, count, dim)
    given = items, view, belief.weights, belief.inverse, looks, settings
    foresight = optimism.foresight if dim else 0
    atoms = rows.keys, rows.numbers, (rows.context_keys, rows.context_numbers)
    table = atoms, plan[:3], belief.table, (plan.labels, labels, len(plan.names))
    length, keys, own, added = kernels.decide_blocks(
        *given, foresight, *table, bonuses, draws, last
    )
    order, best = chosen[:length], None
    if candidates.records is not None:
        best = rows.but(keys=keys, numbers=own, raw=rows.raw[order], items=None), added
    if some is not None:
        chosen[:] = some[chosen]
    return _receipt(learner, dealt, order, filled, words=optimism.words, best=best)


def _finish(
    learner: Learner, dealt: Round, greedy: Greedy, bound: float = math.nan, words: str = ""
) -> Ranking:
    """Truncate an order at the best length by its scores, at least ``minimum`` items."""
    order, rows, means, scores = greedy
    payoffs, minimum = dealt.payoffs, dealt.minimum
    paid = payoffs.along(order) if payoffs.has_prices else payoffs
    if learner.sparse:
        along: Any = dealt.features.along(dealt.candidates, order)
        rows = along.block(dealt.candidates.dim)
    chosen, numbers, last = _last(learner, paid, minimum, len(order), rows.shape[1])
    length = kernels.decide(order, rows, means, scores, last)
    if minimum and payoffs.has_prices:
        values = numbers[2 * len(order) : 3 * len(order) + 1]
        bound += float(values.max()) - float(values[length])
    return _receipt(learner, dealt, chosen[:length], numbers, bound, words)


def _last(
    learner: Learner, payoffs: Payoffs, minimum: int, count: int, dim: int
) -> tuple[Any, ...]:
    """Return what :func:`longrank.kernels.decide` fills, and its last argument, which has both.

    It fills an order of ``count`` tries, and the numbers of a receipt with rows of length ``dim``.
    """
    chosen, numbers = np.empty(count, np.int64), np.empty(count * (3 + dim) + 1)
    rewards, losses, link = payoffs.rewards, payoffs.losses, learner.link.code
    return chosen, numbers, (rewards, losses, link, minimum, chosen, numbers, payoffs.patience)


def _receipt(
    learner: Learner,
    dealt: Round,
    order: Indices,
    numbers: Vector,
    bound: float = math.nan,
    words: str = "",
    best: tuple[SparseRows, NDArray[np.float64]] | None = None,
) -> Ranking:
    """Wrap the numbers of a decision; ``best`` are the rows chosen and what speaks for them."""
    features, candidates, payoffs = dealt.features, dealt.candidates, dealt.payoffs
    names, dim, sample = None, learner.dim, None
    if isinstance(features, Records):
        dim, sample = candidates.dim, candidates.sample
        if best is None and candidates.records is not None:
            rows = features.along(candidates, order)
            best = rows, belief_of(learner, dealt).contributions(rows, *features.labels(candidates))
        if best is not None:
            names = features.name(candidates, order, *best)
    ranking = Ranking.from_buffer(order, numbers, dim, names)
    ranking.planned(payoffs.patience, words, sample)
    return ranking if payoffs.costs is None else ranking.at_prices(payoffs, bound)
