"""CSV and JSON lines as rows."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from longrank.errors import BadFile
from longrank.logs import source
from longrank.logs.columns import COLUMNS
from longrank.logs.problems import Problem
from longrank.logs.source import Row, Rows, Source, Unneeded


def csv_file(path: Path) -> Source:
    """A CSV file, read line by line."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            header = next(csv.reader(file), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadFile(f"{path} is not a CSV file: {error}") from error
    return Source(path.name, tuple(header), lambda unneeded: _csv(path, header, unneeded))


def _csv(path: Path, header: list[str], unneeded: Unneeded) -> Rows:
    csv.field_size_limit(2**31 - 1)  # many candidates make a long cell
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        next(lines, None)
        number = 0
        while True:
            number += 1
            try:
                cells = next(lines)
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                yield number, Problem(path.name, number, "the row", "be readable", str(error))
                return
            if len(cells) != len(header):
                rule = f"have {len(header)} cells, one for each column"
                yield number, Problem(path.name, number, "the row", rule, str(len(cells)))
                continue
            row: Row = {}
            broken: Problem | None = None
            for name, cell in zip(header, cells, strict=True):
                if name in unneeded:
                    continue
                try:
                    row[name] = _typed(name, cell)
                except ValueError:
                    shown = cell if len(cell) < 40 else f"{cell[:40]}..."
                    broken = broken or Problem(
                        path.name, number, name, "be a JSON list", repr(shown)
                    )
            yield number, broken or row


def _typed(name: str, cell: str) -> Any:
    """The value that the text of a cell stands for; what it must be is for the rules to say."""
    if cell == "":
        return None
    if name in COLUMNS and COLUMNS[name].lists:
        return json.loads(cell)
    if name in ("id", "policy_version", "candidate"):
        return cell
    if name in ("succeeded", "learned"):
        return {"true": True, "1": True, "false": False, "0": False}.get(cell.lower(), cell)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return cell


def json_lines(path: Path) -> Source:
    """A file of JSON objects, one on each line; an object may leave out what it does not know.

    Its columns are the names in the first batch of lines.
    """
    names: dict[str, None] = {}
    for number, row in _json(path, frozenset()):
        if isinstance(row, dict):
            names |= dict.fromkeys(row)
        if number >= source.BATCH:
            break
    return Source(path.name, tuple(names), lambda unneeded: _json(path, unneeded))


def _json(path: Path, unneeded: Unneeded) -> Rows:
    keys = [f'"{name}":'.encode() for name in unneeded]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(_without(line, keys))
            except ValueError as error:
                yield number, Problem(path.name, number, "the line", "be JSON", str(error))
                continue
            if isinstance(row, dict):
                for name in unneeded:
                    row.pop(name, None)
                yield number, row
            else:
                shown = type(row).__name__
                yield number, Problem(path.name, number, "the line", "be a JSON object", shown)


def _without(line: bytes, keys: list[bytes]) -> bytes:
    """The line without numbers that nobody needs: making them of text is what takes the time.

    A key goes with its value where only numbers, lists and a comma stand before the next text,
    which then is the next key. Inside of a text no key is found: its quotation marks are escaped.
    """
    for key in keys:
        start = line.find(key)
        end = line.find(b'"', start + len(key))
        between = line[start:end]
        if start >= 0 and between.rstrip().endswith(b",") and b"}" not in between:
            line = line[:start] + line[end:]
    return line
