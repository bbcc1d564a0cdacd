"""Who decides which language models to ask: the policies that learn, and the baselines.

A player is a function of the game (questions in the order of one shuffle, and what a round pays)
that returns the sequence of models for every question. A policy that learns sees an answer only
of the models that it asked; the baselines see what their names say, often more than anybody has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import Blocks, EpsilonGreedy, Outcome, Payoffs, Policy, Schema, Text
from longrank import recommended as make_recommended
from longrank.datasets import Questions

Order = tuple[int, ...]


@dataclass(frozen=True)
class Game:
    """One shuffle of the questions, with prices and a maximum number of tries."""

    questions: Questions
    seed: int
    dearest: float
    budget: int

    @cached_property
    def shuffled(self) -> NDArray[np.int64]:
        return np.random.default_rng(self.seed).permutation(len(self.questions))

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Which model answers which question, in the order of the shuffle."""
        return self.questions.answered[self.shuffled]

    @cached_property
    def clusters(self) -> NDArray[np.str_]:
        return np.array(self.questions.clusters)[self.shuffled]

    @cached_property
    def candidates(self) -> list[dict[str, Any]]:
        return self.questions.candidates(self.dearest)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        return np.array([each["cost"] for each in self.candidates])

    @property
    def half(self) -> int:
        return len(self.shuffled) // 2

    def spent(self, orders: Sequence[Order]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which questions these sequences answer, and what they spend on each."""
        won = np.zeros(len(orders), np.bool_)
        paid = np.zeros(len(orders))
        for t, order in enumerate(orders):
            for model in order:
                paid[t] += self.costs[model]
                if self.answered[t, model]:
                    won[t] = True
                    break
        return won, paid


Player = Callable[[Game], list[Order]]


def _live(
    game: Game, policy: Policy, fields: Sequence[str], candidates: list[dict[str, Any]]
) -> list[Order]:
    """Let a policy that starts from nothing ask; it learns from the models that it asked."""
    payoffs, orders = Payoffs.vanilla(game.budget), []
    for t, question in enumerate(game.shuffled.tolist()):
        known = game.questions.context(question)
        ranking = policy.rank(candidates, payoffs, context={name: known[name] for name in fields})
        hits = np.flatnonzero(game.answered[t, ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(hits.size)))
        orders.append(tuple(ranking.order.tolist()))
    return orders


def recommended(*fields: str) -> Player:
    """The recommended policy with these fields of the question as context."""

    def play(game: Game) -> list[Order]:
        policy = make_recommended(schema=Schema({"words": Text()}), rng=game.seed)
        return _live(game, policy, fields, game.candidates)

    return play


def sorted_by_probability(game: Game) -> list[Order]:
    """The recommended policy that believes in one price, the mean, for all models."""
    alike = [each | {"cost": float(game.costs.mean())} for each in game.candidates]
    policy = make_recommended(schema=Schema({"words": Text()}), rng=game.seed)
    return _live(game, policy, ("cluster", "length", "words"), alike)


def epsilon_greedy(game: Game) -> list[Order]:
    """A rate for each model and one random sequence in twenty; otherwise the best plan."""
    policy = EpsilonGreedy(Blocks(), epsilon=0.05, rng=game.seed)
    return _live(game, policy, (), game.candidates)


def single_model(game: Game) -> list[Order]:
    """The one model that earns most in the second half."""
    return _best_of(game, [(model,) for model in range(len(game.costs))])


def cheapest_first(game: Game) -> list[Order]:
    """In the order of prices, of equal ones the most accurate; the best length in hindsight."""
    accuracy = game.answered.mean(axis=0)
    return _prefixes(game, np.lexsort((-accuracy, game.costs)))


def most_accurate_first(game: Game) -> list[Order]:
    """In the order of the share answered in all; the best length in hindsight."""
    return _prefixes(game, np.argsort(-game.answered.mean(axis=0)))


def _prefixes(game: Game, order: NDArray[np.int64]) -> list[Order]:
    models = tuple(order.tolist())
    return _best_of(game, [models[:n] for n in range(1, game.budget + 1)])


def _best_of(game: Game, orders: Sequence[Order]) -> list[Order]:
    """The sequence that earns most in the second half, for every question."""
    earned = [value(order, game.answered[game.half :], game.costs) for order in orders]
    return [orders[int(np.argmax(earned))]] * len(game.shuffled)


def tuned_cascade(game: Game) -> list[Order]:
    """One sequence for all, the best on the first half, of which it knows the answers of all."""
    answered = game.answered[: game.half]
    best: Order = ()
    earned = 0.0
    while True:
        near = list(_neighbours(best, len(game.costs), game.budget))
        values = [value(order, answered, game.costs) for order in near]
        if not near or max(values) <= earned + 1e-9:
            return [best] * len(game.shuffled)
        best, earned = near[int(np.argmax(values))], max(values)


def _neighbours(order: Order, models: int, budget: int) -> list[Order]:
    """The sequences that differ by a model more, less or exchanged, or by two places."""
    rest = [model for model in range(models) if model not in order]
    places = range(len(order))
    found = [order[:i] + order[i + 1 :] for i in places]
    found += [(*order[:i], model, *order[i + 1 :]) for i in places for model in rest]
    if len(order) < budget:
        found += [(*order[:i], model, *order[i:]) for i in range(len(order) + 1) for model in rest]
    for i, j in combinations(places, 2):
        swapped = list(order)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        found.append(tuple(swapped))
    return found


def value(order: Order, answered: NDArray[np.bool_], costs: NDArray[np.float64]) -> float:
    """Return what a sequence earns in all of these questions."""
    waiting = np.ones(len(answered), np.bool_)
    earned = 0.0
    for model in order:
        hits = waiting & answered[:, model]
        earned += hits.sum() - costs[model] * waiting.sum()
        waiting &= ~hits
    return float(earned)


def knowing_rates(game: Game) -> list[Order]:
    """The best plan with the true success rates of the question's cluster, over all questions."""
    payoffs = Payoffs.vanilla(game.budget).priced(game.costs)
    plans = {}
    for cluster in np.unique(game.clusters).tolist():
        rates = game.answered[game.clusters == cluster].mean(axis=0)
        plans[cluster] = tuple(payoffs.best_sequence(rates).order.tolist())
    return [plans[cluster] for cluster in game.clusters.tolist()]


def clairvoyant(game: Game) -> list[Order]:
    """The cheapest model that answers, or none: what nobody can know."""
    worth = np.where(game.answered, 1.0 - game.costs, 0.0)
    best = worth.argmax(axis=1).tolist()
    return [(model,) if worth[t, model] > 0.0 else () for t, model in enumerate(best)]


LEARNING: dict[str, Player] = {
    "longrank: cluster": recommended("cluster"),
    "longrank: cluster, length": recommended("cluster", "length"),
    "longrank: cluster, length, words": recommended("cluster", "length", "words"),
}
BASELINES: dict[str, Player] = {
    "best single model": single_model,
    "cheapest first": cheapest_first,
    "most accurate first": most_accurate_first,
    "sort by probability, mean cost": sorted_by_probability,
    "fixed cascade, tuned on the first half": tuned_cascade,
    "epsilon-greedy per model": epsilon_greedy,
}
KNOWING = "plan that knows the cluster's rates"
CLAIRVOYANT = "clairvoyant"
PLAYERS = LEARNING | BASELINES | {KNOWING: knowing_rates, CLAIRVOYANT: clairvoyant}
