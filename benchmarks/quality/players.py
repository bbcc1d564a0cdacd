# ruff: noqa: ARG002
"""Who plays: policies of longrank, and other libraries that do the same job by hand.

A rival has one or more settings. The first is how it comes; the contest also shows what the best
of them, chosen in hindsight for each task and scenario, would have earned. A setting's ``view``
says how it is shown the rows (``tasks.VIEWS``): most rivals cannot take them as they are.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import fields
import numpy as np
from tasks import Cell, Items

from longrank import Outcome, Payoffs, Policy, named, recommended
from longrank.features import Mixture
from longrank.policies import registry
from longrank.simulation import Stream, run_stream

Settings = dict[str, Any]
Rewards = np.ndarray

RECOMMENDED = "recommended"
TOPIC_ROWS = 2_000  # that Dep's topics are fitted to


class Player(ABC):
    """Ranks the candidates of a round, and learns from those that were tried."""

    @abstractmethod
    def rank(self, items: Items, payoffs: Payoffs) -> np.ndarray: ...

    @abstractmethod
    def learn(self, items: Items, order: np.ndarray, outcome: Outcome) -> None: ...


def play(player: Player, stream: Stream, payoffs: Payoffs) -> tuple[Rewards, np.ndarray]:
    """Return what a player earned in every round, and how many candidates it committed to."""
    rewards, lengths = np.empty(stream.rounds), np.empty(stream.rounds, np.int64)
    for t, (start, end) in enumerate(itertools.pairwise(stream.starts.tolist())):
        items = stream.items[start:end]
        order = player.rank(items, payoffs)
        hits = np.flatnonzero(stream.wins[start:end][order])
        outcome = Outcome(int(hits[0]) + 1, True) if hits.size else Outcome(len(order), False)
        if outcome.tried:
            player.learn(items, order, outcome)
        rewards[t], lengths[t] = payoffs.reward(outcome), len(order)
    return rewards, lengths


def best(chances: np.ndarray, payoffs: Payoffs) -> np.ndarray:
    """The order by hand; the length is a gift of ours."""
    order = np.argsort(-chances, kind="stable")[: payoffs.budget]
    return order[: payoffs.best_length(np.clip(chances[order], 0.0, 1.0))]


def labels(outcome: Outcome) -> np.ndarray:
    found = np.zeros(outcome.tried)
    found[-1] = outcome.succeeded
    return found


class Linear(Player):
    """Linear regression with an upper confidence bound; the first round is random."""

    def __init__(self, dim: int, seed: int, bonus: float) -> None:
        self.bonus, self.fitted = bonus, False
        self.rng = np.random.default_rng(seed)

    @abstractmethod
    def bounds(self, items: Items) -> np.ndarray: ...

    def rank(self, items: Items, payoffs: Payoffs) -> np.ndarray:
        if not self.fitted:
            return self.rng.permutation(len(items))[: payoffs.budget]
        return best(self.bounds(items), payoffs)


class ContextualBandits(Linear):
    """Its linear regression with Sherman-Morrison updates, and its upper confidence bounds."""

    def __init__(self, dim: int, seed: int, bonus: float) -> None:
        from contextualbandits.linreg import LinearRegression

        super().__init__(dim, seed, bonus)
        self.model = LinearRegression(method="sm", use_float=False)

    def bounds(self, items: Items) -> np.ndarray:
        return np.asarray(self.model.predict_ucb(items, alpha=self.bonus))

    def learn(self, items: Items, order: np.ndarray, outcome: Outcome) -> None:
        self.model.partial_fit(items[order[: outcome.tried]], labels(outcome))
        self.fitted = True


class MabWiser(Linear):
    """LinUCB with one arm that all items share; the constant is a feature."""

    def __init__(self, dim: int, seed: int, bonus: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        super().__init__(dim, seed, bonus)
        self.model = MAB([1], LearningPolicy.LinUCB(alpha=bonus))

    def bounds(self, items: Items) -> np.ndarray:
        found = self.model.predict_expectations(np.column_stack([items, np.ones(len(items))]))
        return np.array([each[1] for each in (found if isinstance(found, list) else [found])])

    def learn(self, items: Items, order: np.ndarray, outcome: Outcome) -> None:
        rows = np.column_stack([items[order[: outcome.tried]], np.ones(outcome.tried)])
        fit = self.model.partial_fit if self.fitted else self.model.fit
        fit([1] * outcome.tried, labels(outcome), rows)
        self.fitted = True


class Refitted(Player):
    """A classifier of scikit-learn, refitted to all that was tried, with epsilon-greedy.

    It is fitted after 10 and 25 rounds, and after every 50. Until both outcomes have been seen
    the order is random.
    """

    EARLY, EVERY = (10, 25), 50

    def __init__(self, dim: int, seed: int, epsilon: float) -> None:
        self.seed, self.epsilon = seed, epsilon
        self.rng = np.random.default_rng(seed)
        self.model: Any = None
        self.rows: list[Items] = []
        self.labels: list[np.ndarray] = []
        self.round = 0

    @abstractmethod
    def make(self) -> Any:
        """Return a classifier that is not fitted."""

    def rank(self, items: Items, payoffs: Payoffs) -> np.ndarray:
        if self.round in self.EARLY or (self.round and self.round % self.EVERY == 0):
            self.refit()
        self.round += 1
        if self.model is None:
            return self.rng.permutation(len(items))[: payoffs.budget]
        chances = self.chances(items)
        chances += 1e-9 * self.rng.random(len(chances))  # trees tie often
        if self.rng.random() < self.epsilon:
            chances[self.rng.integers(len(chances))] = 1.0
        return best(chances, payoffs)

    def learn(self, items: Items, order: np.ndarray, outcome: Outcome) -> None:
        self.rows.append(items[order[: outcome.tried]])
        self.labels.append(labels(outcome))

    def chances(self, items: Items) -> np.ndarray:
        return np.asarray(self.model.predict_proba(items)[:, 1])

    def refit(self) -> None:
        found = np.concatenate(self.labels) if self.labels else np.zeros(0)
        if 0.0 < found.sum() < len(found):
            self.model = self.make().fit(np.concatenate(self.rows), found)


class Boosted(Refitted):
    def make(self) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier

        return GradientBoostingClassifier(random_state=self.seed)


class Forest(Refitted):
    def make(self) -> Any:
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(50, min_samples_leaf=2, random_state=self.seed)

    def chances(self, items: Items) -> np.ndarray:
        """The same as ``predict_proba``, without its checks and threads."""
        rows = items.astype(np.float32)
        trees = self.model.estimators_
        return np.mean([each.tree_.predict(rows)[:, 1] for each in trees], axis=0)


class Records(Player):
    """``recommended()`` with the rows as dictionaries: a field per column, or one embedding."""

    def __init__(self, dim: int, seed: int, door: str) -> None:
        self.policy, self.door = recommended(rng=seed), door
        self.columns = [f"x{j}" for j in range(dim)]

    def rank(self, items: Items, payoffs: Payoffs) -> np.ndarray:
        rows = items.tolist()
        if self.door == "fields":
            records = [dict(zip(self.columns, row, strict=True)) for row in rows]
        else:
            records = [{"x": row} for row in rows]
        self.ranking = self.policy.rank(records, payoffs)
        return self.ranking.order

    def learn(self, items: Items, order: np.ndarray, outcome: Outcome) -> None:
        self.policy.learn(self.ranking, outcome)


def grid(**axes: list[Any]) -> list[Settings]:
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


VIEWED = ["unit", "scaled", "embedded"]
PAPER: dict[str, list[Settings]] = {
    "ind": grid(view=VIEWED, radius=[3.0], rate=[5.0, 20.0], exploration=[0.1, 0.01]),
    "dep": grid(view=["embedded"], radius=[3.0], rate=[5.0, 20.0], topics=[10, 30]),
    "eps": grid(view=VIEWED, radius=[3.0], rate=[5.0, 20.0], epsilon=[0.1, 0.02]),
    "c-ucb1": grid(view=VIEWED, exploration=[0.1, 1.0]),
    "gl-cdcm": grid(view=VIEWED, exploration=[0.1, 0.01], penalty=[1.0]),
}
OTHERS: dict[str, tuple[Callable[..., Player], list[Settings]]] = {
    "contextualbandits": (
        ContextualBandits,
        grid(view=["standardised", "scaled"], bonus=[0.3, 1.0]),
    ),
    "MABWiser": (MabWiser, grid(view=["standardised"], bonus=[0.3])),
}
TREES: dict[str, tuple[Callable[..., Player], list[Settings]]] = {
    "boosted trees": (Boosted, grid(view=["raw"], epsilon=[0.05])),
    "forest": (Forest, grid(view=["raw"], epsilon=[0.05])),
}
DOORS: dict[str, tuple[Callable[..., Player], list[Settings]]] = {
    f"{RECOMMENDED}, {door}": (Records, grid(view=["raw"], door=[door]))
    for door in ("fields", "embedding")
}
RIVALS = [*PAPER, *OTHERS, *TREES]


def rivals(task: str) -> list[str]:
    """The names of those who can play a task."""
    return list(fields.RIVALS) if task in fields.WORLDS else RIVALS


def settings(name: str) -> list[Settings]:
    """The settings of a player; ours has none, and those for records were tuned elsewhere."""
    return PAPER.get(name) or (OTHERS | TREES | DOORS).get(name, (None, [{}]))[1]


def compete(name: str, own: Settings, cell: Cell) -> tuple[float, float]:
    """Return the score of a player in a cell, and in what share of the rounds it gave up."""
    if cell.task in fields.WORLDS:
        return fields.compete(name, cell.task, cell.seed)
    settings = dict(own)
    if name in OTHERS | TREES | DOORS:
        stream = cell.stream(settings.pop("view"))
        player = (OTHERS | TREES | DOORS)[name][0](stream.items.shape[1], cell.seed, **settings)
        rewards, lengths = play(player, stream, cell.payoffs)
    else:
        policy, stream = prepared(name, settings, cell)
        run = run_stream(policy, stream, cell.payoffs)
        rewards, lengths = run.rewards, run.lengths
    return cell.score(float(rewards.sum())), float(np.mean(lengths == 0))


def prepared(name: str, settings: Settings, cell: Cell) -> tuple[Policy, Stream]:
    """Make a policy of longrank, and the rounds as it needs to see them."""
    if name == RECOMMENDED:
        return recommended(rng=cell.seed), cell.stream()
    stream = cell.stream(settings.pop("view"))
    offered: dict[str, Any] = {
        "dim": stream.items.shape[1],
        "max_budget": cell.budget,
        "rng": cell.seed,
    }
    if "topics" in settings:
        topics = fitted(cell.task, cell.pivot, cell.seed, settings.pop("topics"))
        offered |= {"topics": topics, "dim": topics.components}
    known = registry.get(name).parameters
    return named(name, **{k: v for k, v in offered.items() if k in known}, **settings), stream


@functools.lru_cache(maxsize=2)
def fitted(task: str, pivot: int, seed: int, topics: int) -> Mixture:
    """Fit topics to the first embedded rows, which are the same in every scenario."""
    items = Cell(task, pivot, "vanilla", 1, seed).stream("embedded").items
    return Mixture.fit(items[:TOPIC_ROWS], topics, seed, unit=True)
