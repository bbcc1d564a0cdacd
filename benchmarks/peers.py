# ruff: noqa: ARG002
"""A round on MNIST features, against five other libraries doing the same job by hand.

Everybody meets the same rounds (k = 100, d = 10, exponential payoffs, b = 10) in turns, 50 rounds
at a time. The time is that of the processor for rank and learn, its median over all rounds of two
classes; what was earned in them gives the NCR.

    python benchmarks/peers.py --mnist FOLDER      # a folder with the four files of MNIST
"""

from __future__ import annotations

import argparse
import tempfile
import time
from abc import ABC, abstractmethod

import numpy as np
from contextualbandits.linreg import LinearRegression
from mabwiser.mab import MAB, LearningPolicy
from river import linear_model
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

from longrank import Outcome, Payoffs, Policy, datasets, named, recommended
from longrank.experiments.measure import NumpyInd, Times
from longrank.jobs import one_thread
from longrank.simulation import Stream, TableWorld
from longrank.simulation.metrics import normalised

B, BLOCK = 10, 50
BONUS = 0.1**0.5  # of every linear UCB: that of Ind with exploration 0.1
PAYOFFS = Payoffs.exponential(B)


class Peer(ABC):
    """Ranks the candidates of a round, and learns from those that were tried."""

    @abstractmethod
    def rank(self, items: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None: ...


def best(chances: np.ndarray) -> np.ndarray:
    """The order by hand; the length is a gift of ours."""
    order = np.argsort(-chances, kind="stable")[:B]
    return order[: PAYOFFS.best_length(np.clip(chances[order], 0.0, 1.0))]


def labels(tried: int, won: bool) -> np.ndarray:
    y = np.zeros(tried)
    y[-1] = won
    return y


class Longrank(Peer):
    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def rank(self, items: np.ndarray) -> np.ndarray:
        self.ranking = self.policy.rank(items, PAYOFFS)
        return self.ranking.order

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        self.policy.learn(self.ranking, Outcome(tried, won))


class Numpy(Peer):
    def __init__(self) -> None:
        self.ind = NumpyInd(10, B)

    def rank(self, items: np.ndarray) -> np.ndarray:
        return self.ind.rank(items, PAYOFFS)

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        self.ind.learn(items[order[:tried]], won)


class ContextualBandits(Peer):
    """Its linear regression with Sherman-Morrison updates, and its UCB scores."""

    def __init__(self) -> None:
        self.model = LinearRegression(method="sm", use_float=False)
        self.fitted = False

    def rank(self, items: np.ndarray) -> np.ndarray:
        if not self.fitted:
            return np.arange(B)
        return best(self.model.predict_ucb(items, alpha=BONUS))

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        self.model.partial_fit(items[order[:tried]], labels(tried, won))
        self.fitted = True


class MabWiser(Peer):
    """LinUCB with one arm that all items share; the constant is a feature."""

    def __init__(self) -> None:
        self.model = MAB([1], LearningPolicy.LinUCB(alpha=BONUS))
        self.fitted = False

    def rank(self, items: np.ndarray) -> np.ndarray:
        if not self.fitted:
            return np.arange(B)
        scores = self.model.predict_expectations(np.column_stack([items, np.ones(len(items))]))
        return best(np.array([one[1] for one in scores]))

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        rows = np.column_stack([items[order[:tried]], np.ones(tried)])
        fit = self.model.partial_fit if self.fitted else self.model.fit
        fit([1] * tried, labels(tried, won), rows)
        self.fitted = True


class VowpalWabbit(Peer):
    """Conditional contextual bandit: one slot for each position, always the whole budget."""

    def __init__(self, budget: int = B) -> None:
        self.budget = budget
        self.model = Workspace("--ccb_explore_adf --epsilon 0.05 --quiet --random_seed 1")

    def lines(self, items: np.ndarray, slots: list[str]) -> list[str]:
        actions = (
            "ccb action | " + " ".join(f"{i}:{x:.6g}" for i, x in enumerate(row))
            for row in items.tolist()
        )
        return ["ccb shared |", *actions, *slots]

    def rank(self, items: np.ndarray) -> np.ndarray:
        budget = min(self.budget, len(items))
        names = [f"ccb slot | s{i}" for i in range(budget)]
        chosen = self.model.predict(self.lines(items, names))
        self.chances = [slot[0][1] for slot in chosen]
        return np.array([slot[0][0] for slot in chosen], np.int64)

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        slots = [
            f"ccb slot {order[i]}:{-1 if won and i == tried - 1 else 0}:{self.chances[i]} | s{i}"
            for i in range(tried)
        ]
        slots += [f"ccb slot | s{i}" for i in range(tried, len(order))]
        self.model.learn(self.lines(items, slots))


class River(Peer):
    def __init__(self) -> None:
        self.model = linear_model.LogisticRegression()

    def rank(self, items: np.ndarray) -> np.ndarray:
        self.dicts = [dict(enumerate(row)) for row in items.tolist()]
        return best(np.array([self.model.predict_proba_one(x)[True] for x in self.dicts]))

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        for i in range(tried):
            self.model.learn_one(self.dicts[order[i]], won and i == tried - 1)


class Sgd(Peer):
    def __init__(self) -> None:
        self.model = SGDClassifier(loss="log_loss", random_state=0)
        self.fitted = False

    def rank(self, items: np.ndarray) -> np.ndarray:
        if not self.fitted:
            return np.arange(B)
        return best(self.model.predict_proba(items)[:, 1])

    def learn(self, items: np.ndarray, order: np.ndarray, tried: int, won: bool) -> None:
        self.model.partial_fit(items[order[:tried]], labels(tried, won), classes=[0.0, 1.0])
        self.fitted = True


def ours() -> dict[str, Peer]:
    ind = named("ind", dim=10, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    return {
        "longrank Ind": Longrank(ind),
        "longrank recommended": Longrank(recommended(dim=10)),
        "Ind in numpy": Numpy(),
    }


def peers() -> dict[str, Peer]:
    return {
        "contextualbandits": ContextualBandits(),
        "MABWiser": MabWiser(),
        "Vowpal Wabbit CCB": VowpalWabbit(),
        "river": River(),
        "scikit-learn SGD": Sgd(),
    }


def play(peer: Peer, items: np.ndarray, wins: np.ndarray) -> tuple[float, float]:
    """One round; returns its time and its reward."""
    start = time.perf_counter()
    order = peer.rank(items)
    taken = time.perf_counter() - start
    hits = np.flatnonzero(wins[order])
    tried, won = (int(hits[0]) + 1, True) if hits.size else (len(order), False)
    start = time.perf_counter()
    if tried:
        peer.learn(items, order, tried, won)
    taken += time.perf_counter() - start
    return taken, float(PAYOFFS.rewards[tried - 1] if won else PAYOFFS.losses[tried])


def compare(stream: Stream) -> dict[str, tuple[Times, float]]:
    """The time of a round and the NCR of each."""
    everybody = ours() | peers()
    for peer in ours().values():  # compiles
        play(peer, stream.items[:100], stream.wins[:100])
    taken: dict[str, list[float]] = {name: [] for name in everybody}
    earned = dict.fromkeys(everybody, 0.0)
    rounds = [slice(a, b) for a, b in zip(stream.starts, stream.starts[1:], strict=False)]
    for first in range(0, len(rounds), BLOCK):
        block = [(stream.items[r], stream.wins[r]) for r in rounds[first : first + BLOCK]]
        for name, peer in everybody.items():
            for one in block:
                seconds, reward = play(peer, *one)
                taken[name].append(seconds)
                earned[name] += reward
    random, most = stream.random_reward(PAYOFFS), float(stream.hindsight(PAYOFFS).sum())
    return {
        name: (Times(tuple(taken[name])), normalised(earned[name], random, most))
        for name in everybody
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", help="folder with the files of MNIST, where not yet added")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = folder if asked.mnist else None
        if asked.mnist:
            datasets.add("mnist", asked.mnist, folder=folder)
        tables = {c: datasets.table(f"mnist-{c}", 0, data) for c in (3, 9)}
    found = {}
    for pivot, table in tables.items():
        with one_thread("measuring"):
            found[pivot] = compare(
                Stream.of(TableWorld(table.items, table.chances, size=100, seed=0))
            )
    times = {name: Times(found[3][name][0].blocks + found[9][name][0].blocks) for name in found[3]}
    base = times["longrank Ind"]
    print("| a round, k = 100, d = 10, b = 10 | median | min | times Ind | NCR 3 | NCR 9 |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, taken in times.items():
        print(
            f"| {name} | {taken.median * 1e6:.1f} us | {taken.minimum * 1e6:.1f} us "
            f"| {taken.median / base.median:.1f} | {found[3][name][1]:.3f} "
            f"| {found[9][name][1]:.3f} |"
        )


if __name__ == "__main__":
    main()
