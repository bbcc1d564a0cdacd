"""Write the golden files of the code that is imported: ``python tests/golden/make.py LABEL``.

Run it once for each version whose files look different (``test_golden.py`` says when), with the
code of that version on the path. It writes the folder ``LABEL`` beside itself and adds it to
``SHA256SUMS``; files that are there already are never written again. ``make.py LABEL PART ...``
writes some parts alone (0.3.0 has ``policies`` and ``records``). A folder holds

``rounds.json``  rounds in which every saved policy is continued
``policies/``    each kind of policy after some rounds (``.longrank``) and after those further
                 rounds (``.after.longrank``); those that look as in an earlier folder are left out
``receipts/``    what it ranked in them, as a dictionary and as bytes, and what became of it
``expected/``    what it knew before and after, as plain JSON
``stores/``      SQLite stores: closed, copied while in use, both; a PostgreSQL dump; with them what
                 every model knew, and what the service said when it went on (``said.json``);
                 ``records`` and ``records-postgres`` hold models of records
``histories/``   logs in every format
``runs/``        results of ``longrank run``

``0.1.0-firsts.json`` beside the folders holds what the models of a store of format 1 began with,
by name and settings (``make.py 0.1.0 firsts``).

Parts that the imported code does not have are left out, so that the script runs with old code.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import payments
from playing import (
    Step,
    View,
    content,
    happened,
    history_content,
    knowledge,
    packed_layout,
    payoffs_of,
    ranked,
    serving,
    told_costs,
    unpack,
)

import longrank as lr

HERE = Path(__file__).parent
DIM, BUDGET, BEFORE, AFTER = 4, 5, 24, 8
NOW = 1_790_000_000.0
RECORDS = hasattr(lr, "Records")


def write_json(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=None, separators=(",", ":")) + "\n")


# -- policies -------------------------------------------------------------------------------------


def a_round(t: int) -> dict[str, Any]:
    """Round t, as JSON: candidates, payoffs (hopeless ones now and then), what will happen."""
    rng = np.random.default_rng([12, t])
    items = lr.unit_rows(rng.random((int(rng.integers(1, 8)), DIM))) * 0.99
    shapes = (
        lr.Payoffs.vanilla(BUDGET),
        lr.Payoffs.exponential(BUDGET),
        lr.Payoffs.linear(BUDGET, attempt_cost=0.15),
        lr.Payoffs([0.0] * BUDGET, [-1.0 * n for n in range(BUDGET + 1)]),
    )
    payoffs = shapes[t % 4]
    records = payments.offer(t) if RECORDS else {}
    return {
        "items": items.tolist(),
        "rewards": payoffs.rewards.tolist(),
        "losses": payoffs.losses.tolist(),
        "budget": int(rng.integers(1, BUDGET + 1)),
        "share": float(rng.random()),
        "lucky": bool(rng.random() < 0.5),
        **({payments.PAID: rng.lognormal(-2.0, 1.0, BUDGET).tolist()} if payments.MONEY else {}),
        **records,
    }


def learners() -> dict[str, Callable[[int], Any]]:
    made: dict[str, Callable[[int], Any]] = {
        "newton": lambda dim: lr.OnlineNewton(dim, max_budget=BUDGET),
        "newton-probit": lambda dim: lr.OnlineNewton(
            dim, max_budget=BUDGET, radius=2.0, rate=3.0, link="probit"
        ),
        "ridge": lr.Ridge,
        "likelihood": lambda dim: lr.MaximumLikelihood(dim, penalty=0.5),
        "likelihood-probit": lambda dim: lr.MaximumLikelihood(dim, link="probit"),
    }
    if hasattr(lr, "Laplace"):
        made["laplace"] = lambda dim: lr.Laplace(dim, penalty=0.3)
        made["laplace-forgetting"] = lambda dim: lr.Laplace(dim, forgetting=0.05, max_budget=BUDGET)
    return made


def feature_maps() -> dict[str, tuple[int, Callable[[], Any]]]:
    """The length of a row, and how the map is made."""
    mixture = (np.full(3, 1 / 3), 0.8 * np.eye(3, DIM), np.tile(2.5 * np.eye(DIM), (3, 1, 1)))
    made: dict[str, tuple[int, Callable[[], Any]]] = {
        "plain": (DIM, lr.Plain),
        "matrix": (DIM, lambda: lr.Coverage(np.eye(DIM))),
        "mixture": (3, lambda: lr.Coverage(lr.Mixture(*mixture))),
        "unit-mixture": (3, lambda: lr.Coverage(lr.Mixture(*mixture, unit=True))),
    }
    if hasattr(lr, "Polynomial"):
        made["polynomial-1"] = (DIM + 1, lambda: lr.Polynomial(1))
        made["polynomial-2"] = (15, lambda: lr.Polynomial(2))
    return made


def policies() -> Iterator[tuple[str, Any, View]]:
    """Every kind of policy, with every learner and every map that a file can hold."""
    for name, policy in array_policies():
        yield name, policy, 17 if name == "recommended-long" else DIM
    if RECORDS:
        yield from payments.policies(BUDGET)


def array_policies() -> Iterator[tuple[str, Any]]:
    known, maps = learners(), feature_maps()
    for name, make in known.items():
        for view, (dim, features) in maps.items():
            if view == "plain" or name in ("newton", "ridge", "likelihood", "laplace"):
                policy = lr.UCB(make(dim), features=features(), exploration=0.3)
                yield f"ucb-{name}-{view}", policy
    truth = np.array([1.5, 0.5, -1.0, 0.25])
    dim, features = maps["matrix"]
    yield "epsilon-greedy", lr.EpsilonGreedy(known["newton"](DIM), epsilon=0.4, rng=1)
    yield (
        "epsilon-greedy-matrix",
        lr.EpsilonGreedy(known["newton"](dim), features=features(), epsilon=0.4, rng=2),
    )
    yield "random", lr.Random(rng=3)
    yield "oracle", lr.Oracle(truth)
    yield "oracle-probit", lr.Oracle(truth, link="probit")
    yield "oracle-exact", lr.Oracle(truth[:3], features=maps["mixture"][1](), exact=True)
    if hasattr(lr, "Tabular"):  # the default for arrays from 0.5.0 on, and what it was before
        yield "tabular", lr.recommended(dim=DIM, max_budget=BUDGET)
        parts = {"exploration": 0.2, "probing": True, "foresight": 10, "patient": True}
        learner = lr.Laplace(15, penalty=0.5, max_budget=BUDGET)
        yield "recommended", lr.UCB(learner, features=lr.Polynomial(2), **parts)
        learner = lr.Laplace(18, penalty=0.5, forgetting=0.01)
        yield "recommended-long", lr.UCB(learner, features=lr.Polynomial(1), **parts)
    elif hasattr(lr, "recommended"):
        yield "recommended", lr.recommended(dim=DIM, max_budget=BUDGET)
        yield "recommended-long", lr.recommended(dim=17, forgetting=0.01)
    if hasattr(lr, "recommended"):
        yield "probing", lr.UCB(known["laplace"](DIM), exploration=0.2, probing=True)
    if hasattr(lr, "Thompson"):
        yield "thompson", lr.Thompson(known["laplace"](DIM), scale=0.7, rng=4)
    if hasattr(lr, "PlackettLuce"):
        yield "plackett-luce", lr.PlackettLuce(known["laplace"](DIM), temperature=0.5, rng=5)
        long = lr.PlackettLuce(
            known["laplace"](15), features=maps["polynomial-2"][1](), temperature=0.5, rng=6
        )
        yield "plackett-luce-polynomial", long


def play(policy: Any, rounds: list[dict[str, Any]], view: View) -> list[dict[str, Any]]:
    """Rank and learn; what was ranked, and what became of it."""
    played = []
    for dealt in rounds:
        ranking = ranked(policy, dealt, view)
        outcome = happened(dealt, len(ranking), view)
        policy.learn(ranking, outcome)
        costs = told_costs(outcome)
        played.append(
            {
                "ranking": ranking.to_dict(),
                "bytes": base64.b64encode(ranking.to_bytes()).decode(),
                "outcome": [outcome.tried, outcome.succeeded, *([costs] if costs else [])],
            }
        )
    return played


def is_known(name: str, policy: Any, receipt: dict[str, Any]) -> bool:
    """Whether an earlier folder has this policy, and receipts of it, in the same layout."""
    now = packed_layout(policy.to_bytes()), packed_layout(base64.b64decode(receipt["bytes"]))
    for path in HERE.glob(f"*/policies/{name}.longrank"):
        receipts = json.loads((path.parents[1] / "receipts" / f"{name}.json").read_text())
        then = packed_layout(base64.b64decode(receipts[0]["bytes"]))
        if (packed_layout(path.read_bytes()), then) == now:
            return True
    return False


def make_policies(folder: Path) -> None:
    rounds = [a_round(t) for t in range(BEFORE + AFTER)]
    write_json(folder / "rounds.json", rounds[BEFORE:])
    (folder / "policies").mkdir(parents=True)
    earlier = [a_round(t) for t in payments.EARLIER] if RECORDS else []
    for name, policy, view in policies():
        if isinstance(view, list):
            play(policy, earlier, view)
        played = play(policy, rounds[:BEFORE], view)
        if is_known(name, policy, played[0]):
            continue
        policy.save(folder / "policies" / f"{name}.longrank")
        before = knowledge(policy, view, rounds[BEFORE:])
        loaded = lr.load(folder / "policies" / f"{name}.longrank")
        receipts = play(loaded, rounds[BEFORE:], view)
        loaded.save(folder / "policies" / f"{name}.after.longrank")
        write_json(folder / "receipts" / f"{name}.json", receipts)
        write_json(
            folder / "expected" / f"{name}.json",
            {
                "fields" if isinstance(view, list) else "width": view,
                "before": before,
                "after": knowledge(loaded, view, rounds[BEFORE:]),
            },
        )
        check_shown(name, policy, loaded)


def check_shown(name: str, before: Any, after: Any) -> None:
    """Refuse golden policies that do not show what they are there for."""
    if name.endswith("random"):
        assert content(before)["rng"]
    if name.endswith("recommended"):
        assert 0 < before.given_up < after.given_up
    if name == "records-recommended":  # samples of numbers are full, and a field joins
        sides = before.schema.sides
        assert all(side.seen.min() > side.samples.shape[1] for side in sides.values())
        assert len(before.schema.describe()) < len(after.schema.describe())
    if name == "records-full":
        assert 0 < before.learner.replaced < after.learner.replaced


# -- stores ---------------------------------------------------------------------------------------

MODELS: dict[str, dict[str, Any]] = {
    "ind": {"policy": "ind", "settings": {"exploration": 0.3, "rate": 2.0}},
    "recommended": {"policy": "recommended"},
    "eps": {"policy": "eps", "settings": {"epsilon": 0.5}},
    "gl-cdcm": {"policy": "gl-cdcm", "settings": {"penalty": 0.5, "link": "probit"}},
    "c-ucb1": {"policy": "c-ucb1", "store_candidates": True},
    "rand": {"policy": "rand"},
    "shadow": {"policy": "ind", "mode": "shadow", "missing": "failed"},
    "thompson": {"policy": "thompson", "settings": {"scale": 0.5}},
    "plackett-luce": {"policy": "plackett-luce", "store_candidates": True},
    "dep": {"policy": "dep", "settings": {"topics": [[1, 0], [0, 1], [0.5, 0.5]]}, "dim": 2},
}

DECLARED = {
    "fields": {"amount": {"kind": "number", "log": True}, "note": "text", "mcc": "category"},
    "cross": [["id", "brand"], ["id", "amount"], ["note", "id"], ["id", "mcc"]],
    "ignore": ["trace"],
}
RECORD_MODELS: dict[str, dict[str, Any]] = {
    "records": {"dim": None, "policy": "recommended"},
    "declared": {
        "dim": None,
        "policy": "thompson",
        "settings": {"scale": 0.5},
        "schema": DECLARED,
        "mode": "shadow",
        "missing": "failed",
    },
    "names": {"dim": None, "policy": "plackett-luce", "store_candidates": True},
    **(
        {
            "priced": {
                "dim": None,
                "policy": "recommended",
                "currency": "EUR",
                "patience": 0.9,
                "store_candidates": True,
            }
        }
        if payments.MONEY
        else {}
    ),
    "ind": MODELS["ind"],  # beside them, a model of arrays
}
FIELDS = {  # that models of records see
    "records": ["id", "fee", "brand", "amount"],
    "declared": ["id", "region", "brand", "amount", "note", "mcc", "trace"],
    "names": ["id", "brand"],
    **({"priced": ["id", "brand", "cost", "value"]} if payments.MONEY else {}),
}


def decide(model: str, t: int) -> Step:
    rng = np.random.default_rng([34, t])
    count = int(rng.integers(2, 6))
    items = rng.random((count, 3)) * 0.5
    body: dict[str, Any] = {
        "id": f"{model}-{t}",
        "rewards": [1.0, 0.6, 0.3],
        "losses": [0.0, -0.1, -0.2, -0.3] if t % 3 else [0.0, -2.0, -4.0, -6.0],
        "ttl": 400 * 86_400.0,
    }
    if model in FIELDS:
        candidates, context = payments.seen(payments.offer(t), FIELDS[model])
        body |= {"candidates": candidates, "context": context}
        ids = [each["id"] for each in payments.offer(t)["candidates"]]
    else:
        ids = [f"c{i}" for i in range(count)]
        body |= {"ids": ids, "features": items.tolist()}
    if model in ("shadow", "declared"):
        body["baseline"] = ids[1::-1]
    return Step("POST", f"/v1/models/{model}/decisions", body)


def tell(model: str, t: int, decision: dict[str, Any]) -> Step:
    rng = np.random.default_rng([56, t])
    length = len(decision["sequence"])
    tried = int(rng.integers(0, length + 1))
    body: dict[str, Any] = {"tried": tried, "succeeded": bool(tried and rng.random() < 0.5)}
    if model == "priced" and t % 2:
        body["costs"] = rng.lognormal(-2.0, 1.0, tried).round(3).tolist()
    if t % 5 == 4 and tried > 1:
        body |= {"not_attributable": [1], "reason": "the line was down"}
    return Step("PUT", f"/v1/models/{model}/decisions/{decision['id']}/outcome", body)


def create(names: list[str]) -> Iterator[Step]:
    for name in names:
        settings = RECORD_MODELS[name] if name in FIELDS else MODELS[name]
        body = {"dim": 3, "max_budget": 3, "ttl": 400 * 86_400.0} | settings
        yield Step("PUT", f"/v1/models/{name}", body)
        yield Step("POST", f"/v1/models/{name}/keys", None)


def talk(ask: Callable[[Step], Step], names: list[str], rounds: range) -> list[Step]:
    """Decide in each model; tell most outcomes, some of them late, some never."""
    done = []
    for t in rounds:
        late = []
        for name in names:
            done.append(ask(decide(name, t)))
            if t % 4 != 3:
                late.append((name, done[-1].answer))
        done += [ask(tell(name, t, answer)) for name, answer in reversed(late)]
    for name in names:
        done.append(ask(Step("GET", f"/v1/models/{name}")))
        done.append(ask(Step("GET", f"/v1/models/{name}/decisions/{name}-{rounds[0]}")))
    done.append(ask(Step("GET", "/v1/models")))
    return done


def states(engine: Any, names: list[str], folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.longrank").write_bytes(engine.model(name).policy.to_bytes())


def make_store(
    folder: Path,
    where: str,
    keep: Callable[[], None],
    sittings: int = 1,
    models: Iterable[str] = MODELS,
    rounds: int = 6,
    further: int = 4,
) -> None:
    """Talk to a service; ``keep`` copies its store. Then go on, and write down what it says."""
    names: list[str] = []
    opened: list[Step] = []
    first = 0
    for sitting in range(sittings):
        with serving(where, NOW + first) as (ask, engine):
            if sitting == 0:
                for step in create(list(models)):
                    answer = ask(step)
                    if answer.status == 201:
                        opened.append(answer)
                names = [step.path.split("/")[3] for step in opened if step.method == "PUT"]
            talk(ask, names, range(first, first + rounds))
            first += rounds
            if sitting == sittings - 1:
                states(engine, names, folder / "before")
                listed = [ask(Step("GET", f"/v1/models/{name}")) for name in names]
                listed += [ask(Step("GET", f"/v1/models/{name}/keys")) for name in names]
                listed += [ask(Step("GET", f"/v1/models/{name}/decisions")) for name in names]
                some = [name for name in names if name in FIELDS]
                listed += [ask(Step("GET", f"/v1/models/{name}/schema")) for name in some]
                keep()
    with serving(where, NOW + first) as (ask, engine):
        continued = talk(ask, names, range(first, first + further))
        states(engine, names, folder / "after")
    keys = {s.path.split("/")[3]: s.answer["key"] for s in opened if s.method == "POST"}
    write_json(
        folder / "said.json",
        {
            "now": NOW + first,
            "keys": keys,
            "listed": [list(step) for step in listed],
            "continued": [list(step) for step in continued],
        },
    )


def pack(path: Path, folder: Path) -> None:
    """Copy a SQLite store as it is on the disk, compressed."""
    for suffix in ("", "-wal"):
        file = Path(f"{path}{suffix}")
        if file.exists():
            (folder / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes()))


def make_stores(folder: Path, postgres: bool) -> None:
    try:
        import longrank.service  # noqa: F401
    except ImportError:
        return
    for name, sittings in (("crashed", 1), ("reopened", 2)):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
            path, target = Path(work) / "decisions.db", folder / "stores" / name
            target.mkdir(parents=True)

            def keep(path: Path = path, target: Path = target) -> None:
                pack(path, target)

            make_store(target, str(path), keep, sittings)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:  # what one of them is when closed
        closed = folder / "stores" / "closed"
        shutil.copytree(folder / "stores" / "crashed", closed)
        path = unpack(closed, Path(work))
        for file in closed.glob("decisions.db*"):
            file.unlink()
        with serving(str(path), NOW):
            pass
        pack(path, closed)
        assert not (closed / "decisions.db-wal.xz").exists()
    if postgres:
        make_dump(folder / "stores" / "postgres")


def make_record_stores(folder: Path) -> None:
    """A SQLite store with a snapshot and a log, copied while in use; a PostgreSQL dump."""
    target = folder / "stores" / "records"
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
        path = Path(work) / "decisions.db"
        make_store(target, str(path), lambda: pack(path, target), 2, RECORD_MODELS, 6, 2)
    make_dump(folder / "stores" / "records-postgres", FIELDS, 8, 2)


def make_dump(
    target: Path, models: Iterable[str] = MODELS, rounds: int = 6, further: int = 4
) -> None:
    target.mkdir(parents=True)
    sys.path.insert(0, str(HERE.parent / "service"))
    import psycopg
    from cluster import Cluster, binaries

    programs = binaries()
    assert programs is not None, "PostgreSQL is not installed"
    server = Cluster(programs)
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE golden")

        def keep() -> None:
            command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges"]
            dumped = subprocess.run(
                [*command, server.url("golden")], check=True, capture_output=True
            )
            (target / "dump.sql.xz").write_bytes(lzma.compress(dumped.stdout))

        make_store(target, server.url("golden"), keep, 1, models, rounds, further)
    finally:
        server.remove()


# -- histories and results ------------------------------------------------------------------------


def make_histories(folder: Path) -> None:
    try:
        from longrank.logs import record, write
    except ImportError:
        return
    where = folder / "histories"
    where.mkdir(parents=True)
    policy = lr.PlackettLuce(lr.OnlineNewton(DIM, max_budget=BUDGET), temperature=1.0, rng=7)
    rows, long = [], []
    for t in range(40):
        dealt = a_round(100 + t)
        items, payoffs, budget = np.array(dealt["items"]), payoffs_of(dealt), dealt["budget"]
        ranking = policy.rank(items, payoffs, budget)
        chances = policy.propensities(items, payoffs, ranking.order, budget)
        outcome = happened(dealt, len(ranking), DIM)
        policy.learn(ranking, outcome)
        row = record(
            t, ranking, outcome, payoffs, budget=budget, items=items, propensities=chances, time=t
        )
        row["candidates"] = [f"c{i}" for i in range(len(items))]
        row["policy_version"] = "golden"
        rows.append(row)
        places = {item: place for place, item in enumerate(ranking.order.tolist(), 1)}
        for i, item in enumerate(items.tolist()):
            told = {name: row[name] for name in ("id", "tried", "succeeded", "budget")}
            told |= {name: json.dumps(row[name]) for name in ("rewards", "losses")}
            told |= {f"x_{j}": number for j, number in enumerate(item)}
            long.append(told | {"candidate": f"c{i}", "position": places.get(i, "")})
    for ending in ("parquet", "csv", "jsonl"):
        assert write(where / f"history.{ending}", rows) == len(rows)
    with (where / "long.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(long[0]))
        table.writeheader()
        table.writerows(long)
    export(where)
    for path in sorted(where.iterdir()):
        write_json(where / "expected" / f"{path.name}.json", history_content(path))


def make_record_histories(folder: Path) -> None:
    """Logs of records: what ``record`` and the service write, and tables of users."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from longrank.logs import record, write

    where = folder / "histories"
    where.mkdir(parents=True)
    learner, features = lr.SparseLaplace(), lr.Records()
    policy = lr.PlackettLuce(learner, features=features, temperature=1.0, rng=17)
    rows, own, long = [], [], []
    for t in range(12):
        dealt = a_round(100 + t)
        payoffs, budget = payoffs_of(dealt), dealt["budget"]
        fields = ["id", "fee", "tags", "vector", "brand", "amount"]
        if payments.MONEY:
            fields += ["cost", "value", payments.PAID]
        records, context = payments.seen(dealt, fields)
        assert context is not None
        offered: dict[str, Any] = {"context": context}
        ranking = policy.rank(records, payoffs, budget, **offered)
        chances = policy.propensities(records, payoffs, ranking.order, budget, **offered)
        outcome = happened(dealt, len(ranking), fields)
        policy.learn(ranking, outcome)
        row = record(t, ranking, outcome, payoffs, budget=budget, propensities=chances, time=t,
                     candidates=records, policy_version="golden", **offered)  # fmt: skip
        rows.append(row)
        plain = [{"id": one["id"], "fee": one.get("fee")} for one in records]
        tried = {"candidates": plain, "tried": ranking.ids[: outcome.tried]}
        own.append({"id": f"p{t}", **context, **tried, "succeeded": outcome.succeeded})
        places = {item: place for place, item in enumerate(ranking.order.tolist(), 1)}
        for i, one in enumerate(plain):
            told = {"id": t, "tried": outcome.tried, "succeeded": outcome.succeeded}
            told |= {"candidate": one["id"], "fee": one["fee"], "position": places.get(i)}
            long.append(told | context)
    for ending in ("parquet", "csv", "jsonl"):
        assert write(where / f"records.{ending}", rows) == len(rows)
    pq.write_table(pa.Table.from_pylist(own), where / "records-own.parquet")
    with (where / "records-long.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(long[0]))
        table.writeheader()
        table.writerows(long)
    export(where, "names", "records-export.parquet")
    if payments.MONEY:
        export(where, "priced", "records-priced.parquet")
    for path in sorted(where.glob("records*")):
        write_json(where / "expected" / f"{path.name}.json", history_content(path))


def export(where: Path, model: str = "eps", name: str = "export.parquet") -> None:
    """What the service exports of one of its models."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
        with serving(f"{work}/decisions.db", NOW) as (ask, _):
            for step in create([model]):
                ask(step)
            talk(ask, [model], range(8))
            step = ask(Step("GET", f"/v1/models/{model}/export"))
        (where / name).write_bytes(step.answer)


RUN = (
    "run", "digits-3", "logistic", "--scenario", "vanilla,linear-0.08", "--budgets", "1,5",
    "--policies", "rand,recommended,ind,gl-cdcm", "--held-out", "1", "--jobs", "1",
)  # fmt: skip


def make_results(folder: Path) -> None:
    try:
        from longrank.experiments.results import read_results
    except ImportError:
        return
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-c", "from longrank.cli import main; main()", *RUN]
        subprocess.run(
            [*command, "--out", str(folder / "runs")],
            check=True,
            env=os.environ | {"LONGRANK_DATA": data},
        )
    rows = read_results([folder / "runs"])
    write_json(folder / "runs" / "expected.json", {"command": RUN, "rows": rows})


# -- first states ---------------------------------------------------------------------------------

_NEWTON = {"rate": 3.0, "radius": 2.0, "link": "probit"}
_TOPICS = [[1, 0], [0, 1], [0.5, 0.5]]
FIRSTS: tuple[dict[str, Any], ...] = (
    {"policy": "recommended", "dim": 3},
    {"policy": "Recommended", "dim": 17, "settings": {"forgetting": 0.25}},
    {"policy": "thompson", "dim": 3},
    {"policy": "thompson", "dim": 3, "settings": {"scale": 0.5, "forgetting": 0.25}},
    {"policy": "plackett-luce", "dim": 3},
    {"policy": "plackett-luce", "dim": 3, "settings": {"temperature": 2, "forgetting": 0.25}},
    {"policy": "ind", "dim": 3},
    {"policy": "ind", "dim": 3, "settings": {"exploration": 0.3, **_NEWTON}},
    {"policy": "ind", "dim": 3, "settings": {"radius": 300.0}},  # beyond later limits
    {"policy": "ind", "dim": 3, "settings": {"rate": 1e101}},
    {"policy": "dep", "dim": 2, "settings": {"topics": _TOPICS}},
    {"policy": "dep", "dim": 2, "settings": {"topics": _TOPICS, "exploration": 0.3, **_NEWTON}},
    {"policy": "eps", "dim": 3},
    {"policy": "eps", "dim": 3, "settings": {"epsilon": 0.3, **_NEWTON}},
    {"policy": "c-ucb1", "dim": 3},
    {"policy": "c-ucb1", "dim": 3, "settings": {"exploration": 0.3}},
    {"policy": "gl-cdcm", "dim": 3},
    {
        "policy": "gl-cdcm",
        "dim": 3,
        "settings": {"penalty": 0.3, "exploration": 0.3, "link": "probit"},
    },
    {"policy": "gl-cdcm", "dim": 3, "settings": {"penalty": 1e-13}},
    {"policy": "rand", "dim": 3},
    {"policy": "oracle", "dim": 2, "settings": {"weights": [1, 0]}},
    {
        "policy": "oracle",
        "dim": 2,
        "settings": {"weights": [1, 0], "link": "probit", "exact": True, "features": None},
    },
)


def make_firsts(label: str) -> None:
    """Write what models began with where a store held their names and settings only (0.1.0)."""
    from longrank.service.specs import Spec, make_policy

    from longrank.service.messages import ModelRequest

    firsts = []
    for number, request in enumerate(FIRSTS):
        spec = Spec(ModelRequest(**request, max_budget=4 + number), 1000 + number)
        policy = base64.b64encode(make_policy(spec).to_bytes()).decode()
        firsts.append({"spec": json.loads(spec.packed()), "policy": policy})
    path = HERE / f"{label}-firsts.json"
    if path.exists():
        raise SystemExit(f"{path} exists: golden files are never written again")
    write_json(path, firsts)
    add_sums([path])


def add_sums(paths: Iterable[Path]) -> None:
    with (HERE / "SHA256SUMS").open("a") as sums:
        for path in sorted(paths):
            if path.is_file():
                total = hashlib.sha256(path.read_bytes()).hexdigest()
                sums.write(f"{total}  {path.relative_to(HERE).as_posix()}\n")


def main(label: str, *parts: str) -> None:
    if parts == ("firsts",):
        make_firsts(label)
        return
    folder = HERE / label
    if folder.exists():
        raise SystemExit(f"{folder} exists: golden files are never written again")
    wanted = parts or ("policies", "stores", "postgres", "histories", "results", "records")
    if "policies" in wanted:
        make_policies(folder)
    if "stores" in wanted:
        make_stores(folder, "postgres" in wanted)
    if "histories" in wanted:
        make_histories(folder)
    if "results" in wanted:
        make_results(folder)
    if "records" in wanted and RECORDS:
        make_record_stores(folder)
        make_record_histories(folder)
    add_sums(folder.rglob("*"))


if __name__ == "__main__":
    main(*sys.argv[1:])
