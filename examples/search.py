"""Search results with clicks: learn from a log that nobody made for learning.

The engine sorts eight documents, official pages first, and shows two; users read from the top,
click or give up. What they want depends on why they ask, which the engine ignores. Its log is
deterministic, so importance sampling must refuse it. What can be said: a warm start, bounds, a
model with its calibration, and which log to make next. Run it: python examples/search.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Blocks, Outcome, Payoffs, PlackettLuce
from longrank.logs import History, calibration, check, evaluate, fit, learn_from, record

FOUND, SHOWN, ABANDON = 8, 2, 0.15  # documents; who leaves after a result without a click
PAYOFFS = Payoffs(1.0 / np.log2(np.arange(2, SHOWN + 2)), np.zeros(SHOWN + 1))
TYPES = ("guide", "reference", "forum", "video")
WANTED = {  # what users who ask for a reason think of each type, which nobody is told
    "learn": (1.0, 0.0, -1.5, 0.4),
    "fix": (-0.3, 0.0, 1.4, -2.0),
    "look up": (0.0, 1.2, -1.5, -2.5),
}


def query(seed: int, t: int) -> tuple[list[dict], dict, np.ndarray, np.ndarray]:
    """Documents and query; then chances of a click and draws, which nobody sees."""
    rng = np.random.default_rng([seed, t])
    asked = {"reason": str(rng.choice(list(WANTED))), "device": str(rng.choice(["phone", "pc"]))}
    types, match = rng.integers(len(TYPES), size=FOUND), rng.gamma(4.0, 3.0, FOUND)
    age = rng.lognormal(5.0, 1.5, FOUND)  # in days, with a long tail
    odds = np.take(WANTED[asked["reason"]], types) + 0.08 * match - 0.3 * np.log(age / 150) - 2.6
    documents = [
        {"type": TYPES[types[i]], "match": float(match[i]), "age": int(age[i])}
        for i in range(FOUND)
    ]
    return documents, asked, 1.0 / (1.0 + np.exp(-odds)), rng.random((2, FOUND))


def read(order: list[int], chances: np.ndarray, draws: np.ndarray) -> Outcome:
    """The user reads from the top: a click ends it, and so does losing patience."""
    for tried, document in enumerate(order, 1):
        if draws[0, document] < chances[document]:
            return Outcome(tried, True)
        if tried < len(order) and draws[1, document] < ABANDON:
            return Outcome(tried, False)
    return Outcome(len(order), False)


def engine(documents: list[dict]) -> list[int]:
    """Sort by the match, official pages before what users wrote or filmed."""
    key = [(each["type"] in ("forum", "video"), -each["match"]) for each in documents]
    return sorted(range(FOUND), key=key.__getitem__)[:SHOWN]


def old_row(t: int) -> dict:
    """A row of the engine's log as it is: reason and device are columns of its own."""
    documents, asked, *fate = query(1, t)
    order = engine(documents)
    seen = read(order, *fate)
    ended = {"order": order, "tried": seen.tried, "succeeded": seen.succeeded}
    return {"id": t, "candidates": documents} | asked | ended


def new_row(policy: PlackettLuce, t: int) -> dict:
    """A row of a week in which rankings are drawn by chance: this log can judge anything."""
    documents, asked, *fate = query(2, t)
    ranking = policy.rank(documents, PAYOFFS, context=asked)
    known = policy.propensities(documents, PAYOFFS, ranking.order, context=asked)
    offered = {"candidates": documents, "context": asked, "propensities": known}
    return record(t, ranking, read(ranking.order.tolist(), *fate), PAYOFFS, **offered)


def online(policy: UCB | None, t: int) -> float:
    """What a policy, or the engine, earns when it is live, without learning further."""
    documents, asked, *fate = query(3, t)
    ranking = policy and policy.rank(documents, PAYOFFS, context=asked)
    order = ranking.order.tolist() if ranking else engine(documents)
    return PAYOFFS.reward(read(order, *fate))


def main(rounds: int = 2000, picture: Path | None = None) -> dict[str, float]:
    old, half = History([old_row(t) for t in range(rounds)], payoffs=PAYOFFS), rounds // 2
    for ability in check(old).abilities:
        print(f"  {ability.name:20} {'yes' if ability.possible else 'no':4} {ability.reason}")
    learned, better = (UCB(Blocks(), exploration=0.0) for _ in range(2))
    learn_from(learned, old.part(0, half))
    estimates = evaluate(old.part(half), {"from the old log": learned})
    chance = PlackettLuce(Blocks(), temperature=1.0, rng=2)
    learn_from(chance, old)  # a warm start
    new = History([new_row(chance, t) for t in range(rounds)])
    learn_from(better, new.part(0, half))
    estimates += evaluate(new.part(half), {"from the new log": better})
    policies = {"engine": None, "from the old log": learned, "from the new log": better}
    live = {name: np.mean([online(p, t) for t in range(rounds)]) for name, p in policies.items()}
    print(*(f"  {one}" for one in estimates if not one.refused), sep="\n")
    print(*(f"  live, {name}: {value:.3f} a query" for name, value in live.items()), sep="\n")
    if picture is not None:
        draw({"the old log": old, "a log by chance": new}, picture)
    return live | {f"{one.policy}, {one.estimator}": one.value for one in estimates}


def draw(logs: dict[str, History], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    for axis, (title, log) in zip(figure.subplots(1, 2, sharey=True), logs.items(), strict=True):
        axis.plot([0, 0.8], [0, 0.8], color="#999999", linewidth=1)
        axis.plot(*np.transpose(calibration(fit(log).predictions))[:2], "o-", color="#0072b2")
        axis.set(title=title, xlabel="predicted clicks", ylabel="observed clicks")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
