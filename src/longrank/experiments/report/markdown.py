"""A document as Markdown, with its figures beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from longrank.experiments.report.document import (
    Block,
    Code,
    Field,
    Grid,
    Heading,
    Links,
    Picture,
    Text,
)


def to_markdown(blocks: Iterable[Block], beside: Path) -> str:
    """The text of a file in the folder ``beside``."""
    return "\n\n".join(_block(block, beside) for block in blocks) + "\n"


def _block(block: Block, beside: Path) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_escaped(text)}"
        case Text(text):
            return _escaped(text)
        case Code(lines):
            return "\n".join(["```", *lines, "```"])
        case Links(targets):
            return "\n".join(f"- {_escaped(text)}" for _, text in targets)
        case Picture(file, caption):
            text = _escaped(caption)
            return f"![{text}]({file.relative_to(beside).as_posix()})\n\n*{text}*"
        case Grid():
            return _grid(block)


def _grid(grid: Grid) -> str:
    titles = [title for title, span in grid.groups for _ in range(span)] or [""] * len(grid.header)
    header = [f"{a} {b}".strip() for a, b in zip(titles, grid.header, strict=True)]
    lines = [[_escaped(text) for text in header], ["---"] * len(header)]
    lines += [[_field(field) for field in row] for row in grid.rows]
    title = [f"{_escaped(grid.folded)}:", ""] if grid.folded else []
    return "\n".join([*title, *(f"| {' | '.join(line)} |" for line in lines)])


def _field(field: Field) -> str:
    text = _escaped(field.text)
    text = f"**{text}**" if field.strong else text
    return f"{text} ({_escaped(field.remark)})" if field.remark else text


def _escaped(text: str) -> str:
    """Outside of code, nothing is taken for markup."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"([\\*_|\[\]<>#&])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", "\\|") for piece in pieces[1::2]]
    return "".join(pieces)
