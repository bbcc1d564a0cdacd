"""Plans of rounds in which candidates have costs and values of their own."""

import copy
import math
from typing import Any

import numpy as np

from longrank import kernels
from longrank.arrays import Flags, Indices, Vector
from longrank.learners import Blocks, Learner
from longrank.learners.base import Belief
from longrank.payoffs import Payoffs
from longrank.planning.contenders import find_contenders
from longrank.planning.round import Greedy, Optimism, Round, belief_of
from longrank.rows import SparseRows


def plan_priced(learner: Learner, dealt: Round, optimism: Optimism) -> tuple[Greedy, float]:
    """Plan a round; also return what the plan may miss of the optimum, NaN if that is not known.

    Where chances do not depend on those above, by index and dynamic programme, exact where
    ``docs/planning.md`` says; otherwise position by position.
    """
    features, candidates, payoffs, count, _ = dealt
    belief: Any = belief_of(learner, dealt)
    foresight, some, numbers = optimism.foresight, None, candidates
    if optimism.weights is not None:
        belief = belief._replace(weights=optimism.weights, inverse=np.zeros_like(belief.inverse))
    if isinstance(learner, Blocks):  # narrowed down and foreseen if all is in the dense block
        numbers = None if len(candidates.rows.plan.left) else candidates.numbers
        foresight = 0 if numbers is None else foresight
    if features.independent and numbers is not None:
        few = kernels.count_contenders(count) if foresight else count
        bonus, widest = optimism.bonus, None
        if optimism.looks is not None:
            widest = np.where(optimism.looks, max(bonus, optimism.wide), bonus)
        dense = Belief(belief.weights, belief.inverse, belief.ceiling, belief.link)
        some = find_contenders(dealt._replace(candidates=numbers), dense, bonus, few, widest)
    if not features.independent:
        greedy, bound = _plan_rolling(learner, dealt, belief, optimism, None, 0), math.nan
    else:
        if some is None:
            rows, paid = features.rows(candidates), payoffs
        else:
            rows, paid = features.along(candidates, some), payoffs.after(0, some)
            optimism = optimism.subset(some)
        parts = belief.parts(rows) if isinstance(rows, SparseRows) else None
        if optimism.looks is not None and parts is not None:
            optimism = _widen(belief, candidates.numbers.marks, rows, parts, optimism)
        left = dealt._replace(payoffs=paid)
        if foresight:
            greedy = _plan_rolling(learner, left, belief, optimism, rows, foresight)
            bound = math.nan
        else:
            greedy, bound = _plan_independent(left, belief, optimism, rows, parts)
    order, rows, means, scores = greedy
    if optimism.weights is not None:
        means = learner.score(rows)[0]
    return (order if some is None else some[order], rows, means, scores), bound


def plan_scores(scores: Vector, link: int, payoffs: Payoffs, count: int) -> tuple[Indices, float]:
    """Plan a round by the scores of its candidates: ``count`` of them, the plan first.

    Also returns a bound on what the plan misses of the optimum.
    """
    chances = kernels.probabilities(link, scores)
    order, _, _, bound = kernels.plan(chances, *payoffs.prices(len(scores)), count)
    return order, float(bound)


def _plan_independent(
    dealt: Round, belief: Any, optimism: Optimism, rows: Any, parts: Any
) -> tuple[Greedy, float]:
    means, scores = optimism.score(belief, rows, parts)
    order, bound = plan_scores(scores, belief.link, dealt.payoffs, dealt.tries)
    chosen = None if dealt.features.sparse else rows[order]
    return (order, chosen, means[order], scores[order]), bound


def _plan_rolling(
    learner: Learner, dealt: Round, belief: Any, optimism: Optimism, rows: Any, foresight: int
) -> Greedy:
    """Plan as if chances stayed as they are, keep the first try, and plan the rest anew.

    Each position is planned with what is then known: how the remaining candidates look below those
    above (``rows`` is None where that changes), and up to ``foresight`` failures what would be
    believed after them.
    """
    features, candidates, payoffs, count, _ = dealt
    order: list[int] = []
    means, scores = np.empty(count), np.empty(count)
    for position in range(count):
        looked = features.next_rows(candidates, order) if rows is None else rows
        if 0 < position <= foresight:
            learner = copy.deepcopy(learner) if position == 1 else learner
            learner.observe(rows.take(order[-1:]), False)
            belief = belief_of(learner, dealt)
        mean_of, score_of = optimism.score(belief, looked)
        free = np.delete(np.arange(len(score_of)), order)
        rest = payoffs.after(position, free)
        item = int(free[plan_scores(score_of[free], belief.link, rest, count - position)[0][0]])
        means[position], scores[position] = mean_of[item], score_of[item]
        order.append(item)
    chosen = np.array(order, np.int64)
    along = features.along(candidates, chosen) if rows is None else rows.take(order)
    return chosen, along, means, scores


def _widen(
    belief: Any,
    marks: Flags,
    rows: SparseRows,
    parts: tuple[Vector, Vector, Vector],
    optimism: Optimism,
) -> Optimism:
    """Widen the bonus of little-known candidates that are looked at."""
    (means, squares, others), size, looks = parts, len(rows), optimism.looks
    assert looks is not None
    bonuses, draws = np.full(size, optimism.bonus), optimism.draws
    draws = np.zeros(size) if draws is None else draws
    columns = np.ascontiguousarray(rows.block(len(belief.weights)).T)
    exact = np.ones(size, np.bool_)
    pool = columns, means, squares, exact, bonuses, others, draws * draws * others
    kernels.widen(pool, belief.inverse, looks, (optimism.bonus, optimism.wide, marks, belief.prior))
    return optimism._replace(bonus=bonuses, draws=draws)
