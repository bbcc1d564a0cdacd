"""Learning from logs of narrow support: pessimistic, greedy and optimistic plans of one belief.

    python benchmarks/logs/caution.py [--seeds 20] [--sizes 100,1000,10000] [--only X] [--choose]

A log plays a few of the candidates nearly always and the others hardly ever. The belief of
`recommended` learns from it once, and ranks 400 new rounds by its means minus or plus some standard
deviations. What the plans are really worth is known. The table has the value of the greedy plan,
and what the others earn more, with the standard error over the seeds (each seed is a world of its
own, and all plans are made by the same belief for the same rounds).

The width is chosen (`--choose`) on seeds 1000 and up of the worlds without a star. The table has
seeds 0 and up.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from longrank import LCB, UCB, Outcome, Payoffs, Policy, cautious
from longrank.policies.default import EXPLORATION

CAUTIONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
TESTED = 400
PAYOFFS = Payoffs.linear(3, attempt_cost=0.1)
Round = tuple[Any, dict[str, Any], np.ndarray, np.ndarray]  # candidates, context, chances, liking


@dataclass(frozen=True)
class World:
    """Rounds with the chances of their candidates, and how much the log likes each."""

    rounds: Callable[[np.random.Generator], Iterator[Round]]
    dim: int | None
    noise: float  # of what the log likes: little is a narrow log
    starred: bool = False  # no part in the choice of the width
    payoffs: Payoffs = field(default_factory=lambda: PAYOFFS)

    def played(self, liking: np.ndarray, rng: np.random.Generator) -> list[int]:
        """The sequence of a log, of full length."""
        drawn = liking + self.noise * rng.gumbel(size=len(liking))
        return np.argsort(-drawn)[: self.payoffs.budget].tolist()


def _curve(scores: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def records(rare: bool = False) -> Callable[[np.random.Generator], Iterator[Round]]:
    """Eight of 40 providers for one of four brands; the log has its favourites among them."""

    def rounds(rng: np.random.Generator) -> Iterator[Round]:
        quality = rng.normal(-3.0 if rare else -0.8, 0.8, 40)
        by_brand = rng.normal(0.0, 0.7, (4, 40))
        liked = 0.5 * quality + rng.normal(0.0, 1.0, 40)
        while True:
            brand, offered = int(rng.integers(4)), rng.choice(40, 8, replace=False)
            chances = _curve(quality[offered] + by_brand[brand, offered])
            names = [{"id": f"provider {i}"} for i in offered]
            yield names, {"brand": f"brand {brand}"}, chances, liked[offered]

    return rounds


def arrays(curved: bool = False) -> Callable[[np.random.Generator], Iterator[Round]]:
    """Ten rows of eight numbers; the log likes a direction that is only in part the right one."""

    def rounds(rng: np.random.Generator) -> Iterator[Round]:
        weights, products = rng.normal(0.0, 0.6, 8), rng.normal(0.0, 0.4, (8, 8))
        liked = 0.5 * weights + rng.normal(0.0, 0.6, 8)
        while True:
            items = rng.normal(size=(10, 8))
            bends = np.einsum("ij,jk,ik->i", items, products, items) if curved else 0.0
            yield items, {}, _curve(items @ weights + bends - 1.0), items @ liked

    return rounds


WORLDS = {
    "records, narrow": World(records(), None, noise=0.15),
    "arrays, narrow": World(arrays(), 8, noise=0.15),
    "records, wide": World(records(), None, noise=3.0),
    "records, rare*": World(
        records(rare=True),
        None,
        noise=0.15,
        starred=True,
        payoffs=Payoffs.linear(3, attempt_cost=0.02),
    ),
    "arrays, curved*": World(arrays(curved=True), 8, noise=0.15, starred=True),
    "records, narrower*": World(records(), None, noise=0.02, starred=True),
}


def value(order: list[int], chances: np.ndarray, payoffs: Payoffs) -> float:
    """What a sequence is worth, exactly."""
    total, going = 0.0, 1.0
    for i, item in enumerate(order):
        total += going * float(chances[item]) * float(payoffs.rewards[i])
        going *= 1.0 - float(chances[item])
    return total + going * float(payoffs.losses[len(order)])


def plans(made: LCB) -> dict[str, Policy]:
    """Policies of one belief."""
    shared = {"features": made.features, "foresight": made.foresight}
    found: dict[str, Policy] = {
        f"minus {c:g}": LCB(made.learner, caution=c, **shared) for c in CAUTIONS
    }
    found["greedy"] = LCB(made.learner, caution=0.0, **shared)
    for bonus in (EXPLORATION**0.5, 1.0):
        found[f"plus {bonus:g}"] = UCB(made.learner, exploration=bonus**2, **shared)
    return found


def life(world: World, sizes: list[int], seed: int) -> dict[int, dict[str, float]]:
    """What each plan is worth after so many decisions of a log."""
    rng = np.random.default_rng(seed)
    dealt = world.rounds(np.random.default_rng([seed, 1]))
    tested = [next(dealt) for _ in range(TESTED)]
    made = cautious(dim=world.dim)
    found, payoffs = {}, world.payoffs
    for t in range(1, max(sizes) + 1):
        items, context, chances, liking = next(dealt)
        order = world.played(liking, rng)
        wins = np.flatnonzero(rng.random(len(order)) < chances[order])
        outcome = Outcome(int(wins[0]) + 1, True) if wins.size else Outcome(len(order), False)
        given = {"context": context} if world.dim is None else {}
        made.learn(made.receipt(items, payoffs, order, **given), outcome)
        if t in sizes:
            found[t] = {name: worth(plan, world, tested) for name, plan in plans(made).items()}
            logged = [world.played(liking, rng) for *_, liking in tested]
            pairs = zip(logged, tested, strict=True)
            found[t]["as logged"] = float(np.mean([value(o, r[2], payoffs) for o, r in pairs]))
    return found


def worth(policy: Policy, world: World, rounds: list[Round]) -> float:
    """The mean value of a policy's plans."""
    total = 0.0
    for items, context, chances, _ in rounds:
        given = {"context": context} if world.dim is None else {}
        order = policy.rank(items, world.payoffs, **given).order.tolist()
        total += value(order, chances, world.payoffs)
    return total / len(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sizes", default="100,1000,10000", help="decisions of a log")
    parser.add_argument("--only", default="", help="worlds whose names contain this")
    parser.add_argument("--choose", action="store_true", help="on the seeds and worlds for that")
    chosen = parser.parse_args()
    sizes = [int(text) for text in chosen.sizes.split(",")]
    first = 1000 if chosen.choose else 0
    kinds = [
        *(f"minus {c:g}" for c in CAUTIONS),
        f"plus {EXPLORATION**0.5:g}",
        "plus 1",
        "as logged",
    ]
    print(f"| world | n | greedy | {' | '.join(kinds)} |")
    print(f"| --- | --- | --- |{' --- |' * len(kinds)}")
    for name, world in WORLDS.items():
        if chosen.only not in name or (chosen.choose and world.starred):
            continue
        lives = [life(world, sizes, first + seed) for seed in range(chosen.seeds)]
        for size in sizes:
            greedy = np.array([one[size]["greedy"] for one in lives])
            fields = []
            for kind in kinds:
                more = np.array([one[size][kind] for one in lives]) - greedy
                error = more.std(ddof=1) / len(more) ** 0.5
                fields.append(f"{more.mean():+.3f} ± {error:.3f}")
            print(f"| {name} | {size:,} | {greedy.mean():.3f} | {' | '.join(fields)} |", flush=True)


if __name__ == "__main__":
    main()
