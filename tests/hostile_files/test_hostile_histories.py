"""Logs that somebody else made: every row is a decision or a problem that is named."""

import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mutants import MUTANTS, peak

from longrank import BadFile, LongrankError, recommended
from longrank.logs import BadLog, History, check, learn_from, write

DEEP = 100_000


def rows():
    return [
        {
            "id": f"d{i}",
            "time": f"2026-01-0{i + 1}T00:00:00",
            "order": [1, 0],
            "tried": 2,
            "succeeded": i == 1,
            "candidates": [{"id": "a", "fee": 0.1, "tags": ["x"]}, {"id": "b", "fee": None}],
            "context": {"brand": "visa"},
            "rewards": [1.0, 0.8],
            "losses": [0.0, -0.1, -0.2],
            "propensity": 0.1,
        }
        for i in range(3)
    ]


def problems(path) -> list[str]:
    policy = recommended()
    before = policy.to_bytes()
    found = check(History(path)).problems
    with pytest.raises(BadLog):
        learn_from(policy, path)
    assert policy.to_bytes() == before
    return [str(each) for each in found]


LINES = {
    "deep lists": ("[" * DEEP + "]" * DEEP, "the line must be JSON"),
    "deep objects": ('{"a":' * DEEP + "1" + "}" * DEEP, "the line must be JSON"),
    "a huge number": ('{"tried":' + "9" * DEEP + "}", "the line must be JSON"),
    "invalid UTF-8": (b'{"id":"\xff\xfe"}', "the line must be JSON"),
    "half a character": ('{"id":"d9","tried":1,"succeeded":true,"order":["\\ud800"]}', "order"),
    "a large number": (
        '{"id":"d9","order":[0],"tried":1' + "0" * 400 + ',"succeeded":true}',
        "tried must be at most 1",
    ),
    "a deep id": (
        '{"id":' + "[" * 900 + "]" * 900 + ',"tried":1,"succeeded":true}',
        "id must be text|the (row|line) must be",
    ),
    "a large reward": ('{"id":"d9","rewards":[1' + "0" * 400 + '],"tried":1}', "rewards"),
    "a large price": ('{"id":"d9","costs":[1e999],"tried":1,"succeeded":true}', "costs"),
}


@pytest.mark.parametrize(("line", "problem"), LINES.values(), ids=LINES)
def test_a_hostile_line_is_named_and_teaches_nothing(tmp_path, line, problem):
    path = tmp_path / "log.jsonl"
    write(path, rows())
    data = line if isinstance(line, bytes) else line.encode()
    path.write_bytes(path.read_bytes() + data + b"\n")
    found = problems(path)
    assert any("row 4" in each for each in found), found
    assert any(re.search(problem, each) for each in found), found


def test_a_hostile_cell_is_named_and_teaches_nothing(tmp_path):
    path = tmp_path / "log.csv"
    for cell, problem in (("[" * DEEP, "be a JSON list"), ("9" * DEEP, "order")):
        write(path, rows())
        text = path.read_text().replace('"[1, 0]"', f'"{cell}"', 1)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert any(problem in each for each in problems(path))


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_list_that_expands_a_thousandfold_is_refused_unread(tmp_path, compression):
    path, long = tmp_path / "log.parquet", np.zeros(20_000_000)
    column = pa.array([long], pa.list_(pa.float64()))
    table = pa.table({"id": ["a"], "order": column, "tried": [1], "succeeded": [True]})
    pq.write_table(table, path, compression=compression)
    del table, column, long
    assert path.stat().st_size < 5_000

    def read():
        with pytest.raises(BadFile, match=r"row groups of at most .* group 0 takes 160,"):
            History(path)

    assert peak(read) + pa.total_allocated_bytes() < 8 * 2**20
    texts = ["y" * 1_000_000 + str(i) for i in range(100)]
    pq.write_table(pa.table({"id": texts}), path, compression="zstd", use_dictionary=False)
    with pytest.raises(BadFile, match="must have row groups of at most"):
        History(path)


def test_a_text_that_stands_in_every_row_is_held_once(tmp_path):
    path, long = tmp_path / "log.parquet", "y" * 20_000
    many = [row | {"id": str(i), "context": {"brand": long}} for i, row in enumerate(rows() * 300)]
    for row in many:
        del row["time"]
        row["candidates"] = [{"id": "a", "note": long}, {"id": "b", "note": long}]
    kinds = pa.struct([("id", pa.string()), ("note", pa.string())])
    given = [("candidates", pa.list_(kinds)), ("context", pa.struct([("brand", pa.string())]))]
    columns = {name: [row[name] for row in many] for name in many[0]}
    typed = {name: pa.array(columns[name], kind) for name, kind in given}
    pq.write_table(pa.table(columns | typed), path)
    del typed
    used = peak(lambda: list(History(path).decisions()))
    assert used + pa.total_allocated_bytes() < 8 * 2**20


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_a_mutant_of_a_log_is_refused_by_name_or_read(tmp_path, ending):
    path, rng = tmp_path / f"log{ending}", random.Random(ending)
    write(path, rows())
    data = path.read_bytes()
    bad = [b"[", b"{", b"9" * 30, b"\xff", b'"', b",", b"null", b"-1", b"1e999", b"NaN", b"\\ud800"]
    refused = 0
    for _ in range(MUTANTS):
        mutant = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(mutant))
            if rng.random() < 0.5:
                mutant[at : at + rng.randrange(5)] = rng.choice(bad)
            else:
                mutant[at] ^= 1 << rng.randrange(8)
        path.write_bytes(mutant)
        try:
            learn_from(recommended(), path)
        except LongrankError:
            refused += 1
    assert refused > MUTANTS // 4
