"""Files that earlier code wrote are read, continued, and give what they gave then.

A state that is saved again is compared with the state that the code of that time saved after the
same rounds, both in today's format: a layout may change, a number may not.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest
from calling import serving, unpack
from make import FORMATS, read_log
from sample import MODELS, create, decide, rank, tell

from longrank import Outcome, Ranking, load
from longrank.experiments.results import read_results
from longrank.packing import unpack as unpack_tree
from longrank.service import Engine, open_store
from longrank.service.doctor import examine
from longrank.service.errors import StoreDamaged

HERE = Path(__file__).parent
NEWER = 99
MISSING = "files look different now: see tests/golden/make.py"
# Draws weights along eigenvectors, of which LAPACK gives others on another processor where
# eigenvalues are equal: what it knew is compared, not what it drew afterwards.
DRAWN = "thompson"


def files(pattern: str) -> list[Path]:
    paths = sorted(path for path in HERE.glob(f"[0-9]*/{pattern}") if ".after." not in path.name)
    assert paths, pattern
    return paths


def named(path: Path) -> str:
    return path.relative_to(HERE).as_posix()


def read(path: Path):
    return json.loads(path.read_text())


def same(expected, found, where="") -> None:
    """All that was said is said again, whatever else; numbers up to the last bits."""
    if isinstance(expected, dict):
        for key in expected.keys() - {"state_hash", "version"}:  # which depend on the layout
            assert key in found, f"{where}.{key}"
            same(expected[key], found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, pair in enumerate(zip(expected, found, strict=True)):
            same(*pair, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12), where
    else:
        assert expected == found, where


def test_no_golden_file_was_changed_added_or_removed():
    lines = (HERE / "SHA256SUMS").read_text().splitlines()
    listed = {name: total for total, _, name in (line.partition("  ") for line in lines)}
    on_disk = {
        named(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in HERE.glob("[0-9]*/**/*")
        if path.is_file()
    }
    assert on_disk == listed


# -- policies and receipts ------------------------------------------------------------------------

POLICIES = files("policies/*.longrank")


@pytest.mark.parametrize("path", POLICIES, ids=named)
def test_a_policy_goes_on_as_it_did_to_the_last_bit(path):
    then, rounds = read(path.with_suffix(".json")), read(path.parents[1] / "rounds.json")
    policy = load(path)
    for dealt, played in zip(rounds, then["played"], strict=True):
        now = rank(policy, dealt, then["fields"])
        if path.stem != DRAWN:
            same(played["ranking"], json.loads(json.dumps(now.to_dict())), path.stem)
        receipt = Ranking.from_dict(played["ranking"])
        assert Ranking.from_bytes(base64.b64decode(played["bytes"])) == receipt
        policy.learn(receipt, Outcome(*played["outcome"]))
    after = load(path.with_suffix(".after.longrank"))
    assert policy.to_bytes() == after.to_bytes()


# -- stores ---------------------------------------------------------------------------------------


def check_states(ask, folder: Path) -> None:
    """The models know, to the last bit, what they knew."""
    for path in sorted(folder.glob("*.longrank")):
        known = ask("GET", f"/v1/models/{path.stem}")[1]["state_hash"]
        assert known == hashlib.sha256(load(path).to_bytes()).hexdigest(), path.stem


def check_store(where: str, golden: Path) -> None:
    """It is opened and goes on, and a replay of its log gives the same."""
    said = read(golden / "said.json")
    with serving(where, said["now"]) as (ask, _):
        check_states(ask, golden / "before")
        for *call, answer in said["listed"]:
            same(answer, ask(*call)[1], call[1])
        for model, key in said["keys"].items():
            assert ask("GET", f"/v1/models/{model}", key=key)[0] == 200
            assert ask("GET", "/v1/models", key=key)[0] in (401, 403)
        for *call, answer in said["continued"]:
            same(answer, ask(*call)[1], call[1])
        check_states(ask, golden / "after")
    with serving(where, said["now"]) as (ask, _):
        check_states(ask, golden / "after")
    assert [finding for finding in examine(where) if not finding.good] == []


@pytest.mark.parametrize("path", files("sqlite"), ids=named)
def test_a_store_is_opened_and_goes_on(path, folder):
    check_store(str(unpack(path, folder)), path)


@pytest.mark.postgres
@pytest.mark.parametrize("path", files("postgres"), ids=named)
def test_a_database_is_restored_and_goes_on(path, database):
    lines = lzma.decompress((path / "dump.sql.xz").read_bytes()).decode().splitlines()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("\n".join(line for line in lines if not line.startswith("\\")))
    check_store(database, path)


def dump(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


def test_a_store_that_is_newer_than_the_code_is_refused_and_left_alone(folder):
    path = unpack(HERE / FORMATS / "sqlite", folder)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE format SET version = {NEWER}")
    connection.close()
    before = dump(path)
    with pytest.raises(StoreDamaged, match=rf"format version {NEWER}"):
        Engine(open_store(str(path))).start()
    assert dump(path) == before


# -- logs and results -----------------------------------------------------------------------------

LOGS = [path for path in files("logs/*") if path.suffix not in (".json", ".longrank")]


@pytest.mark.parametrize("path", LOGS, ids=named)
def test_a_log_says_and_teaches_what_it_did(path):
    decisions, learned = read_log(path)
    same(read(path.with_suffix(f"{path.suffix}.json")), decisions, path.name)
    assert learned.to_bytes() == load(path.with_suffix(f"{path.suffix}.longrank")).to_bytes()


def longrank(*arguments: str, data: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from longrank.cli import main; main()", *arguments],
        capture_output=True, text=True, env=os.environ | {"LONGRANK_DATA": str(data)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("results", files("results"), ids=named)
def test_results_are_read_not_run_again_and_reported(results, tmp_path):
    expected = read(results / "expected.json")
    assert read_results([results]) == expected["rows"]
    copy = tmp_path / "results"
    shutil.copytree(results, copy)
    longrank(*expected["command"], "--out", str(copy), data=tmp_path)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        path.name: path.read_bytes() for path in results.iterdir()
    }
    longrank("report", str(copy), "--out", str(tmp_path / "report"), data=tmp_path)
    assert "payments-8" in (tmp_path / "report" / "report.md").read_text()


# -- the current format ---------------------------------------------------------------------------


def layout(tree):
    """The names in a tree, and the versions."""
    if not isinstance(tree, dict):
        return type(tree).__name__
    return {name: tree[name] if name == "version" else layout(tree[name]) for name in tree}


def test_policies_and_receipts_look_as_the_golden_ones_do():
    for path in (HERE / FORMATS / "policies").glob("*.longrank"):
        data = path.read_bytes()
        assert layout(unpack_tree(load(path).to_bytes())) == layout(unpack_tree(data)), MISSING
    for path in (HERE / FORMATS / "policies").glob("*.json"):
        stored = base64.b64decode(read(path)["played"][0]["bytes"])
        now = Ranking.from_bytes(stored)
        assert layout(unpack_tree(now.to_bytes())) == layout(unpack_tree(stored)), MISSING
        assert layout(now.to_dict()) == layout(read(path)["played"][0]["ranking"]), MISSING


def structure(path: Path) -> list[str]:
    """The tables of a store and its format; entries are told apart by the first bytes."""
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        lines = sorted(" ".join(sql.split()) for (sql,) in tables)
        lines += map(str, connection.execute("SELECT version FROM format"))
        entries = "SELECT DISTINCT kind, hex(substr(body, 1, 3)) FROM log ORDER BY 1, 2"
        lines += map(str, connection.execute(entries))
    connection.close()
    return lines


def test_a_store_looks_as_the_golden_one_does(folder):
    (folder / "golden").mkdir()
    golden = unpack(HERE / FORMATS / "sqlite", folder / "golden")
    path = folder / "new.db"
    with serving(str(path), 1_790_000_000.0) as (ask, _):
        for call in create():
            ask(*call)
        for t in range(8):
            for model in MODELS:
                _, answer = ask(*decide(model, t))
                ask(*tell(model, t, answer))
    assert structure(path) == structure(golden), MISSING


def test_results_look_as_the_golden_ones_do(tmp_path):
    arguments = ["--scenario", "vanilla", "--budgets", "1", "--policies", "rand", "--jobs", "1"]
    longrank("run", "logistic", *arguments, "--out", str(tmp_path / "results"), data=tmp_path)
    [made] = (tmp_path / "results").glob("*.parquet")
    golden = next((HERE / FORMATS / "results").glob("*.parquet"))
    assert pq.read_schema(made) == pq.read_schema(golden), MISSING
