"""The recommended policy in payment worlds, against the oracle and Vowpal Wabbit CCB.

Vowpal Wabbit plays a fixed number of routes; its best number is chosen in hindsight, for each cost
of an attempt. All rewards are true expected ones, so that luck plays no part.

    python benchmarks/payments.py [ROUNDS]
"""

from __future__ import annotations

import sys

import numpy as np
from vowpalwabbit import Workspace

from longrank import Payoffs, recommended
from longrank.simulation import PaymentWorld, simulate

ROUNDS, SEED = 3_000, 1
COSTS = (0.02, 0.08, 0.2)
LENGTHS = {8: (1, 2, 3, 4, 5, 6, 8), 100: (1, 2, 3, 4, 5, 7, 10)}


def payoffs(routes: int, cost: float) -> Payoffs:
    return Payoffs.linear(min(routes, 10, int(1.0 / cost + 1e-9)), attempt_cost=cost)


def fixed(world: PaymentWorld, length: int, rounds: int) -> np.ndarray:
    """The true chances along every sequence that Vowpal Wabbit plays, shape (rounds, length)."""
    model = Workspace("--ccb_explore_adf --epsilon 0.05 --quiet --random_seed 1")
    slots = [f"| s{i}" for i in range(length)]
    played = np.empty((rounds, length))
    for t in range(rounds):
        dealt = world.deal(t)
        lines = ["ccb shared |"]
        for row in dealt.items:
            used = np.flatnonzero(row)
            text = " ".join(f"{i}:{row[i]:.6g}" for i in used)
            lines.append(f"ccb action | {text}")
        chosen = model.predict([*lines, *(f"ccb slot {slot}" for slot in slots)])
        order = np.array([slot[0][0] for slot in chosen])
        outcome = dealt.play(order)
        for i, (slot, name) in enumerate(zip(chosen, slots, strict=True)):
            cost = -1 if outcome.succeeded and i == outcome.tried - 1 else 0
            label = f"{order[i]}:{cost}:{slot[0][1]} " if i < outcome.tried else ""
            lines.append(f"ccb slot {label}{name}")
        model.learn(lines)
        played[t] = dealt.probabilities(order)
    model.finish()
    return played


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    print("| routes | cost | budget | oracle | recommended | of the oracle | VW CCB | its length |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for routes, lengths in LENGTHS.items():
        world = PaymentWorld(routes, seed=SEED)
        played = {length: fixed(world, length, rounds) for length in lengths}
        for cost in COSTS:
            now = payoffs(routes, cost)
            run = simulate(recommended(dim=world.dim), world, now, rounds)
            theirs = {
                length: float(np.mean([now.values(p)[-1] for p in chances]))
                for length, chances in played.items()
                if length <= now.budget
            }
            best = max(theirs, key=lambda length: theirs[length])
            ours, oracle = run.expected.mean(), run.optimum.mean()
            print(
                f"| {routes} | {cost} | {now.budget} | {oracle:.4f} | {ours:.4f} "
                f"| {ours / oracle:.1%} | {theirs[best]:.4f} | {best} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
