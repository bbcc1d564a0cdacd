"""Records in the service: bytes and processor time per decision, and the cost of publishing.

    python benchmarks/service/records.py [--rounds 300]

The engine is called directly, without HTTP, over a store in memory.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from longrank import Outcome, Payoffs, recommended
from longrank.service.engine.engine import Engine
from longrank.service.messages import DecisionRequest, ModelRequest, OutcomeRequest
from longrank.service.store.store import open_store

FIELDS, SHARED, TRIES = 12, 8, 3
PAYOFFS = {"rewards": [1.0, 0.9, 0.8], "losses": [0.0, -0.1, -0.2, -0.3]}


def payment(k: int, i: int) -> DecisionRequest:
    """A round of k candidates with 12 fields, and 8 fields of the context; four are numbers."""
    rng = np.random.default_rng(i)
    fields = {f"field-{j}": f"value-{j}" for j in range(FIELDS - 3)}
    routes = [
        {"id": f"route-{n}", **fields, "fee": float(rng.random()), "limit": float(n)}
        for n in range(k)
    ]
    context = {f"shared-{j}": f"value-{rng.integers(5)}" for j in range(SHARED - 2)}
    context |= {"amount": float(rng.pareto(1.2)), "hour": float(rng.integers(24))}
    return DecisionRequest(id=f"d{i}", candidates=routes, context=context, **PAYOFFS)


def vectors(k: int, i: int) -> DecisionRequest:
    """A round of k candidates with 10 numbers."""
    items = np.random.default_rng(i).uniform(-0.3, 0.3, (k, 10))
    ids = [f"route-{n}" for n in range(k)]
    return DecisionRequest(id=f"d{i}", ids=ids, features=items.tolist(), **PAYOFFS)


def rounds(folder: Path, k: int, count: int) -> None:
    """Print what a decision and an outcome take, one after the other, and in the log."""
    kinds: dict[str, tuple[Callable[[int, int], DecisionRequest], ModelRequest]] = {
        "records": (payment, ModelRequest()),
        "records, all stored": (payment, ModelRequest(store_candidates=True)),
        "arrays, dim 10": (vectors, ModelRequest(dim=10)),
    }
    for name, (make, request) in kinds.items():
        with Engine(open_store(str(folder / f"{k}-{name}.db"))) as engine:
            engine.create("m", request)
            requests = [make(k, i) for i in range(count)]
            decided, settled, sizes = [], [], []
            for i, one in enumerate(requests):
                started = time.process_time()
                answer = engine.decide("m", one)
                decided.append(time.process_time() - started)
                sizes.append(len(engine.store.find(1, one.id or "")[0].body))
                outcome = OutcomeRequest(tried=min(1, len(answer.sequence)), succeeded=False)
                if i % 2 and answer.sequence:
                    outcome = OutcomeRequest(tried=1, succeeded=True)
                started = time.process_time()
                engine.settle("m", answer.id, outcome)
                settled.append(time.process_time() - started)
            times = (1e6 * statistics.median(part[count // 2 :]) for part in (decided, settled))
            one, other = times
            print(
                f"  {name:<20}{one:>6.0f} us a decision {other:>6.0f} us an outcome "
                f"{statistics.mean(sizes):>7.0f} bytes a decision"
            )


def publishing() -> None:
    """Print what a view costs, by the size of the learner's table."""
    policy, payoffs = recommended(), Payoffs.vanilla(TRIES)
    rng = np.random.default_rng(0)
    for target in (1 << 10, 1 << 13, 1 << 16, 1 << 17, 3 << 16):
        while policy.learner.used < target:  # type: ignore[attr-defined]
            routes = [f"r{n}" for n in rng.integers(1 << 20, size=TRIES)]
            context = {"merchant": f"m{rng.integers(1 << 20)}", "brand": f"b{rng.integers(9)}"}
            receipt = policy.receipt(routes, payoffs, range(TRIES), context=context)
            policy.learn(receipt, Outcome(TRIES, False))
        times = []
        for _ in range(20):
            started = time.process_time()
            policy.view()
            times.append(time.process_time() - started)
        started = time.process_time()
        size = len(policy.to_bytes())
        seconds = time.process_time() - started
        print(
            f"  {target:>7,} columns: a view {1e3 * statistics.median(times):6.2f} ms; a snapshot "
            f"{1e3 * seconds:6.1f} ms, {size / 1e6:5.1f} MB"
        )


def full(folder: Path, count: int) -> None:
    """Print how many outcomes a second a model with a large table learns, at once and in turn."""
    with Engine(open_store(str(folder / "full.db"))) as engine:
        model, _ = engine.create("m", ModelRequest())
        rng = np.random.default_rng(0)
        policy, payoffs = model.policy, Payoffs.vanilla(TRIES)
        while policy.learner.used < 1 << 16:  # type: ignore[attr-defined]
            routes = [f"r{n}" for n in rng.integers(1 << 20, size=TRIES)]
            context = {"merchant": f"m{rng.integers(1 << 20)}"}
            policy.learn(policy.receipt(routes, payoffs, [0], context=context), Outcome(1, True))
        names = [f"d{i}" for i in range(2 * count)]
        told = OutcomeRequest(tried=1, succeeded=True)
        for name in names:
            engine.decide("m", DecisionRequest(id=name, candidates=["a", "b"]))

        async def together() -> None:
            await asyncio.gather(*(engine.aio.settle("m", name, told) for name in names[:count]))

        for title, run in (
            ("together", lambda: asyncio.run(together())),
            ("one by one", lambda: [engine.settle("m", name, told) for name in names[count:]]),
        ):
            started = time.perf_counter()
            run()
            print(f"  outcomes {title}: {count / (time.perf_counter() - started):.0f} per second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longrank-", dir="/dev/shm") as name:
        for k in (10, 100):
            print(f"{k} candidates, {FIELDS} fields, {SHARED} of the context, {TRIES} tries")
            rounds(Path(name), k, options.rounds)
        print("publishing")
        publishing()
        print("a model of 65,536 columns")
        full(Path(name), options.rounds)


if __name__ == "__main__":
    main()
