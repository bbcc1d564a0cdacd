"""A table as rows, whatever it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from longrank.logs.problems import Problem

BATCH = 1024  # rows in memory at once
Row = dict[str, Any]
Rows = Iterator[tuple[int, Row | Problem]]
Unneeded = frozenset[str]


@dataclass(frozen=True)
class Source:
    """A table that can be read again and again: its name, its columns, its rows by number.

    ``rows`` is told which columns nobody needs; it leaves out all of them, or none.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Unneeded], Rows]
