"""How often the interval of the verdict covers the truth, over worlds, and how wide it is.

    python benchmarks/logs/verdicts.py [--runs 200] [--jobs 1] [--rounds 50 200 1000]

A world deals one of four rounds of three candidates, whose chances are known, so that the truth
is exact. Logs are made by chance, by a policy that learns, with outcomes that are missing, without
support for some items, or by one that always uses up its budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from together import each, options

from longrank import (
    UCB,
    EpsilonGreedy,
    OnlineNewton,
    Outcome,
    Payoffs,
    PlackettLuce,
    Policy,
    Random,
    unit_rows,
)
from longrank.logs import History, evaluate, record
from longrank.policies import Randomised

ROUNDS = np.stack([unit_rows(np.random.default_rng(i).normal(size=(3, 2))) for i in range(4)])
COSTLY = Payoffs.linear(3, attempt_cost=0.15, give_up=-0.1)
FREE = Payoffs([1.0, 0.7, 0.4], [-0.2] * 4)


def believing(weights: list[float]) -> OnlineNewton:
    """A learner with this belief."""
    learner = OnlineNewton(2, max_budget=3)
    learner.weights[:] = weights
    return learner


LOGS: dict[str, Callable[[int], Policy]] = {
    "uniform": lambda seed: Random(rng=seed),
    "epsilon-greedy": lambda seed: EpsilonGreedy(believing([0.5, 0.5]), epsilon=0.5, rng=seed),
    "Plackett-Luce": lambda seed: PlackettLuce(believing([0.5, 0.5]), temperature=1.0, rng=seed),
    "sharp": lambda seed: PlackettLuce(believing([-2.0, 2.0]), temperature=0.4, rng=seed),
}
JUDGED: dict[str, Callable[[], Policy]] = {
    "greedy": lambda: UCB(believing([1.5, -1.0]), exploration=0.0),
    "chance": lambda: PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3),
    "short": lambda: UCB(believing([6.0, 0.0]), exploration=0.0),
}


@dataclass(frozen=True)
class World:
    """What is dealt, who made the log and who is judged."""

    log: str
    judged: str
    payoffs: Payoffs
    shift: float = 0.0  # of the log-odds of success: rare targets
    learns: bool = False
    early: float = 0.0
    missing: tuple[float, float] = (0.0, 0.0)  # of failures, of successes
    treatment: str = "refuse"

    def __str__(self) -> str:
        words = [f"{self.log}, judged {self.judged}", "free" if self.payoffs is FREE else "costly"]
        words += [f"shift {self.shift:g}"] * (self.shift != 0.0) + ["learns"] * self.learns
        words += [f"early {self.early}"] * (self.early > 0.0)
        words += [f"missing {self.missing}, {self.treatment}"] * (max(self.missing) > 0.0)
        return ", ".join(words)

    @property
    def chances(self) -> np.ndarray:
        """The success probability of every item in every round."""
        return np.asarray(1.0 / (1.0 + np.exp(-ROUNDS @ [1.5, -1.0] - self.shift)))

    def truth(self) -> float:
        """What the judged policy earns, exactly."""
        policy, total = JUDGED[self.judged](), 0.0
        for items, success in zip(ROUNDS, self.chances, strict=True):
            if isinstance(policy, Randomised):
                orders = [o for n in range(4) for o in permutations(range(3), n)]
                played = [(o, policy.propensity(items, self.payoffs, o)) for o in orders]
            else:
                played = [(tuple(policy.rank(items, self.payoffs).order), 1.0)]
            for order, chance in played:
                going = 1.0
                for i, item in enumerate(order):
                    if i:
                        total += chance * going * self.early * self.payoffs.losses[i] / 4.0
                        going *= 1.0 - self.early
                    total += chance * going * success[item] * self.payoffs.rewards[i] / 4.0
                    going *= 1.0 - success[item]
                total += chance * going * self.payoffs.losses[len(order)] / 4.0
        return total

    def rows(self, n: int, seed: int) -> list[dict[str, Any]]:
        """A log."""
        rng, policy, chances = np.random.default_rng(seed), LOGS[self.log](seed), self.chances
        rows = []
        for t in range(n):
            dealt = int(rng.integers(4))
            items = ROUNDS[dealt]
            ranking = policy.rank(items, self.payoffs)
            known = policy.propensities(items, self.payoffs, ranking.order)  # type: ignore[attr-defined]
            outcome = Outcome(len(ranking), False)
            for i, item in enumerate(ranking.order):
                if i and rng.random() < self.early:
                    outcome = Outcome(i, False)
                    break
                if rng.random() < chances[dealt, item]:
                    outcome = Outcome(i + 1, True)
                    break
            row = record(t, ranking, outcome, self.payoffs, items=items, propensities=known)
            if rng.random() < self.missing[outcome.succeeded]:
                row |= {"tried": None, "succeeded": None}
            elif self.learns:
                policy.learn(ranking, outcome)
            rows.append(row)
        return rows


WORLDS = [
    World("uniform", "greedy", FREE),
    World("uniform", "chance", FREE),
    World("uniform", "short", COSTLY),
    World("epsilon-greedy", "chance", FREE),
    World("Plackett-Luce", "greedy", COSTLY),
    World("Plackett-Luce", "chance", COSTLY),
    World("sharp", "chance", COSTLY),
    World("uniform", "greedy", FREE, shift=-4.0),
    World("Plackett-Luce", "greedy", FREE, shift=-3.0),
    World("Plackett-Luce", "chance", FREE, shift=3.0),
    World("Plackett-Luce", "chance", COSTLY, learns=True),
    World("epsilon-greedy", "greedy", FREE, learns=True),
    World("Plackett-Luce", "chance", COSTLY, early=0.4),
    World("Plackett-Luce", "chance", COSTLY, missing=(0.3, 0.3)),
    World("Plackett-Luce", "chance", COSTLY, missing=(0.3, 0.3), treatment="at random"),
    World("Plackett-Luce", "chance", COSTLY, missing=(0.6, 0.0)),
    World("Plackett-Luce", "chance", COSTLY, missing=(0.6, 0.0), treatment="bounds"),
    World("Plackett-Luce", "chance", COSTLY, missing=(0.01, 0.0)),
]


def judged(world: World, n: int, truth: float, seed: int) -> tuple[float, ...]:
    """Judge one log: given, value, low, high, whether normal, and those of doubly robust."""
    found = evaluate(
        History(world.rows(n, seed)),
        {"x": JUDGED[world.judged]()},
        missing=world.treatment,
        resamples=2,
    )
    one = found.verdicts["x"]
    gain = one.gain
    return (
        not one.refused,
        one.value,
        one.low,
        one.high,
        one.method == "normal",
        one.effective,
        gain.low,
        gain.high,
        truth,
    )


def main() -> None:
    parser = options(__doc__, runs=200)
    parser.add_argument("--rounds", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--only", type=int, nargs="+")
    chosen = parser.parse_args()
    for number, world in enumerate(WORLDS):
        if chosen.only is not None and number not in chosen.only:
            continue
        truth = world.truth()
        print(f"{number} {world}: the truth is {truth:.4f}", flush=True)
        for n in chosen.rounds:
            runs = each("", partial(judged, world, n, truth), range(chosen.runs), chosen.jobs)
            table = np.array(runs, np.float64)
            given = table[:, 0] > 0.0
            value, low, high = table[:, 1:4].T
            held = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            some = given if given.any() else np.ones(len(given), np.bool_)
            normal = table[:, 4] > 0.0
            bias = np.nanmean(value[some]) - truth
            print(
                f"  n = {n:4}: given {given.mean():5.0%}, bias {bias:+.3f}, "
                f"covers {held[some].mean():6.1%} (also refused: {held.mean():6.1%}), width "
                f"{(high - low)[some].mean():.3f}, normal {normal.mean():4.0%}"
                + (f" covers {held[normal].mean():.1%}" if normal.any() else "")
                + f", effective {table[:, 5].mean():.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
