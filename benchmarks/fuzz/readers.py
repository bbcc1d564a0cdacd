"""Coverage-guided fuzzing of everything that reads what somebody else made.

    python benchmarks/fuzz/readers.py {policies,receipts,histories,requests} CORPUS [SECONDS]

Needs atheris (`pip install atheris`, in an environment of its own beside longrank's packages).
CORPUS is a folder; it is filled with examples where it is empty, and kept for the next run. An
error that is not one of longrank's, more than 10 seconds, or more memory than 4 times the input
and a constant ends the run with the input in a file `crash-...`.

The checksum of a file is made anew for every input, so that mutants get past it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris
import msgspec
import numpy as np

FOLDER = Path(importlib.util.find_spec("longrank").submodule_search_locations[0])
KERNELS = [f"longrank.kernels.{path.stem}" for path in (FOLDER / "kernels").glob("*.py")]

with atheris.instrument_imports(include=["longrank"], exclude=KERNELS):  # numba compiles those
    import longrank.logs
    import longrank.service.app
    from longrank import (
        Laplace,
        LongrankError,
        Outcome,
        Payoffs,
        Ranking,
        Ridge,
        named,
        recommended,
    )
    from longrank.logs import History, check, learn_from, write
    from longrank.policies import PlackettLuce, from_bytes
    from longrank.service.engine.engine import Engine
    from longrank.service.messages import ModelRequest
    from longrank.service.store.sqlite import SqliteStore
    from longrank.warming import columns_of

ALLOWED = 64 * 2**20  # bytes beside 4 times the input
PAYOFFS = Payoffs.linear(3, attempt_cost=0.1)
ITEMS = np.eye(4)[[0, 2, 1, 3]] * 0.8
RECORDS = [
    {"id": "adyen", "fee": 0.3, "tags": ["eu", "fast"], "vector": [0.1, 0.9]},
    {"id": "stripe", "fee": 0.2, "note": "new since May"},
    {"id": "local", "fee": None},
]
CONTEXT = {"brand": "visa", "amount": 12.5, "3ds": True}


def sign(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def rank(policy):
    if columns_of(policy) is None and not isinstance(policy, longrank.Random):
        return policy.rank(RECORDS, PAYOFFS, context=CONTEXT)
    return policy.rank(ITEMS, PAYOFFS)


def teach(policy, rounds: int = 12):
    for t in range(rounds):
        ranking = rank(policy)
        tried = min(len(ranking), 1 + t % 3)
        policy.learn(
            ranking, Outcome(tried, bool(t % 2 and tried), (0.2,) * tried if t > 9 else None)
        )
    return policy


def examples() -> dict:
    """A policy of every kind, taught."""
    sizes = {"dim": 4, "max_budget": 3}
    made = {
        "recommended": named("recommended", **sizes),
        "ind": named("ind", **sizes),
        "gl-cdcm": named("gl-cdcm", dim=4),
        "eps": named("eps", **sizes, rng=1),
        "thompson": named("thompson", **sizes, rng=1),
        "plackett-luce": named("plackett-luce", **sizes, rng=1),
        "rand": named("rand", rng=1),
    }
    made |= {
        "ridge": longrank.UCB(Ridge(4), features=longrank.Coverage(np.eye(4)), exploration=0.1),
        "oracle": longrank.Oracle([1.0, 0.5, -1.0, 0.0]),
        "records": recommended(),
        "records-ucb": longrank.UCB(longrank.Blocks(), exploration=0.1, probing=True),
        "records-pl": PlackettLuce(longrank.Blocks(), temperature=0.5, rng=2),
        "thompson": longrank.Thompson(Laplace(4), rng=3),
        "mixture": longrank.UCB(
            Laplace(2),
            features=longrank.Coverage(
                longrank.Mixture([0.5, 0.5], np.eye(4)[:2], [np.eye(4), 2.0 * np.eye(4)])
            ),
            exploration=0.1,
        ),
    }
    return {name: teach(policy) for name, policy in made.items()}


def policies() -> tuple[list[bytes], Callable[[bytes], None]]:
    def read(data: bytes) -> None:
        teach(from_bytes(sign(data)), 2).to_bytes()

    return [policy.to_bytes()[:-32] for policy in examples().values()], read


def receipts() -> tuple[list[bytes], Callable[[bytes], None]]:
    made = examples()
    learners = [made[name].to_bytes() for name in ("recommended", "records", "thompson", "gl-cdcm")]
    corpus = []
    for policy in made.values():
        ranking = rank(policy)
        for i in range(4):
            corpus.append(bytes([i]) + ranking.to_bytes()[:-32])
            corpus.append(bytes([4 + i]) + json.dumps(ranking.to_dict()).encode())

    def read(data: bytes) -> None:
        if not data:
            return
        if data[0] & 4:
            try:
                stored = json.loads(data[1:])
            except (ValueError, RecursionError):
                return
            found = Ranking.from_dict(stored)
        else:
            found = Ranking.from_bytes(sign(data[1:]))
        found.explain()
        assert Ranking.from_bytes(found.to_bytes()) == found
        policy = from_bytes(learners[data[0] & 3])
        before = policy.to_bytes()
        try:
            policy.learn(found, Outcome(min(len(found), 2), len(found) > 0))
        except LongrankError:
            assert policy.to_bytes() == before
            raise
        assert np.isfinite(policy.learner.weights).all()

    return corpus, read


def histories() -> tuple[list[bytes], Callable[[bytes], None]]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    rows = [
        {
            "id": f"d{i}",
            "time": f"2026-01-0{i + 1}T00:00:00",
            "order": [1, 0],
            "tried": 2,
            "succeeded": i == 1,
            "rewards": [1.0, 0.8],
            "losses": [0.0, -0.1, -0.2],
            "propensity": 0.1,
            "prefix_propensities": [0.5, 0.2],
        }
        for i in range(3)
    ]
    arrays = [row | {"items": (ITEMS[:3] * 0.9).tolist()} for row in rows]
    records = [row | {"candidates": RECORDS, "context": CONTEXT} for row in rows]
    long = [
        {"id": i // 2, "position": 1 + i % 2, "candidate": "ab"[i % 2], "tried": 2, "fee": 0.1 * i}
        | {"succeeded": False, "rewards": [1.0, 0.8], "losses": [0.0, 0.0, 0.0], "brand": "visa"}
        for i in range(6)
    ]
    corpus, endings = [], (".jsonl", ".csv", ".parquet")
    for log in (arrays, records, long):
        for which, ending in enumerate(endings):
            write(folder / f"log{ending}", log)
            corpus.append(bytes([which]) + (folder / f"log{ending}").read_bytes())

    def read(data: bytes) -> None:
        if not data:
            return
        path = folder / f"log{endings[data[0] % 3]}"
        path.write_bytes(data[1:])
        problems = None
        try:
            history = History(path)
            problems = check(history).problems
            policy = (
                recommended()
                if history.schema or "items" not in history.columns
                else recommended(dim=4)
            )
            learn_from(policy, history)
        except LongrankError:
            return
        assert not problems

    return corpus, read


def requests() -> tuple[list[bytes], Callable[[bytes], None]]:
    folder = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm")
    engine = Engine(SqliteStore(Path(folder) / "log.db"))
    limit = longrank.service.app.Limits(max_bytes=1 << 20)
    app = longrank.service.app.build(engine, auth=False, limit=limit)
    engine.start()
    engine.create("arrays", ModelRequest(policy="recommended", dim=4, max_budget=3))
    engine.create("records", ModelRequest(policy="recommended", max_budget=3))
    pays = {"rewards": [1.0, 0.8], "losses": [0.0, -0.1, -0.2]}
    decided = {"ids": ["a", "b", "c"], "features": (ITEMS[:3] * 0.9).tolist(), **pays, "id": "x"}
    named = {"candidates": RECORDS, "context": CONTEXT, **pays, "id": "y"}
    outcome = {"tried": 1, "succeeded": True, "costs": [0.1]}
    routes = [
        ("POST", "/v1/models/arrays/decisions", decided),
        ("POST", "/v1/models/records/decisions", named),
        ("PUT", "/v1/models/arrays/decisions/x/outcome", outcome),
        ("PUT", "/v1/models/records/decisions/y/outcome", outcome),
        ("POST", "/v1/models/records/outcomes", {"outcomes": [{"id": "y"} | outcome]}),
        ("PUT", "/v1/models/new", {"policy": "ind", "dim": 3, "max_budget": 2, "settings": {}}),
    ]
    corpus = [
        bytes([i + 8 * packed]) + (msgspec.msgpack if packed else msgspec.json).encode(body)
        for i, (_, _, body) in enumerate(routes)
        for packed in (0, 1)
    ]
    loop = asyncio.new_event_loop()

    def call(method: str, path: str, body: bytes, media: bytes) -> int:
        status = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                status.append(message["status"])

        scope = {"type": "http", "method": method, "path": path, "query_string": b""}
        scope |= {"headers": [(b"content-type", media), (b"host", b"127.0.0.1")], "scheme": "http"}
        scope |= {
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
            "raw_path": path.encode(),
        }
        loop.run_until_complete(app(scope, receive, send))
        return status[0]

    def read(data: bytes) -> None:
        if not data:
            return
        method, path, _ = routes[data[0] % 8 % len(routes)]
        media = b"application/msgpack" if data[0] & 8 else b"application/json"
        status = call(method, path, data[1:], media)
        assert status < 500, status
        if path.endswith("/new") and status == 201:
            call("DELETE", path, b"", b"application/json")

    return corpus, read


def peak() -> int:
    """The most memory that the process ever had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    target, corpus, *more = sys.argv[1:]
    seconds = int(more[0]) if more else 600
    seeds, read = {"policies": policies, "receipts": receipts, "histories": histories}.get(
        target, requests
    )()
    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(seeds):
        (folder / f"seed-{i}").write_bytes(seed)
    warnings.simplefilter("ignore")
    for seed in seeds:  # what is compiled or cached at first does not count
        with contextlib.suppress(LongrankError):  # receipts are given to every policy
            read(seed)

    def one(data: bytes) -> None:
        before = peak()
        with contextlib.suppress(LongrankError):
            read(data)
        used = peak() - before  # as far as it exceeds what was needed earlier
        if used > 4 * len(data) + ALLOWED:
            raise MemoryError(f"{used:,} bytes for an input of {len(data):,}")

    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=4000", "-max_len=20000"]
    options += ["-print_final_stats=1", "-report_slow_units=5"]
    atheris.Setup([sys.argv[0], *options, str(folder)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
