"""Write the golden files of the code that is imported: ``python tests/golden/make.py``.

The folder is named after the formats: ``1`` holds version 1 of everything. When a format changes,
``test_golden.py`` says so: raise the version of the part, add a migration, name the next folder in
``FORMATS``, and run this once. Files that are there are never written again. A folder holds

``rounds.json``  rounds in which every saved policy is continued
``policies/``    every kind of policy, learner and feature map after some rounds, the same after
                 those further rounds (``.after.longrank``), and what it ranked in them (``.json``)
``sqlite/``      a store, copied while in use; what its models knew, what the service said of them,
                 and what it said and what they knew when it went on
``postgres/``    the same as a dump
``logs/``        logs of decisions in every file format, and what a policy learns from them
``results/``     results of ``longrank run``
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psycopg
from calling import Ask, serving
from sample import (
    EARLIER,
    FIELDS,
    MODELS,
    POLICIES,
    Fields,
    create,
    deal,
    decide,
    happened,
    offered,
    payoffs_of,
    rank,
    tell,
)

import longrank as lr
from longrank.logs import History, record, write

HERE = Path(__file__).parent
FORMATS = "1"
NOW = 1_790_000_000.0
BEFORE, AFTER = range(24), range(24, 32)
RUN = (
    "run", "payments-8", "--scenario", "vanilla", "--budgets", "1,5",
    "--policies", "rand,c-ucb1", "--held-out", "1", "--jobs", "1",
)  # fmt: skip


def write_json(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n")


# -- policies -------------------------------------------------------------------------------------


def play(policy: Any, rounds: Iterable[int], fields: Fields) -> list[dict[str, Any]]:
    """Rank and learn; what was ranked, as a dictionary and as bytes, and what became of it."""
    played = []
    for t in rounds:
        ranking = rank(policy, deal(t), fields)
        outcome = happened(deal(t), len(ranking), fields)
        policy.learn(ranking, outcome)
        stored = base64.b64encode(ranking.to_bytes()).decode()
        told = [outcome.tried, outcome.succeeded, outcome.costs and list(outcome.costs)]
        played.append({"ranking": ranking.to_dict(), "bytes": stored, "outcome": told})
    return played


def make_policies(folder: Path) -> None:
    write_json(folder / "rounds.json", [deal(t) for t in AFTER])
    for name, (make, fields) in POLICIES.items():
        path = folder / "policies" / f"{name}.longrank"
        path.parent.mkdir(exist_ok=True)
        policy = make()
        play(policy, [*EARLIER, *BEFORE] if name == "records-recommended" else BEFORE, fields)
        policy.save(path)
        played = play(policy, AFTER, fields)
        policy.save(path.with_suffix(".after.longrank"))
        write_json(path.with_suffix(".json"), {"fields": fields, "played": played})


# -- stores ---------------------------------------------------------------------------------------


def talk(ask: Ask, rounds: range) -> list[Any]:
    """Decide in each model; tell most outcomes, in another order, and some never."""
    said = []

    def say(call: tuple[str, str, Any]) -> Any:
        status, answer = ask(*call)
        assert status in (200, 201), answer
        said.append([*call, answer])
        return answer

    for t in rounds:
        decisions = [(model, say(decide(model, t))) for model in MODELS]
        for model, answer in reversed(decisions if t % 4 != 3 else []):
            say(tell(model, t, answer))
    return said


def list_all(ask: Ask) -> list[Any]:
    paths = [f"/v1/models/{m}{part}" for m in MODELS for part in ("", "/keys", "/decisions")]
    paths += [f"/v1/models/{model}/schema" for model in FIELDS]
    return [["GET", path, None, ask("GET", path)[1]] for path in paths]


def save_states(engine: Any, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in MODELS:
        (folder / f"{name}.longrank").write_bytes(engine.model(name).policy.to_bytes())


def make_store(folder: Path, where: str, keep: Callable[[], None]) -> None:
    """Talk to a service twice; ``keep`` copies its store. Then go on, and note what it says."""
    with serving(where, NOW) as (ask, _):
        made = [(call[1].split("/")[3], ask(*call)[1]) for call in create()]
        keys = {model: answer["key"] for model, answer in made if "key" in answer}
        talk(ask, range(4))
    with serving(where, NOW) as (ask, engine):  # the first sitting left a snapshot
        talk(ask, range(4, 8))
        save_states(engine, folder / "before")
        listed = list_all(ask)
        keep()
    with serving(where, NOW) as (ask, engine):
        continued = talk(ask, range(25, 29))
        save_states(engine, folder / "after")
    said = {"now": NOW, "listed": listed, "continued": continued}
    write_json(folder / "said.json", said | {"keys": keys})


def make_sqlite(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as work:

        def keep() -> None:
            for path in Path(work).glob("decisions.db*"):
                if not path.name.endswith("-shm"):
                    (folder / f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))

        make_store(folder, f"{work}/decisions.db", keep)


def make_postgres(folder: Path) -> None:
    sys.path.insert(0, str(HERE.parent / "service"))
    from cluster import Cluster, binaries

    programs = binaries()
    assert programs is not None, "PostgreSQL is not installed"
    server = Cluster(programs)
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE golden")
        url = server.url("golden")

        def keep() -> None:
            command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", url]
            dumped = subprocess.run(command, check=True, capture_output=True)
            (folder / "dump.sql.xz").write_bytes(lzma.compress(dumped.stdout))

        make_store(folder, url, keep)
    finally:
        server.remove()


# -- logs and results -----------------------------------------------------------------------------


def logged(policy: Any, fields: Fields) -> list[Any]:
    rows = []
    for t in range(16):
        dealt = deal(t)
        payoffs, budget = payoffs_of(dealt), dealt["budget"]
        candidates, more = offered(dealt, fields)
        ranking = policy.rank(candidates, payoffs, budget, **more)
        chances = policy.propensities(candidates, payoffs, ranking.order, budget, **more)
        outcome = happened(dealt, len(ranking), fields)
        policy.learn(ranking, outcome)
        what = {"items": candidates} if fields is None else {"candidates": candidates} | more
        rows.append(
            record(t, ranking, outcome, payoffs, budget=budget, propensities=chances, time=t,
                   policy_version="golden", **what)
        )  # fmt: skip
    return rows


def make_logs(folder: Path) -> None:
    folder.mkdir()
    fields = ["id", "fee", "tags", "vector", "brand", "amount", "cost", "value", "paid"]
    learner = lr.OnlineNewton(4, max_budget=5)
    arrays = logged(lr.PlackettLuce(learner, temperature=1.0, rng=7), None)
    records = logged(lr.PlackettLuce(lr.Blocks(), temperature=1.0, rng=17), fields)
    for ending in ("parquet", "csv", "jsonl"):
        write(folder / f"arrays.{ending}", arrays)
        write(folder / f"records.{ending}", records)
    with tempfile.TemporaryDirectory() as work, serving(f"{work}/decisions.db", NOW) as (ask, _):
        for call in create():
            ask(*call)
        talk(ask, range(8))
        for name in ("shadow", "priced"):
            exported = ask("GET", f"/v1/models/{name}/export?format=parquet")[1]
            (folder / f"export-{name}.parquet").write_bytes(exported)
    for path in sorted(folder.iterdir()):
        decisions, learned = read_log(path)
        write_json(path.with_suffix(f"{path.suffix}.json"), decisions)
        learned.save(path.with_suffix(f"{path.suffix}.longrank"))


def read_log(path: Path) -> tuple[list[dict[str, Any]], Any]:
    """All that a log says, as JSON, and a policy that learned from it."""
    history = History(path)
    names = ["id", "order", "items", "features", "candidates", "context", "budget"]
    names += ["propensity", "time", "learned"]
    decisions = []
    for each in history.decisions():
        said = {name: getattr(each, name) for name in names}
        said["outcome"] = [each.outcome.tried, each.outcome.succeeded, each.outcome.costs]
        if each.payoffs is not None:
            said |= {"rewards": each.payoffs.rewards, "losses": each.payoffs.losses}
        decisions.append(said)
    arrays = any(each["items"] is not None for each in decisions) or "shadow" in path.name
    policy: Any = lr.UCB(lr.Laplace(4) if arrays else lr.Blocks(), exploration=0.1)
    for receipt, outcome in history.pairs(policy):
        policy.learn(receipt, outcome)
    return json.loads(json.dumps(decisions, default=lambda node: node.tolist())), policy


def make_results(folder: Path) -> None:
    from longrank.experiments.results import read_results

    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-c", "from longrank.cli import main; main()", *RUN]
        environment = os.environ | {"LONGRANK_DATA": data}
        subprocess.run([*command, "--out", str(folder)], check=True, env=environment)
    write_json(folder / "expected.json", {"command": RUN, "rows": read_results([folder])})


def main() -> None:
    folder = HERE / FORMATS
    if folder.exists():
        raise SystemExit(f"{folder} exists: golden files are never written again")
    make_policies(folder)
    make_sqlite(folder / "sqlite")
    make_postgres(folder / "postgres")
    make_logs(folder / "logs")
    make_results(folder / "results")
    with (HERE / "SHA256SUMS").open("a") as sums:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            total = hashlib.sha256(path.read_bytes()).hexdigest()
            sums.write(f"{total}  {path.relative_to(HERE).as_posix()}\n")


if __name__ == "__main__":
    main()
