"""The reward that a policy would have had lies in the assumption-free bounds, in every decision.

python benchmarks/logs/bounds.py [--runs 500] [--jobs 1]
"""

from __future__ import annotations

import numpy as np
from setting import believing
from together import each, options

from longrank import UCB, Payoffs
from longrank.logs import History, fit, record
from longrank.logs.evaluation.evidence import gather
from longrank.simulation import LogisticWorld


def within(seed: int) -> tuple[bool, float, float]:
    """A log by a deterministic policy; another deterministic one, on the very same rounds."""
    rng = np.random.default_rng(seed)
    costs = Payoffs.linear(4, attempt_cost=float(rng.uniform(0.02, 0.2)), give_up=-0.1)
    payoffs = (costs, Payoffs.exponential(4), Payoffs.vanilla(4))[seed % 3]
    world = LogisticWorld(2.0 * rng.normal(size=4), items=int(rng.integers(2, 9)), seed=seed)
    logs = UCB(believing(rng.normal(size=4).tolist(), 4), exploration=0.0)
    judged = UCB(believing(rng.normal(size=4).tolist(), 4), exploration=0.0)
    rows, earned = [], []
    for t in range(100):
        dealt = world.deal(t)
        ranking = logs.rank(dealt.items, payoffs)
        outcome = dealt.play(ranking.order)
        rows.append(record(t, ranking, outcome, payoffs, items=dealt.items))
        earned.append(payoffs.reward(dealt.play(judged.rank(dealt.items, payoffs).order)))
    history = History(rows)
    low, high, exact = gather(judged, history, fit(history)).bounds.T
    rewards = np.array(earned)
    inside = bool(((low <= rewards + 1e-12) & (rewards <= high + 1e-12)).all())
    return inside, float(exact.mean()), float((high - low).mean())


def main() -> None:
    chosen = options(__doc__, runs=500).parse_args()
    found = each("bounds", within, range(chosen.runs), chosen.jobs)
    inside = sum(one[0] for one in found)
    exact, width = np.mean([one[1:] for one in found], axis=0)
    print(f"inside in each of 100 decisions: {inside} of {len(found)} runs", end="")
    print(f" (exact share {exact:.2f}, mean width {width:.2f})")


if __name__ == "__main__":
    main()
