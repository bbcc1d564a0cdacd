"""Provider fallback for API calls: whom to ask first, whom next, and when to answer "try later".

A request (a prompt, a document to read) can be served by five providers. A good answer is worth
less the later it comes, and after some calls it is better to give up. What a call cost is known
afterwards, when the tokens of the answer are counted. Providers differ by task, refuse what is too
long for them and get slower under load, which the caller sees. Run it: python examples/providers.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Blocks, Outcome, Payoffs, PlackettLuce, Random, recommended
from longrank.logs import History, evaluate, learn_from, record

PAYOFFS = Payoffs([1.0, 0.8, 0.6, 0.45], [-0.3, -0.3, -0.35, -0.4, -0.45])
TASKS = ("chat", "extract", "code")
PROVIDERS = {  # size; what nobody tells: cost of 1,000 tokens, log-odds by task, longest good input
    "alpha": ("small", 0.005, (1.6, 0.4, -1.0), 2_000),
    "bravo": ("large", 0.08, (1.3, 0.9, 0.6), 6_000),
    "carbon": ("large", 0.1, (0.2, 0.3, 1.5), 100_000),
    "delta": ("small", 0.007, (-0.4, 1.8, -0.6), 3_000),
    "echo": ("medium", 0.02, (-0.2, -0.3, -0.4), 100_000),
}


def request(t: int) -> tuple[list[dict], dict, np.ndarray, np.ndarray, np.ndarray]:
    """The providers as they are now, the request; then chances, draws and costs, unknown yet."""
    rng = np.random.default_rng([3, t])  # everybody meets the same requests
    task, language = str(rng.choice(TASKS)), str(rng.choice(["en", "de", "ja"]))
    tokens = int(rng.lognormal(7.3, 1.2))  # a median of 1,500 and a long tail
    providers, odds, costs = [], [], []
    for name, (size, price, by_task, longest) in PROVIDERS.items():
        load = round(float(rng.random()), 2)
        providers.append({"id": name, "size": size, "load": load})
        costs.append(price * (tokens + rng.lognormal(6.0, 0.8)) / 1_000)  # of input and answer
        odds.append(by_task[TASKS.index(task)] - 1.5 * load - 4.0 * (tokens > longest))
    asked = {"task": task, "language": language, "tokens": tokens}
    chances = 1.0 / (1.0 + np.exp(-np.array(odds)))
    return providers, asked, chances, rng.random(len(odds)), np.array(costs)


def call(order: np.ndarray, chances: np.ndarray, draws: np.ndarray, costs: np.ndarray) -> Outcome:
    """Ask one provider after the other until one answers well; then the bill is known."""
    hits = np.flatnonzero(draws[order] < chances[order])
    tried = int(hits[0]) + 1 if hits.size else len(order)
    return Outcome(tried, bool(hits.size), costs=costs[order[:tried]].tolist())


def live(policy, rounds: int, rows: list | None = None) -> np.ndarray:
    """Let a policy answer the requests; return what each earned. With ``rows``, keep a log."""
    earned = []
    for t in range(rounds):
        providers, asked, *fate = request(t)
        ranking = policy.rank(providers, PAYOFFS, context=asked)
        outcome = call(ranking.order, *fate)
        if rows is not None:
            known = policy.propensities(providers, PAYOFFS, ranking.order, context=asked)
            offered = {"candidates": providers, "context": asked, "propensities": known}
            rows.append(record(t, ranking, outcome, PAYOFFS, **offered))
        policy.learn(ranking, outcome)
        earned.append(ranking.reward(PAYOFFS, outcome))
    return np.array(earned)


def fixed(rounds: int) -> np.ndarray:
    """What most code does: the same list for every request; here the best one, in hindsight."""
    fates = [request(t)[2:] for t in range(rounds)]
    average, costs = (np.mean([fate[i] for fate in fates], axis=0) for i in (0, 2))
    order = PAYOFFS.priced(costs).best_sequence(average).order
    return np.array([PAYOFFS.reward(call(order, *fate)) for fate in fates])


def main(rounds: int = 3000, picture: Path | None = None) -> dict[str, float]:
    rows, half = [], rounds // 2
    logging = PlackettLuce(Blocks(), temperature=0.8, rng=1)
    curves = {
        "random order": live(Random(rng=1), rounds),
        "best fixed list": fixed(rounds),
        "by chance, for the log": live(logging, rounds, rows),
        "longrank": live(recommended(), rounds),
    }
    means = {name: float(earned[half:].mean()) for name, earned in curves.items()}
    for name, mean in means.items():
        print(f"  {name:22} earned {mean:.3f} a request in the second half")
    history, candidate = History(rows), UCB(Blocks(), exploration=0.0)
    learn_from(candidate, history.part(0, half))
    found = {one.estimator: one for one in evaluate(history.part(half), {"candidate": candidate})}
    for name in ("bounds", "importance sampling", "doubly robust", "model"):
        print(f"  before it goes live: {found[name]}")
    if picture is not None:
        draw(found, means["longrank"], picture)
    return means | {"doubly robust": found["doubly robust"].value}


def draw(found: dict, live_value: float, picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    axis = figure.subplots()
    shown = [e for e in found.values() if not e.refused]
    for place, one in enumerate(reversed(shown)):
        axis.plot([one.low, one.high], [place, place], color="#0072b2", linewidth=2)
        axis.plot([one.value], [place], "o", color="#0072b2")
    axis.axvline(live_value, color="#d55e00", linestyle="--", label="longrank, when it went live")
    axis.set_yticks(range(len(shown)), [e.estimator for e in reversed(shown)], fontsize=8)
    axis.set(xlabel="reward a request")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
