"""The blocks of a document, independent of how it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from longrank.document.charts import Chart


@dataclass(frozen=True)
class Heading:
    """A heading; ``level`` 1 is the title, ``name`` is the target of links."""

    text: str
    level: int
    name: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph; text in backticks is code."""

    text: str


@dataclass(frozen=True)
class Callout:
    """A sentence that nobody should miss; ``kind`` is "good", "bad", "open" or "unknown"."""

    text: str
    kind: str


@dataclass(frozen=True)
class Code:
    """Lines for the command line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Links:
    """Links to headings: their names with the texts shown."""

    targets: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Field:
    """A cell of a table: its text, a remark in small print, and whether it is emphasised."""

    text: str
    remark: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Grid:
    """A table; a cell that is plain text needs no :class:`Field`.

    ``groups`` are titles above that many columns, ``folded`` hides the table behind a title, and
    ``prose`` lists the columns that hold words rather than numbers. If ``stacked``, a narrow screen
    shows each row as a list of titles and values, of which none is out of sight.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Field | str, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    folded: str = ""
    prose: tuple[int, ...] = ()
    stacked: bool = False

    def fields(self) -> list[list[Field]]:
        """Return the rows with every cell as a field."""
        return [[Field(one) if isinstance(one, str) else one for one in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A figure in an SVG file, with its caption."""

    file: Path
    caption: str


@dataclass(frozen=True)
class Drawing:
    """A chart, with the names of its styles as a legend; ``narrow`` replaces it on telephones."""

    chart: Chart
    legend: tuple[str, ...] = ()
    narrow: Drawing | None = None


@dataclass(frozen=True)
class Beside:
    """Blocks beside others; on a narrow screen below each other."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]


_HUGE = 1e12  # numbers that nobody reads digit by digit
_MOST_DECIMALS = 9

Block = Heading | Prose | Callout | Code | Links | Grid | Picture | Drawing | Beside


def number(value: float | None, decimals: int = 2, sign: bool = False) -> str:
    """Format a number for readers: no minus before zero, a dash for a missing one.

    >>> number(-0.001), number(0.014, sign=True), number(None), number(-1e200)
    ('0.00', '+0.01', '–', '−1e+200')
    """
    if value is None or value != value:
        return "–"
    text = plain_number(value, decimals, sign)
    return text.replace("-", "\N{MINUS SIGN}", 1) if value < 0.0 else text


def plain_number(value: float, decimals: int = 2, sign: bool = False) -> str:
    """Format a number in ASCII, to be copied.

    >>> plain_number(-0.014), plain_number(-0.001), plain_number(1e200)
    ('-0.01', '0.00', '1e+200')
    """
    plus = "+" if sign else ""
    if abs(value) >= _HUGE:
        return format(value, f"{plus}.4g")
    return format(round(value, decimals) + 0.0, f"{plus}.{decimals}f")


def rounded(value: float, width: float, sign: bool = False) -> str:
    """Format an estimate with the digits that its interval deserves: two of the width.

    A little more or less than zero is not written as zero.

    >>> rounded(4.7064, 1.72), rounded(934.1, 1400.0), rounded(-43.0, 2000.0), rounded(1.5, 0.0)
    ('4.7', '900', '-40', '1.5')
    """
    if not 0.0 < width < math.inf or abs(value) >= _HUGE:
        return f"{value:{'+' if sign else ''}.10g}"
    digits = 1 - math.floor(math.log10(width))
    if not round(value, digits) and abs(value) > 1e-3 * width:
        digits = -math.floor(math.log10(abs(value)))
    if digits > _MOST_DECIMALS:
        return f"{value:{'+' if sign else ''}.10g}"
    return plain_number(round(value, digits), max(digits, 0), sign)


def fitted(value: float, width: float, *, sign: bool = False) -> str:
    """Format the same for readers; a dash if it is unknown.

    >>> fitted(-0.934, 1.4), fitted(0.934, 1.4, sign=True), fitted(math.nan, 1.4)
    ('−0.9', '+0.9', '–')
    """
    if math.isnan(value):
        return "–"
    text = rounded(value, width, sign)
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def span(low: float, high: float, width: float | None = None, *, sign: bool = False) -> str:
    """Format an interval for readers, by its own width unless another one is given.

    >>> span(-0.12, 1.93), span(math.nan, math.nan)
    ('−0.1 to 1.9', '–')
    """
    if not math.isfinite(low):
        return "–"
    width = high - low if width is None else width
    return " to ".join(fitted(end, width, sign=sign) for end in (low, high))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an s unless it is one.

    >>> counted(1, "other shuffle"), counted(1200, "cell")
    ('1 other shuffle', '1,200 cells')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
