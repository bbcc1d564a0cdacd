"""What is wrong with a log, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longrank.errors import BadFile


@dataclass(frozen=True)
class Problem:
    """A rule that a row breaks. ``row`` counts the rows of the table from 1; 0 is all of it.

    >>> print(Problem("log.csv", 7, "tried", "be at most 3, the length of order", "5"))
    log.csv, row 7: tried must be at most 3, the length of order, got 5
    """

    file: str
    row: int
    column: str
    rule: str
    value: str

    def __str__(self) -> str:
        where = f"{self.file}, row {self.row}" if self.row else self.file
        return f"{where}: {self.column} must {self.rule}, got {self.value}"


MOST = 1000  # problems in memory; the rest is counted


def keep(kept: list[Problem], found: Sequence[Problem]) -> int:
    """Add to the problems that are kept; returns how many found no room."""
    room = max(MOST - len(kept), 0)
    kept += found[:room]
    return len(found[room:])


def empty(file: str) -> Problem:
    """What is wrong with a log without decisions."""
    return Problem(file, 0, "the log", "hold at least one decision", "none")


class BadLog(BadFile):
    """A log that breaks the rules of the format; nothing was learned from it."""

    def __init__(self, problems: Sequence[Problem], more: int = 0) -> None:
        super().__init__(problems, more)
        self.problems = list(problems)
        self.more = more

    def __str__(self) -> str:
        shown = "\n".join(map(str, self.problems[:5]))
        rest = len(self.problems) + self.more - 5
        return shown + (f"\nand {rest} more; longrank logs check lists them" if rest > 0 else "")
