"""A document as blocks, so that the page and the Markdown say the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """``level`` 1 is the title; ``name`` is what links point to."""

    text: str
    level: int
    name: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph; pieces in backticks are code."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines for the command line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Links:
    """Names of headings with their texts."""

    targets: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Field:
    """A field of a table: a text, a remark in small print, whether it is the best."""

    text: str
    remark: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Grid:
    """A table; ``groups`` are titles over that many columns, ``folded`` hides it behind a title.

    With ``prose`` the fields are sentences, not numbers.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Field, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    folded: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure: the SVG file, and what it shows."""

    file: Path
    caption: str


Block = Heading | Text | Code | Links | Grid | Picture


def number(value: float | None, decimals: int = 2, sign: bool = False) -> str:
    """A number for readers: no minus in front of zero, a dash where there is none.

    >>> number(-0.001), number(0.014, sign=True), number(None)
    ('0.00', '+0.01', '–')
    """
    if value is None or value != value:
        return "–"
    rounded = round(value, decimals) + 0.0
    return format(rounded, f"{'+' if sign else ''}.{decimals}f").replace("-", "\N{MINUS SIGN}")
