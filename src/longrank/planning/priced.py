"""Plans of rounds in which candidates have costs and values of their own."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.arrays import Flags, Indices, Vector
from longrank.learners import Learner
from longrank.payoffs import Payoffs
from longrank.planning.contenders import find_contenders
from longrank.planning.round import Greedy, Optimism, Round, scores_of


def plan_priced(learner: Learner, dealt: Round, optimism: Optimism) -> tuple[Greedy, float]:
    """Plan a round; also return what the plan may miss of the optimum, NaN if that is not known.

    Where chances do not depend on those above, by index and dynamic programme, exact where
    ``docs/planning.md`` says; otherwise position by position.
    """
    features, candidates, payoffs, count, _ = dealt
    belief: Any = learner.belief()
    bonus, some = optimism.bonus, None
    if optimism.weights is not None:
        belief = belief._replace(weights=optimism.weights, inverse=np.zeros_like(belief.inverse))
    if features.independent and not features.sparse:
        few = kernels.count_contenders(count) if optimism.foresight else count
        widest = None
        if optimism.looks is not None:
            widest = np.where(optimism.looks, max(bonus, optimism.wide), bonus)
        some = find_contenders(dealt, belief, bonus, few, widest)
    if not features.independent:
        greedy, bound = _plan_rolling(learner, dealt, belief, bonus, None, 0), math.nan
    else:
        if some is None:
            rows, paid = features.rows(candidates), payoffs
        else:
            rows, paid = features.along(candidates, some), payoffs.after(0, some)
            bonus = optimism.subset(some).bonus
        if optimism.looks is not None:
            looks = optimism.looks if some is None else optimism.looks[some]
            bonus = _widen(learner, candidates.marks, rows, optimism, looks)
        left = dealt._replace(payoffs=paid)
        if optimism.foresight:
            greedy = _plan_rolling(learner, left, belief, bonus, rows, optimism.foresight)
            bound = math.nan
        else:
            greedy, bound = _plan_independent(left, belief, bonus, rows)
    order, rows, means, scores = greedy
    if optimism.weights is not None:
        means = learner.belief().score(rows)[0]
    return (order if some is None else some[order], rows, means, scores), bound


def plan_scores(scores: Vector, link: int, payoffs: Payoffs, count: int) -> tuple[Indices, float]:
    """Plan a round by the scores of its candidates: ``count`` of them, the plan first.

    Also returns a bound on what the plan misses of the optimum.
    """
    chances = kernels.probabilities(link, scores)
    order, _, _, bound = kernels.plan(chances, *payoffs.prices(len(scores)), count)
    return order, float(bound)


def _plan_independent(dealt: Round, belief: Any, bonus: Any, rows: Any) -> tuple[Greedy, float]:
    means, widths = belief.score(rows)
    scores = scores_of(means, widths, bonus, belief.ceiling)
    order, bound = plan_scores(scores, belief.link, dealt.payoffs, dealt.tries)
    chosen = None if dealt.features.sparse else rows[order]
    return (order, chosen, means[order], scores[order]), bound


def _plan_rolling(
    learner: Learner, dealt: Round, belief: Any, bonus: Any, rows: Any, foresight: int
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
            learner.observe(_take(rows, order[-1:]), False)
            belief = learner.belief()
        mean_of, width_of = belief.score(looked)
        score_of = scores_of(mean_of, width_of, bonus, belief.ceiling)
        free = np.delete(np.arange(len(score_of)), order)
        rest = payoffs.after(position, free)
        item = int(free[plan_scores(score_of[free], belief.link, rest, count - position)[0][0]])
        means[position], scores[position] = mean_of[item], score_of[item]
        order.append(item)
    chosen = np.array(order, np.int64)
    along = features.along(candidates, chosen) if rows is None else _take(rows, order)
    return chosen, along, means, scores


def _take(rows: NDArray[np.float64], order: list[int]) -> NDArray[np.float64]:
    return np.ascontiguousarray(rows[order], np.float64)


def _widen(
    learner: Learner, marks: Flags, rows: NDArray[np.float64], optimism: Optimism, looks: Flags
) -> Vector:
    """Return the bonus of each candidate, wider for little-known ones that are looked at."""
    bonuses, exact = np.full(len(rows), optimism.bonus), np.ones(len(rows), np.bool_)
    means, widths = learner.belief().score(rows)
    pool = np.ascontiguousarray(rows.T), means, widths**2, exact, bonuses
    settings = optimism.bonus, optimism.wide, marks, learner.prior
    kernels.widen(pool, learner.inverse, looks, settings)
    return bonuses
