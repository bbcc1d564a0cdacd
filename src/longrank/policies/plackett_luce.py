"""Plackett-Luce: random sequences with exact propensities, for logs that support evaluation."""

import math
import sys
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.arrays import Indices, Order
from longrank.contents import real
from longrank.decision import Ranking
from longrank.features import Features
from longrank.learners import Learner
from longrank.payoffs import Payoffs
from longrank.planning import Round, follow
from longrank.policies.base import Candidates, Context, saved_generator
from longrank.policies.learning import LearningPolicy
from longrank.policies.randomised import Choices, Randomised
from longrank.schema import positions

_CLIP = kernels.LEAST
_Vector = NDArray[np.float64]


class PlackettLuce(LearningPolicy, Randomised):
    """Draw each next action, an item or STOP, with probability proportional to
    exp(log-odds / temperature), until STOP is drawn.

    The log-odds of an item are those of its estimated probability of success, given the items
    above it. The log-odds of STOP are those of the break-even: the probability that the next item
    would need for another attempt to be just as good as giving up now, if the best remaining ones
    follow. So STOP competes with the items on their own scale. It is impossible if further
    attempts are free, and certain if none can pay or the budget is used up. A temperature near 0
    is greedy; a high one tries everything. If items have individual costs and values, the log-odds
    of each are measured from those of the probability it would need to be as good as the best one,
    so near 0 the result is the best plan.

    Every other sequence has a positive probability. It is known exactly, including the length
    (:meth:`propensity`), so the log supports the estimates of ``longrank.logs``.

    Parameters
    ----------
    learner
        The belief.
    features
        How an item is represented, given those above it.
    temperature
        How random the sequences are, above 0.
    rng
        The random generator, or its seed.
    patient
        Whether to learn the probability that a cascade continues after a failure from early stops
        (final declines, readers leaving), and to plan with it.

    Examples
    --------
    >>> from longrank import OnlineNewton, Payoffs
    >>> policy = PlackettLuce(OnlineNewton(dim=2, max_budget=2), temperature=1.0, rng=0)
    >>> policy.propensity([[1.0, 0.0], [0.0, 0.5]], Payoffs.vanilla(2), [1, 0])
    0.5
    """

    settings: ClassVar = {
        "temperature": real(above=0.0, maximum=sys.float_info.max),
        "rng": saved_generator,
    }

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        temperature: float,
        rng: np.random.Generator | int,
        patient: bool = False,
    ) -> None:
        super().__init__(learner, features, patient)
        self.temperature = temperature
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def temperature(self) -> float:
        """How random the sequences are; can be changed at any time."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self._temperature = checks.real("temperature", value, above=0.0)

    def _decide(self, dealt: Round, rng: np.random.Generator | None) -> Ranking:
        assert rng is not None
        order = self._sequence(dealt, rng)
        length = len(order)
        scores = self._scores(dealt, order)  # for what longer sequences would have been worth
        best = np.argsort(-scores, kind="stable")[: dealt.tries - length].tolist()
        whole = np.array(order + best, np.int64)
        along = follow(self.learner, dealt._replace(minimum=dealt.tries), whole)
        drawn = along.subset(range(length))
        return drawn.planned(dealt.payoffs.patience, ", drawn at random")

    def _sequence(self, dealt: Round, rng: np.random.Generator) -> list[int]:
        """Draw action by action, until STOP is drawn."""
        size, count = len(dealt.candidates), dealt.tries
        draws = rng.random(size)  # position i takes the i-th
        order: list[int] = []
        steps = self._steps(dealt)
        while len(order) < count:
            chances = steps(order)
            action = int(np.searchsorted(np.cumsum(chances), draws[len(order)], side="right"))
            action = min(action, int(np.flatnonzero(chances)[-1]))  # the sum may be just below 1
            if action == size:
                break
            order.append(action)
        return order

    def draw(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        rng: np.random.Generator,
        context: Context | None = None,
    ) -> Order:
        return np.array(self._sequence(self._deal(items, payoffs, budget, context), rng), np.int64)

    def choices(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Context | None = None,
    ) -> Choices:
        dealt = self._deal(items, payoffs, budget, context)
        size, count = len(dealt.candidates), dealt.tries
        actions = checks.sequence("order", positions(items, order), size)
        along = actions.tolist()
        table = np.zeros((len(along) + 1, size + 1))
        steps = self._steps(dealt)
        for i in range(min(count, len(along)) + 1):
            table[i] = steps(along[:i])
            if i < len(along) and table[i, along[i]] == 0.0:
                break
        return table

    def _estimates(self, dealt: Round, prefix: list[int]) -> NDArray[np.float64]:
        """Return the probability of success of every item, were it to come next."""
        chances = self.learner.link.probability(self._scores(dealt, prefix))
        return np.clip(chances, _CLIP, 1.0 - _CLIP)

    def _steps(self, dealt: Round) -> Callable[[list[int]], NDArray[np.float64]]:
        """Return a function from a prefix to the probabilities of the next action, STOP last.

        Shape (k + 1,). Where no row depends on the items above it, all are scored once.
        """
        size, count, payoffs = len(dealt.candidates), dealt.tries, dealt.payoffs
        once = self.features.independent
        known = self._estimates(dealt, []) if once else np.empty(0)
        world = payoffs.rewards, payoffs.losses, payoffs.patience, count, self.temperature

        def step(prefix: list[int]) -> NDArray[np.float64]:
            estimates = known if once else self._estimates(dealt, prefix)
            if payoffs.has_prices and len(prefix) < count:
                return self._next_priced(estimates, payoffs, count, prefix)
            taken = np.zeros(size, np.bool_)
            taken[prefix] = True
            return kernels.next_chances(estimates, taken, len(prefix), world)

        return step

    def _share(self, odds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn log-odds into the probabilities of actions."""
        with np.errstate(over="ignore"):
            weights = np.exp((odds - odds.max()) / self.temperature)
        return np.asarray(weights / weights.sum())

    def _next_priced(
        self, estimates: NDArray[np.float64], payoffs: Payoffs, count: int, prefix: list[int]
    ) -> NDArray[np.float64]:
        """Return the same with costs and values: log-odds are relative to what each item needs.

        That is, to be as good as the best one, whose log-odds are 0. STOP relates to the best one
        as it does without prices. An item that could not pay even if certain is not drawn.
        """
        size, tried = len(estimates), len(prefix)
        free = np.delete(np.arange(size), prefix)
        rest, ahead = payoffs.after(tried, free), estimates[free]
        costs, values, rewards, losses, _ = rest.prices(len(free))
        wins, odds = rewards[0] + values, np.full(size + 1, -math.inf)
        pays = wins - costs > losses[0]
        if not pays.any():
            odds[size] = 0.0
            return self._share(odds)
        worth, fails = _values(ahead, rest, count - tried)
        best = int(np.argmax(np.where(pays, worth, -math.inf)))

        def needed(goal: float) -> NDArray[np.float64]:
            price, gain = goal - fails + costs, wins - fails
            least = np.where(price > 0.0, 1.0, 0.0)
            with np.errstate(over="ignore"):
                np.divide(price, gain, out=least, where=gain > 0.0)
            return np.asarray(np.clip(least, min(_CLIP, 0.5 * ahead[best]), 1.0 - 0.5 * _CLIP))

        apart = np.minimum(_log_odds(ahead) - _log_odds(needed(worth[best])), 0.0)
        odds[free[pays]] = apart[pays]
        odds[free[best]] = 0.0
        if losses[0] > losses[count - tried] or costs[pays].min() > 0.0:  # unless a try is free
            odds[size] = _log_odds(needed(losses[0]))[best] - _log_odds(ahead)[best]
        return self._share(odds)

    def _scores(self, dealt: Round, prefix: list[int]) -> NDArray[np.float64]:
        """Return the mean of every item, were it to come next; -inf for those above."""
        learner, rows = self.learner, self.features.next_rows(dealt.candidates, prefix)
        scores = learner.score(rows)[0] if learner.sparse else rows @ learner.weights
        scores[prefix] = -math.inf
        return np.asarray(scores)


def _values(
    chances: NDArray[np.float64], payoffs: Payoffs, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the value of trying each item, and the value after it fails.

    After a failure the plan continues. Where that would make a later item of the plan better than
    the first, since it would be tried twice, the best sequence without it continues instead. So
    the first item is the best, and of items with equal prices the likeliest.
    """
    everyone = np.arange(len(chances))
    costs, values, rewards, losses, patience = payoffs.prices(len(chances))

    def go_on(item: int) -> tuple[Indices, float]:
        others = everyone[everyone != item]
        prices = payoffs.after(1, others).prices(len(others))
        order, length, value, _ = kernels.plan(chances[others], *prices, count - 1)
        return others[order[:length]], (1.0 - patience) * losses[1] + patience * value

    first = int(kernels.plan(chances, costs, values, rewards, losses, patience, count)[0][0])
    followers, failure = go_on(first)
    failures = np.full(len(chances), failure)
    worth = chances * (rewards[0] + values) - costs + (1.0 - chances) * failures
    for item in followers[worth[followers] > worth[first]].tolist():
        failures[item] = go_on(item)[1]
        worth[item] -= (1.0 - chances[item]) * (failure - failures[item])
    return worth, failures


def _log_odds(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(chances) - np.log1p(-chances))
