"""Provider fallback for API calls: whom to ask first, whom next, and when to answer "try later".

A request (a prompt, a geocoding query, a rate quote) can be served by five providers. A good answer
is worth less the later it comes, every call costs money, and after some calls it is better to give
up. Providers differ by the size of the request and get slower under load, which the caller sees.
Run it: python examples/providers.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, EpsilonGreedy, OnlineNewton, Outcome, Payoffs, Policy
from longrank.logs import History, evaluate, learn_from, record

NAMES = ("alpha", "bravo", "carbon", "delta", "echo")
BASE = np.array([0.5, 1.2, -0.3, 0.2, -1.0])
LIKES_LARGE = np.array([-2.0, 0.4, 1.8, 0.0, 0.5])
PAYOFFS = Payoffs([1.0, 0.7, 0.45, 0.25], [-0.3, -0.4, -0.5, -0.6, -0.7])
DIM = 2 * len(NAMES) + 1


def request(rng: np.random.Generator) -> np.ndarray:
    """One row for each provider: who it is, who it is times the size, and its load."""
    size, load = rng.random(), rng.random(len(NAMES))
    who = np.eye(len(NAMES))
    return np.column_stack([who, who * size, load]) / 2.0


def call(items: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> Outcome:
    """Ask one provider after the other until one answers in time."""
    for tried, provider in enumerate(order, 1):
        size, load = 2.0 * items[provider, len(NAMES) + provider], 2.0 * items[provider, -1]
        score = BASE[provider] + LIKES_LARGE[provider] * size - 1.5 * load
        if rng.random() < 1.0 / (1.0 + np.exp(-score)):
            return Outcome(tried, True)
    return Outcome(len(order), False)


def learner() -> OnlineNewton:
    return OnlineNewton(DIM, max_budget=PAYOFFS.budget, rate=4.0, radius=5.0)


def live(policy: Policy, rounds: int, seed: int) -> tuple[list, np.ndarray]:
    """The log of a policy that learns as it goes, and what each request earned."""
    rng, rows, earned = np.random.default_rng(seed), [], np.empty(rounds)
    for t in range(rounds):
        items = request(rng)
        ranking = policy.rank(items, PAYOFFS)
        outcome = call(items, ranking.order, rng)
        chances = None
        if isinstance(policy, EpsilonGreedy):  # what it logs makes other policies judgeable
            chances = policy.propensities(items, PAYOFFS, ranking.order)
        rows.append(record(t, ranking, outcome, PAYOFFS, items=items, propensities=chances))
        policy.learn(ranking, outcome)
        earned[t] = PAYOFFS.reward(outcome)
    return rows, earned


def fixed_order(rounds: int, seed: int) -> np.ndarray:
    """What most code does: the same order for every request."""
    rng = np.random.default_rng(seed)
    order = np.argsort(-BASE)[: PAYOFFS.budget]
    return np.array([PAYOFFS.reward(call(request(rng), order, rng)) for _ in range(rounds)])


def main(rounds: int = 1500, picture: Path | None = None) -> dict[str, float]:
    rows, logging = live(EpsilonGreedy(learner(), epsilon=0.5, rng=1), rounds, 3)
    curves = {
        "fixed order": fixed_order(rounds, 3),
        "half at random, for the log": logging,
        "longrank (UCB)": live(UCB(learner(), exploration=0.3), rounds, 3)[1],
    }
    history, half = History(rows), rounds // 2
    candidate = UCB(learner(), exploration=0.0)
    learn_from(candidate, history.part(0, half))
    found = {e.estimator: e for e in evaluate(history.part(half), {"candidate": candidate})}
    print(f"{rounds} requests to {len(NAMES)} providers")
    for name, earned in curves.items():
        print(f"  {name:28} earned {earned[half:].mean():.3f} a request in the second half")
    for name in ("bounds", "importance sampling", "doubly robust", "model"):
        print(f"  before it goes live: {found[name]}")
    if picture is not None:
        draw(found, float(curves["longrank (UCB)"][half:].mean()), picture)
    means = {name: float(earned[half:].mean()) for name, earned in curves.items()}
    return means | {"doubly robust": found["doubly robust"].value}


def draw(found: dict, live_value: float, picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    axis = figure.subplots()
    shown = [e for e in found.values() if not e.refused]
    for place, one in enumerate(reversed(shown)):
        axis.plot([one.low, one.high], [place, place], color="#0072b2", linewidth=2)
        axis.plot([one.value], [place], "o", color="#0072b2")
    axis.axvline(live_value, color="#d55e00", linestyle="--", label="UCB, when it went live")
    axis.set_yticks(range(len(shown)), [e.estimator for e in reversed(shown)], fontsize=8)
    axis.set(xlabel="reward a request")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
