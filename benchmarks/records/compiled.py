"""Microseconds of processor time a round: compiled through a stream, and by ``simulate``."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from worlds import DrawnWorld, names

from longrank import Payoffs, recommended
from longrank.simulation import RecordStream, World, live, simulate
from longrank.simulation.worlds import IndependentRound, Record

PAYOFFS = Payoffs.linear(2, attempt_cost=0.1)


def routes_and_brands(rounds: int) -> World:
    """14 routes, 4 brands: one field each."""
    rng = np.random.default_rng(1)
    brands = rng.integers(4, size=rounds)
    contexts: list[Record] = [{"brand": f"brand-{brand}"} for brand in brands]
    chances = np.where(np.arange(14) == 3 * np.arange(4)[:, np.newaxis], 0.9, 0.25)
    routes: list[Record] = [{"id": name} for name in names("route", 14)]
    return DrawnWorld(routes, contexts, None, lambda t, _: chances[brands[t]], rounds, rng)


class ManyFields(World):
    """10 candidates with 8 categories and 4 numbers, a context of 5 and 3; 193 entries a row."""

    def __init__(self, rounds: int) -> None:
        rng = np.random.default_rng(2)
        drawn = rng.integers(5, size=(10, 7))
        known: list[Record] = [
            {"id": f"c{i}"} | {f"category-{j}": f"v{row[j]}" for j in range(7)}
            for i, row in enumerate(drawn)
        ]
        self.dealt = []
        for _ in range(rounds):
            loads, amounts = rng.random((10, 4)).tolist(), rng.pareto(1.3, 3).tolist()
            values = rng.integers(8, size=5)
            records = [
                record | {f"number-{j}": load[j] for j in range(4)}
                for record, load in zip(known, loads, strict=True)
            ]
            context = {f"context-{j}": f"v{values[j]}" for j in range(5)} | {
                f"amount-{j}": amounts[j] for j in range(3)
            }
            chances = np.where(drawn[:, 0] == values[0] % 5, 0.8, 0.3)
            self.dealt.append(IndependentRound(records, rng.random(10), chances, context))

    def deal(self, t: int) -> IndependentRound:
        return self.dealt[t]


def took(call: Callable[[], object], rounds: int, times: int) -> float:
    """The least processor time of a round, in microseconds."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken) / rounds * 1e6


def main(rounds: int = 4_000) -> None:
    worlds = {"14 routes x 4 brands": routes_and_brands(rounds), "10 x 12 x 8": ManyFields(rounds)}
    print("| world | compiled, encoded before | and encoding | simulate |\n|---|--:|--:|--:|")
    for name, world in worlds.items():
        stream = RecordStream.of(world, rounds)
        policy = recommended(rng=1)
        once = live(policy, stream, PAYOFFS).policy
        assert once is not None
        encoded = stream.seen_through(once.features)
        figures = [
            took(lambda: live(policy, encoded, PAYOFFS), rounds, 5),  # noqa: B023
            took(lambda: live(policy, stream, PAYOFFS), rounds, 5),  # noqa: B023
            took(lambda: simulate(recommended(rng=1), world, PAYOFFS, rounds), rounds, 2),  # noqa: B023
        ]
        print(f"| {name} | {' | '.join(f'{figure:.1f} us' for figure in figures)} |")


if __name__ == "__main__":
    main()
