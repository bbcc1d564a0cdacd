"""Search results with clicks: learn from a log that nobody made for learning.

The search engine ranks six documents by one score and shows two; users read from the top, click
or give up. The log is deterministic, so importance sampling must refuse it. What can be said: a
warm start, bounds, a model with its calibration, and which log to make next.
Run it: python examples/search.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, OnlineNewton, Oracle, Outcome, Payoffs, PlackettLuce, Policy
from longrank.logs import History, calibration, check, evaluate, fit, learn_from, record

DOCUMENTS, SHOWN, DIM = 6, 2, 6
TASTE = np.array([1.5, 1.0, -1.0, 0.8, 0.0, -0.5])  # what users want; the engine knows the first
PAYOFFS = Payoffs(1.0 / np.log2(np.arange(2, SHOWN + 2)), np.zeros(SHOWN + 1))
ABANDON = 0.15  # after each result that was not clicked


def query(rng: np.random.Generator) -> np.ndarray:
    items = rng.normal(size=(DOCUMENTS, DIM))
    return items / np.linalg.norm(items, axis=1, keepdims=True)


def read(items: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> Outcome:
    """The user reads from the top: a click ends it, and so does losing patience."""
    for tried, document in enumerate(order, 1):
        if rng.random() < 1.0 / (1.0 + np.exp(1.0 - items[document] @ TASTE)):
            return Outcome(tried, True)
        if tried < len(order) and rng.random() < ABANDON:
            return Outcome(tried, False)
    return Outcome(len(order), False)


def log(policy: PlackettLuce | Oracle, rounds: int, seed: int) -> list:
    rng, rows = np.random.default_rng(seed), []
    for t in range(rounds):
        items = query(rng)
        ranking = policy.rank(items, PAYOFFS)
        chances = None
        if isinstance(policy, PlackettLuce):
            chances = policy.propensities(items, PAYOFFS, ranking.order)
        outcome = read(items, ranking.order, rng)
        rows.append(record(t, ranking, outcome, PAYOFFS, items=items, propensities=chances))
    return rows


def online(policy: Policy, rounds: int, seed: int) -> float:
    """What it earns when it is live, without learning further."""
    rng, total = np.random.default_rng(seed), 0.0
    for _ in range(rounds):
        items = query(rng)
        total += PAYOFFS.reward(read(items, policy.rank(items, PAYOFFS).order, rng))
    return total / rounds


def main(rounds: int = 1600, picture: Path | None = None) -> dict[str, float]:
    engine = Oracle([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # sorts by the one score it has
    old = History(log(engine, rounds, 1))
    for ability in check(old).abilities:
        verdict = "yes" if ability.possible else "no"
        print(f"  {ability.name:20} {verdict:4} {ability.reason}")

    learned, half = fresh(), rounds // 2
    learn_from(learned, old.part(0, half))
    for one in evaluate(old.part(half), {"from the old log": learned}):
        print(f"  {one}")

    # A week in which the engine's ranking is drawn by chance: this log can judge anything.
    careful = PlackettLuce(OnlineNewton(DIM, max_budget=SHOWN), temperature=1.0, rng=2)
    careful.learner.weights[:] = engine.learner.weights
    new = History(log(careful, rounds, 2))
    better = fresh()
    learn_from(better, new.part(0, half))
    found = {e.estimator: e for e in evaluate(new.part(half), {"from the new log": better})}
    for name in ("mean reward", "bounds", "doubly robust", "model"):
        print(f"  {found[name]}")
    policies = {"engine": engine, "from the old log": learned, "from the new log": better}
    live = {name: online(policy, 2 * rounds, 3) for name, policy in policies.items()}
    for name, value in live.items():
        print(f"  live, {name}: {value:.3f} a query")
    if picture is not None:
        draw(old, new, picture)
    return live | {name: one.value for name, one in found.items()}


def fresh() -> UCB:
    return UCB(OnlineNewton(DIM, max_budget=SHOWN, rate=4.0, radius=5.0), exploration=0.0)


def draw(old: History, new: History, picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, history, title in zip(
        axes, (old, new), ("the old log", "a log by chance"), strict=True
    ):
        bins = calibration(fit(history).predictions)
        axis.plot([0, 0.8], [0, 0.8], color="#999999", linewidth=1)
        axis.plot([b[0] for b in bins], [b[1] for b in bins], "o-", color="#0072b2")
        axis.set(title=title, xlabel="predicted clicks")
    axes[0].set_ylabel("observed clicks")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
