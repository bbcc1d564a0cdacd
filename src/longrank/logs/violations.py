"""Problems of a log: which row breaks which rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from longrank.errors import BadFile

MAX_KEPT = 1000  # problems held in memory; further ones are only counted
_SHOWN = 5


@dataclass(frozen=True)
class Violation:
    """A rule that a row breaks; ``row`` counts from 1, and 0 stands for the whole table.

    >>> print(Violation("log.csv", 7, "tried", "be at most 3, the length of order", "5"))
    log.csv, row 7: tried must be at most 3, the length of order, got 5
    """

    file: str
    row: int
    column: str
    rule: str
    value: str
    sentence: str = ""  # in place of the usual one

    def __str__(self) -> str:
        where = f"{self.file}, row {self.row}" if self.row else self.file
        usual = f"{self.column} must {self.rule}, got {self.value}"
        return f"{where}: {self.sentence or usual}"


def keep(kept: list[Violation], problems: Sequence[Violation]) -> int:
    """Add problems to those kept, up to the limit; return how many did not fit."""
    room = max(MAX_KEPT - len(kept), 0)
    kept += problems[:room]
    return len(problems[room:])


def empty(file: str, got: str = "none") -> Violation:
    """Return the problem of a log without decisions."""
    return Violation(file, 0, "the log", "hold at least one decision", got)


class BadLog(BadFile):
    """A log that breaks the rules of the format; nothing was learned from it."""

    def __init__(self, problems: Sequence[Violation], more: int = 0) -> None:
        super().__init__(problems, more)
        self.problems = list(problems)
        self.more = more

    def __str__(self) -> str:
        shown = "\n".join(map(str, self.problems[:_SHOWN]))
        rest = len(self.problems) + self.more - _SHOWN
        more = f"\nand {rest} more; 'longrank logs check' lists them" if rest > 0 else ""
        return shown + more
