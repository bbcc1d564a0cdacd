"""The exact optimum of the dependent model, for small sets.

p(x | S) depends on S only as a set, and only failure goes on, so
W(S) = max(l_|S|, max over x of p(x|S) r_(|S|+1) + (1 - p(x|S)) W(S + x)) is exact over subsets.
Where x has a cost and a value they join r, and where a cascade may end by itself, W(S + x) becomes
(1 - q) l_|S+x| + q W(S + x).
"""

import math

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.arrays import Indices
from longrank.errors import InvalidInput
from longrank.learners import Learner
from longrank.planning.round import Round

MAX_SUBSETS = 1_000_000


def best_dependent(dealt: Round, truth: Learner) -> Indices:
    """Find ``count`` items that begin with the sequence of the largest expected reward.

    After the items that are worth trying it goes on greedily, so that the value of every length
    can be told. At equal value going on wins over stopping, and the lower index over a higher one.
    """
    k, count = len(dealt.candidates), dealt.tries
    subsets = sum(math.comb(k, size) for size in range(count + 1))
    if subsets > MAX_SUBSETS:
        rule = f"allow at most {MAX_SUBSETS:,} subsets for the exact search"
        raise InvalidInput("items and budget", rule, f"{subsets:,} ({k} items, budget {count})")
    search = _Search(dealt, truth)
    search.visit(0, [])
    order: list[int] = []
    while len(order) < count:
        item = search.choice.get(sum(1 << i for i in order), -1)
        order.append(item if item >= 0 else search.likeliest(order))
    return np.array(order, np.int64)


class _Search:
    """Depth first over sets (as bit masks), likeliest item first, with memory and pruning."""

    def __init__(self, dealt: Round, truth: Learner) -> None:
        self.features, self.candidates, payoffs, self.count, _ = dealt
        self.truth = truth
        self.costs, self.values, self.rewards, self.losses, self.patience = payoffs.prices(
            len(self.candidates)
        )
        self.worth: dict[int, float] = {}  # W of a set
        self.choice: dict[int, int] = {}  # what to try next after it failed; -1 is to stop
        u = truth.weights
        self.rising = np.maximum(u, 0.0)
        self.relief = float(np.maximum(-u, 0.0).sum()) / math.sqrt(len(u))

    def visit(self, members: int, prefix: list[int]) -> float:
        """W of a set of items that were tried and failed; ``prefix`` lists them."""
        if members in self.worth:
            return self.worth[members]
        tried = len(prefix)
        value, choice = float(self.losses[tried]), -1
        if tried < self.count:
            free, rows = self.rows(prefix)
            p = self.truth.link.probability(rows @ self.truth.weights)
            rest = self.bound(rows, tried + 1)
            for at in np.argsort(-p, kind="stable"):
                item = free[at]
                reward = p[at] * (self.rewards[tried] + self.values[item]) - self.costs[item]
                if reward + (1.0 - p[at]) * self.after_failure(rest, tried) < value:
                    continue  # not even the best conceivable rest makes it win
                further = self.visit(members | 1 << item, [*prefix, item])
                worth = reward + (1.0 - p[at]) * self.after_failure(further, tried)
                if worth > value or (worth == value and not 0 <= choice < item):
                    value, choice = float(worth), item
        self.worth[members], self.choice[members] = value, choice
        return value

    def after_failure(self, value: float, tried: int) -> float:
        """What a failure is worth where going on would be worth ``value``."""
        if self.patience == 1.0:
            return value
        return (1.0 - self.patience) * float(self.losses[tried + 1]) + self.patience * value

    def rows(self, prefix: list[int]) -> tuple[list[int], NDArray[np.float64]]:
        """The free items, and how each looks after the prefix."""
        free = [i for i in range(len(self.candidates)) if i not in prefix]
        along = self.features.along
        return free, np.stack([along(self.candidates, np.array([*prefix, i]))[-1] for i in free])

    def likeliest(self, prefix: list[int]) -> int:
        free, rows = self.rows(prefix)
        return free[int(np.argmax(rows @ self.truth.weights))]

    def bound(self, rows: NDArray[np.float64], tried: int) -> float:
        """At least W of every set with one item more, ``tried`` in all.

        Gains of coverage only shrink. So with u_i >= 0 the present gain is the most that topic i
        will ever add, and with u_i < 0 no gain at all is. With these probabilities the problem is
        an independent one, which sorting solves, with the least cost and the largest value for all.
        """
        best = np.sort(self.truth.link.probability(rows @ self.rising + self.relief))[::-1]
        last = min(self.count, tried + len(best) - 1)
        paid = self.costs.min() * np.arange(last - tried + 1)
        rewards = self.rewards[tried:last] + self.values.max() - paid[1:]
        losses = self.losses[tried : last + 1] - paid
        return float(kernels.best_stop(best[: last - tried], rewards, losses, self.patience)[1])
