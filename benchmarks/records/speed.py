"""How long records take: encoding, a whole round, and a million ids.

    python benchmarks/records/speed.py [encoding] [round] [ids]

Ratios of processor times, both measured in this run, in turns. Encoding is compared with msgspec's
decoding of the same JSON: candidates of 12 fields (8 categories, 4 numbers) and a context of 8
(6 categories, 2 numbers), all crosses made and scored, one number changed in every candidate each
time. The dictionaries are fresh each time, as a service has them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage

import msgspec
import numpy as np

from longrank import Outcome, Payoffs, recommended, unit_rows

PAYOFFS = Payoffs.linear(5, attempt_cost=0.05)
CONTEXT = {
    "brand": "visa",
    "country": "DE",
    "currency": "EUR",
    "merchant": "m17",
    "channel": "web",
    "recurring": True,
    "amount": 120.5,
    "hour": 13,
}


def candidate(i: int, rng: np.random.Generator) -> dict[str, object]:
    categories = {f"category{j}": f"value-{(7 * i + j) % (5 + j)}" for j in range(7)}
    return {"id": f"route-{i}"} | categories | {f"number{j}": rng.random() for j in range(4)}


def measure(jobs: dict[str, Callable[[int], object]], repeats: int) -> dict[str, float]:
    """The least processor time of each job in seconds, played in turns."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(9):
        for name, job in jobs.items():
            start = time.process_time()
            for i in range(repeats):
                job(i)
            best[name] = min(best[name], (time.process_time() - start) / repeats)
    return best


def encoding() -> None:
    print("| candidates | msgspec, us | encoding, us | ratio (aim: at most 3) |\n|--:|--:|--:|--:|")
    rng = np.random.default_rng(0)
    decode = msgspec.json.Decoder().decode
    for k in (10, 100, 1_000):
        policy = recommended()
        candidates = [candidate(i, rng) for i in range(k)]
        for t in range(50):
            ranking = policy.rank(candidates, PAYOFFS, context=CONTEXT)
            tried = min(len(ranking), 1)
            policy.learn(ranking, Outcome(tried, tried == 1 and t % 2 == 0))
        texts = []
        for _ in range(20):
            changed = [each | {"number0": rng.random()} for each in candidates]
            texts.append(msgspec.json.encode([changed, CONTEXT]))
        encode, score = policy.schema.encode, policy.learner.score

        def both(
            i: int,
            texts: list[bytes] = texts,
            encode: Callable[..., object] = encode,
            score: Callable[..., object] = score,
        ) -> None:
            rows = encode(*decode(texts[i % 20]))
            score(rows)  # which crosses their atoms

        jobs = {"decode": lambda i, texts=texts: decode(texts[i % 20]), "both": both}
        found = measure(jobs, max(3, 3_000 // k))
        own = found["both"] - found["decode"]
        print(
            f"| {k} | {1e6 * found['decode']:.1f} | {1e6 * own:.1f} | {own / found['decode']:.2f} |"
        )


def play_round() -> None:
    rng = np.random.default_rng(0)
    records, arrays = recommended(), recommended(dim=10)
    candidates = [candidate(i, rng) for i in range(10)]
    items = unit_rows(rng.normal(size=(100, 10)))

    def on_records(i: int) -> None:
        candidates[i % 10]["number0"] = rng.random()
        ranking = records.rank(candidates, PAYOFFS, context=CONTEXT)
        tried = min(len(ranking), 2)
        records.learn(ranking, Outcome(tried, tried > 0 and i % 2 == 0))

    def on_arrays(i: int) -> None:
        ranking = arrays.rank(items, PAYOFFS)
        tried = min(len(ranking), 2)
        arrays.learn(ranking, Outcome(tried, tried > 0 and i % 2 == 0))

    found = measure({"records": on_records, "arrays": on_arrays}, 300)
    print(
        f"a round of 10 records with 12 fields and 8 of context {1e6 * found['records']:.1f} us, "
        f"of 100 arrays with dim=10 {1e6 * found['arrays']:.1f} us: "
        f"{found['records'] / found['arrays']:.2f} times (aim: at most 2)"
    )


def count_ids(ids: int = 1_000_000, offered: int = 10) -> None:
    policy, rng = recommended(), np.random.default_rng(0)
    print("| ids seen | us a round | columns | replaced | peak MB |\n|--:|--:|--:|--:|--:|")
    for part in range(10):
        spent = 0.0
        for i in range(part * ids // 10, (part + 1) * ids // 10, offered):
            candidates = [{"id": f"song-{i + j}", "genre": f"g{j}"} for j in range(offered)]
            start = time.process_time()
            ranking = policy.rank(candidates, PAYOFFS, context={"hour": i % 24})
            tried = min(len(ranking), 3)
            policy.learn(ranking, Outcome(tried, tried > 0 and rng.random() < 0.3))
            spent += time.process_time() - start
        learner = policy.learner
        print(
            f"| {(part + 1) * ids // 10:,} | {1e6 * spent / (ids / 10 / offered):.1f} "
            f"| {learner.used:,} | {learner.replaced:,} "
            f"| {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    jobs = {"encoding": encoding, "round": play_round, "ids": count_ids}
    for name in sys.argv[1:] or jobs:
        jobs[name]()
