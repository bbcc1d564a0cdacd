"""A document as Markdown, with its pictures in files next to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from longrank.document.blocks import (
    Beside,
    Block,
    Callout,
    Code,
    Drawing,
    Field,
    Grid,
    Heading,
    Links,
    Picture,
    Prose,
)


def to_markdown(blocks: Iterable[Block], folder: Path = Path()) -> str:
    """Write a document for a file in ``folder``, to which the pictures are relative.

    Markdown cannot hold a drawing: a sentence says what it shows.
    """
    return "\n\n".join(_block(block, folder) for block in blocks) + "\n"


def _block(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_escaped(text)}"
        case Prose(text):
            return _escaped(text)
        case Callout(text):
            return f"> {_escaped(text)}"
        case Code(lines):
            return "\n".join(["```", *lines, "```"])
        case Links(targets):
            return "\n".join(f"- {_escaped(text)}" for _, text in targets)
        case Picture(file, caption):
            text = _escaped(caption)
            return f"![{text}]({file.relative_to(folder).as_posix()})\n\n*{text}*"
        case Drawing(chart):
            return f"*{_escaped(chart.label)}*"
        case Grid():
            return _grid(block)
        case Beside(left, right):
            return "\n\n".join(_block(each, folder) for each in (*left, *right))


def _grid(grid: Grid) -> str:
    titles = [title for title, span in grid.groups for _ in range(span)] or [""] * len(grid.header)
    header = [f"{a} {b}".strip() for a, b in zip(titles, grid.header, strict=True)]
    lines = [[_escaped(text) for text in header], ["---"] * len(header)]
    lines += [[_field(field) for field in row] for row in grid.fields()]
    title = [f"{_escaped(grid.folded)}:", ""] if grid.folded else []
    return "\n".join([*title, *(f"| {' | '.join(line)} |" for line in lines)])


def _field(field: Field) -> str:
    text = _escaped(field.text)
    text = f"**{text}**" if field.strong else text
    return f"{text} ({_escaped(field.remark)})" if field.remark else text


def _escaped(text: str) -> str:
    """Escape markup outside code."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"([\\*_|\[\]<>#&])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", "\\|") for piece in pieces[1::2]]
    return "".join(pieces)
