"""What a round of very many arrays with prices takes, beside one without.

    python benchmarks/planning/many.py [CANDIDATES]

Processor times of ``recommended(dim=10)`` after 150 rounds, the least of three in turns, and the
memory that the process has needed at most up to then.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from longrank import UCB, Outcome, Payoffs, recommended

DIM, BUDGET, ROUNDS = 10, 10, 150


def learned(rng: np.random.Generator) -> UCB:
    """The policy after some rounds in a linear world."""
    policy, true = recommended(dim=DIM), rng.normal(size=DIM)
    for _ in range(ROUNDS):
        items = rng.normal(size=(30, DIM))
        ranking = policy.rank(items, Payoffs.vanilla(BUDGET))
        wins = rng.random(len(ranking)) < 1.0 / (1.0 + np.exp(3.0 - items[ranking.order] @ true))
        tried = int(np.argmax(wins)) + 1 if wins.any() else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(wins.any())))
    return policy


def main() -> None:
    count, rng = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, np.random.default_rng(0)
    policy, items = learned(rng), rng.normal(size=(count, DIM))
    costs, values = rng.uniform(0.0, 0.3, count), rng.normal(size=count)
    rounds = {
        "no prices": Payoffs.vanilla(BUDGET),
        "costs": Payoffs.vanilla(BUDGET).priced(costs),
        "costs and values": Payoffs.vanilla(BUDGET).priced(costs, values),
        "exponential, costs and values": Payoffs.exponential(BUDGET).priced(costs, values),
    }
    for given in rounds.values():  # compiled
        some = None if given.costs is None else (given.costs[:2000], given.success_values[:2000])
        bare = Payoffs(given.rewards, given.losses)
        policy.propose(items[:2000], bare if some is None else bare.priced(*some), rng=1)
    best = dict.fromkeys(rounds, float("inf"))
    memory = dict.fromkeys(rounds, 0)
    for _ in range(3):
        for name, given in rounds.items():
            start = time.process_time()
            policy.propose(items, given, rng=1)
            best[name] = min(best[name], time.process_time() - start)
            memory[name] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"| {count:,} candidates | s | times no prices | MB |\n|---|--:|--:|--:|")
    for name, seconds in best.items():
        ratio = seconds / best["no prices"]
        print(f"| {name} | {seconds:.2f} | {ratio:.1f} | {memory[name]} |")


if __name__ == "__main__":
    main()
