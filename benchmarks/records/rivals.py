"""Vowpal Wabbit and river on the dictionaries that longrank is given, in six worlds.

Vowpal Wabbit is a conditional contextual bandit (CCB) with a namespace for the context, one for
the candidate, and interactions; it plays a fixed number of slots. river is a logistic regression
over a dictionary of the candidate's fields and their crosses with the context's, with epsilon
greedy; our planner orders its probabilities and chooses the length. Both are given the logarithm
of every number, and of several settings the best one in hindsight, in each world:

    python benchmarks/records/rivals.py --tune [WORLD ...]      # writes rivals.json, takes long

Then everybody plays the same rounds in turns, and processor time is taken around rank and learn:

    python benchmarks/records/rivals.py [WORLD ...] [--seeds 3] [--policy recommended]

``--policy none`` plays the rivals alone.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from play import Player, Score, compete, policy
from river import linear_model, optim, preprocessing
from vowpalwabbit import Workspace
from worlds import SETTINGS

from longrank import Outcome, Payoffs
from longrank.simulation import Round

WORLDS = [world for world in SETTINGS if world != "fees"]  # they know no prices
CHOSEN = Path(__file__).with_name("rivals.json")
TUNING_ROUNDS = {  # where all rounds would take too long
    ("Vowpal Wabbit", "search"): 6_000,
    ("Vowpal Wabbit", "ids"): 10_000,
    ("river", "search"): 3_000,
}


def squeezed(number: float) -> float:
    return math.copysign(math.log1p(abs(number)), number)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class VowpalWabbit(Player):
    GRID: ClassVar[dict[str, list[Any]]] = {
        "crosses": ["::", "CA"],  # everything with everything, or context with candidate only
        "rate": [0.5, 0.1, 2.0, 8.0],
        "explore": [
            *("--epsilon 0.02", "--epsilon 0.005", "--epsilon 0.05", "--epsilon 0"),
            *("--squarecb", "--squarecb --gamma_scale 100"),
        ],
    }

    def __init__(self, *, slots: int, explore: str, crosses: str, rate: float, seed: int) -> None:
        self.model = Workspace(
            f"--ccb_explore_adf {explore} -q {crosses} -l {rate} -b 20 --quiet "
            f"--random_seed {seed + 1}"
        )
        self.slots = slots
        self.apart = 0

    def rank(self, dealt: Round, payoffs: Payoffs) -> np.ndarray:
        start = time.thread_time_ns()
        self.lines = [f"ccb shared |C {features(dealt.context or {})}"]
        self.lines += [f"ccb action |A {features(item)}" for item in dealt.items]
        tried = min(self.slots, payoffs.budget, len(dealt.items))
        asked = [*self.lines, *(f"ccb slot |S s{i}" for i in range(tried))]
        self.apart += time.thread_time_ns() - start
        self.chosen = [slot[0] for slot in self.model.predict(asked)]
        return np.array([action for action, _ in self.chosen], np.int64)

    def learn(self, outcome: Outcome) -> None:
        start = time.thread_time_ns()
        lines = self.lines
        for i, (action, chance) in enumerate(self.chosen):
            cost = -1 if outcome.succeeded and i == outcome.tried - 1 else 0
            label = f"{action}:{cost}:{chance} " if i < outcome.tried else ""
            lines.append(f"ccb slot {label}|S s{i}")
        self.apart += time.thread_time_ns() - start
        self.model.learn(lines)


def features(record: dict[str, Any]) -> str:
    return " ".join(
        f"{name}:{squeezed(value):.6g}" if is_number(value) else f"{name}={value}"
        for name, value in record.items()
    )


class River(Player):
    GRID: ClassVar[dict[str, list[Any]]] = {
        "optimizer": ["SGD", "AdaGrad"],
        "rate": [0.1, 0.01, 0.03, 0.3, 1.0],
        "epsilon": [0.01, 0.0, 0.05, 0.1],
    }

    def __init__(self, *, optimizer: str, rate: float, epsilon: float, seed: int) -> None:
        step = getattr(optim, optimizer)(rate)
        self.model = linear_model.LogisticRegression(step, intercept_lr=rate)
        self.scaler = preprocessing.StandardScaler()
        self.epsilon, self.rng = epsilon, np.random.default_rng(seed)

    def rank(self, dealt: Round, payoffs: Payoffs) -> np.ndarray:
        context = self.encode(dealt.context or {}, "context ")
        self.rows = [self.cross(self.encode(item, ""), context) for item in dealt.items]
        chances = np.array([self.model.predict_proba_one(row)[True] for row in self.rows])
        if self.rng.random() < self.epsilon:
            chances[self.rng.integers(len(chances))] = 1.0
        self.order = np.argsort(-chances, kind="stable")[: payoffs.budget]
        self.order = self.order[: payoffs.best_length(chances[self.order])]
        return self.order

    def learn(self, outcome: Outcome) -> None:
        for i in range(outcome.tried):
            won = outcome.succeeded and i == outcome.tried - 1
            self.model.learn_one(self.rows[self.order[i]], won)

    def encode(self, record: dict[str, Any], prefix: str) -> dict[str, float]:
        """One-hot categories, and numbers centred and scaled."""
        numbers = {prefix + n: squeezed(v) for n, v in record.items() if is_number(v)}
        row = {f"{prefix}{n}={v}": 1.0 for n, v in record.items() if not is_number(v)}
        if numbers:
            self.scaler.learn_one(numbers)
            row |= self.scaler.transform_one(numbers)
        return row

    @staticmethod
    def cross(item: dict[str, float], context: dict[str, float]) -> dict[str, float]:
        crossed = {f"{a} x {c}": x * y for a, x in item.items() for c, y in context.items()}
        return item | crossed


RIVALS: dict[str, type[VowpalWabbit | River]] = {"Vowpal Wabbit": VowpalWabbit, "river": River}


def tune(name: str, world: str, fork: Any) -> tuple[float, dict[str, Any]]:
    """Improve a rival's settings for a world, one after the other and the first one again.

    ``fork`` is the value of the grid's first setting. Returns the reward and the settings.
    """
    axes = dict(RIVALS[name].GRID)
    if name == "Vowpal Wabbit":
        axes["slots"] = list(range(SETTINGS[world].payoffs.budget, 0, -1))
    first, *others = axes
    found: dict[tuple[Any, ...], float] = {}

    def reward(settings: dict[str, Any]) -> float:
        key = tuple(settings.values())
        if key not in found:
            player = RIVALS[name](**settings, seed=0)
            rounds = TUNING_ROUNDS.get((name, world))
            found[key] = compete({name: player}, SETTINGS[world], 0, rounds=rounds)[name].reward
        return found[key]

    best = {axis: values[0] for axis, values in axes.items()} | {first: fork}
    for axis in [*others, others[0]]:
        best = max(({**best, axis: value} for value in axes[axis]), key=reward)
    return reward(best), best


def tune_all(worlds: list[str], jobs: int) -> None:
    tasks = [
        (name, world, fork)
        for world in worlds
        for name, rival in RIVALS.items()
        for fork in next(iter(rival.GRID.values()))
    ]
    chosen = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {}
    best = dict.fromkeys(((name, world) for name, world, _ in tasks), -math.inf)
    results = Parallel(jobs, return_as="generator")(delayed(tune)(*task) for task in tasks)
    for (name, world, _), (reward, settings) in zip(tasks, results, strict=True):
        print(f"{world}, {name}: {reward:.4f} with {settings}", flush=True)
        if reward > best[name, world]:
            best[name, world] = reward
            chosen.setdefault(world, {})[name] = settings
            CHOSEN.write_text(json.dumps(chosen, indent=2) + "\n")


def contest(world: str, seed: int, ours: str) -> dict[str, Score]:
    chosen = json.loads(CHOSEN.read_text())[world]
    players: dict[str, Player] = {} if ours == "none" else {"longrank": policy(ours)}
    players |= {name: RIVALS[name](**chosen[name], seed=seed) for name in RIVALS}
    return compete(players, SETTINGS[world], seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("worlds", nargs="*", default=WORLDS, metavar="WORLD")
    parser.add_argument("--tune", action="store_true", help="choose the rivals' settings")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--policy", default="recommended", help="its name, or none")
    asked = parser.parse_args()
    if asked.tune:
        tune_all(asked.worlds, asked.jobs)
        return
    print("| world | who | reward | of the benchmark, % | best first, % | us | us without text |")
    print("|---|---|--:|--:|--:|--:|--:|")
    tasks = [(world, seed) for world in asked.worlds for seed in range(asked.seeds)]
    run = Parallel(asked.jobs)(delayed(contest)(*task, asked.policy) for task in tasks)
    for world in asked.worlds:
        scores = [found for task, found in zip(tasks, run, strict=True) if task[0] == world]
        show(world, scores)


def show(world: str, scores: list[dict[str, Score]]) -> None:
    """Print a row for each player, and whether ours earns more in a tenth of the time."""
    means = {
        name: np.mean(
            [
                (s.reward, 100 * s.share, 100 * s.right, s.microseconds, s.without)
                for s in (one[name] for one in scores)
            ],
            axis=0,
        )
        for name in scores[0]
    }
    for name, (reward, share, right, taken, without) in means.items():
        print(
            f"| {world} | {name} | {reward:.4f} | {share:.1f} | {right:.1f} | {taken:.0f} "
            f"| {without:.0f} |",
            flush=True,
        )
    if "longrank" in means:
        ours, rivals = means.pop("longrank"), means
        more = all(ours[0] > theirs[0] for theirs in rivals.values())
        time_share = ours[3] / rivals["Vowpal Wabbit"][3]
        verdict = "met" if more and time_share <= 0.1 else "missed"
        print(
            f"| {world} | more reward: {more}; time of VW: {time_share:.3f} | {verdict} | | | | |"
        )


if __name__ == "__main__":
    main()
