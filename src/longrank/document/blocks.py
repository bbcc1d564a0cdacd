"""The blocks of a document, each of which writes itself as HTML and as Markdown.

>>> print(to_markdown([Heading("Values", 2), Grid(("policy", "value"), (("a", "0.5"),))]))
## Values
<BLANKLINE>
| policy | value |
| --- | --- |
| a | 0.5 |
<BLANKLINE>
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from longrank.document.charts import Chart


def to_html(blocks: Iterable[Block], title: str) -> str:
    """Write a document as one page without outside references: style and pictures are inside."""
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    body = "\n".join(block.html() for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def to_markdown(blocks: Iterable[Block], folder: Path = Path()) -> str:
    """Write a document for a file in ``folder``, to which the pictures are relative.

    Markdown cannot hold a drawing: a sentence says what it shows.
    """
    return "\n\n".join(block.markdown(folder) for block in blocks) + "\n"


class Block(ABC):
    """A part of a document."""

    @abstractmethod
    def html(self) -> str:
        """Return the block as an element of a page."""

    @abstractmethod
    def markdown(self, folder: Path) -> str:
        """Return the block for a Markdown file in ``folder``."""


@dataclass(frozen=True)
class Heading(Block):
    """A heading; ``level`` 1 is the title, ``name`` is the target of links."""

    text: str
    level: int
    name: str = ""

    def html(self) -> str:
        anchor = f' id="{escape(self.name)}"' if self.name else ""
        return f"<h{self.level}{anchor}>{_marked_up(self.text)}</h{self.level}>"

    def markdown(self, _: Path) -> str:
        return f"{'#' * self.level} {_escaped(self.text)}"


@dataclass(frozen=True)
class Prose(Block):
    """A paragraph; text in backticks is code."""

    text: str

    def html(self) -> str:
        return f"<p>{_marked_up(self.text)}</p>"

    def markdown(self, _: Path) -> str:
        return _escaped(self.text)


@dataclass(frozen=True)
class Callout(Block):
    """A highlighted sentence; ``kind`` is "good", "bad", "open" or "unknown"."""

    text: str
    kind: str

    def html(self) -> str:
        return f'<p class="callout {escape(self.kind)}">{_marked_up(self.text)}</p>'

    def markdown(self, _: Path) -> str:
        return f"> {_escaped(self.text)}"


@dataclass(frozen=True)
class Code(Block):
    """Lines for the command line."""

    lines: tuple[str, ...]

    def html(self) -> str:
        return f"<pre>{escape(chr(10).join(self.lines))}</pre>"

    def markdown(self, _: Path) -> str:
        return "\n".join(["```", *self.lines, "```"])


@dataclass(frozen=True)
class Links(Block):
    """Links to headings: their names with the texts shown."""

    targets: tuple[tuple[str, str], ...]

    def html(self) -> str:
        links = (f'<a href="#{escape(to)}">{_marked_up(text)}</a>' for to, text in self.targets)
        return f"<nav><ul>{''.join(f'<li>{link}</li>' for link in links)}</ul></nav>"

    def markdown(self, _: Path) -> str:
        return "\n".join(f"- {_escaped(text)}" for _, text in self.targets)


@dataclass(frozen=True)
class Picture(Block):
    """A figure in an SVG file, with its caption."""

    file: Path
    caption: str

    def html(self) -> str:
        svg = _inline(self.file.read_text("utf-8"), self.file.stem, self.caption)
        below = f"<figcaption>{_marked_up(self.caption)}</figcaption>"
        return f'<figure><div class="wide">{svg}</div>{below}</figure>'

    def markdown(self, folder: Path) -> str:
        text = _escaped(self.caption)
        return f"![{text}]({self.file.relative_to(folder).as_posix()})\n\n*{text}*"


@dataclass(frozen=True)
class Drawing(Block):
    """A chart, with the names of its styles as a legend; ``narrow`` replaces it on telephones."""

    chart: Chart
    legend: tuple[str, ...] = ()
    narrow: Drawing | None = None

    def html(self) -> str:
        names = f'<p class="legend">{self.chart.legend(self.legend)}</p>' if self.legend else ""
        drawn = f'<div class="wide">{self.chart.render()}</div>{names}'
        if self.narrow is None:
            return f"<figure>{drawn}</figure>"
        small = f'<div class="small">{self.narrow.html()}</div>'
        return f'<figure class="large">{drawn}</figure>\n{small}'

    def markdown(self, _: Path) -> str:
        return f"*{_escaped(self.chart.label)}*"


@dataclass(frozen=True)
class Beside(Block):
    """Blocks beside others; on a narrow screen below each other."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]

    def html(self) -> str:
        halves = ("\n".join(block.html() for block in half) for half in (self.left, self.right))
        return f'<div class="beside">{"".join(f"<div>{half}</div>" for half in halves)}</div>'

    def markdown(self, folder: Path) -> str:
        return "\n\n".join(block.markdown(folder) for block in (*self.left, *self.right))


@dataclass(frozen=True)
class Field:
    """A cell of a table: its text, a remark in small print, and whether it is emphasised."""

    text: str
    remark: str = ""
    strong: bool = False

    def html(self, tag: str, attributes: str, titled: bool) -> str:
        """Return the cell; one that is shown beside its title is a single element inside."""
        text = _marked_up(self.text)
        text = f"<b>{text}</b>" if self.strong else text
        if self.remark:
            text += f"<small>{_marked_up(self.remark)}</small>"
            text = f"<span>{text}</span>" if titled else text
        return f"<{tag}{attributes}>{text}</{tag}>"

    def markdown(self) -> str:
        """Return the cell with its remark in brackets."""
        text = _escaped(self.text)
        text = f"**{text}**" if self.strong else text
        return f"{text} ({_escaped(self.remark)})" if self.remark else text


@dataclass(frozen=True)
class Grid(Block):
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
        return [[Field(cell) if isinstance(cell, str) else cell for cell in r] for r in self.rows]

    @property
    def _above(self) -> list[str]:
        """The title above each column."""
        return [t for t, span in self.groups for _ in range(span)] or [""] * len(self.header)

    def html(self) -> str:
        starts = {sum(span for _, span in self.groups[:i]) for i in range(1, len(self.groups))}
        kinds, hints = [], []
        for i, (above, title) in enumerate(zip(self._above, self.header, strict=True)):
            names = ["first"] * (i in starts) + ["prose"] * (i in self.prose)
            kinds.append(f' class="{" ".join(names)}"' if names else "")
            hint = _unbroken(escape(f"{above}: {title}" if above else title))
            hints.append(f' data-title="{hint}"' if self.stacked else "")
        groups = "".join(
            f'<th class="group" colspan="{n}">{_marked_up(text)}</th>' for text, n in self.groups
        )
        titles = "".join(
            f"<th{kind}>{_marked_up(text)}</th>"
            for kind, text in zip(kinds, self.header, strict=True)
        )
        head = (f"<tr>{groups}</tr>" if groups else "") + f"<tr>{titles}</tr>"
        rows = ""
        for row in self.fields():
            cells = enumerate(zip(row, kinds, hints, strict=True))
            columns = (f.html("td" if i else "th", k + h, bool(h)) for i, (f, k, h) in cells)
            rows += f"<tr>{''.join(columns)}</tr>\n"
        stacked = ' class="stacked"' if self.stacked else ""
        table = f"<table{stacked}><thead>{head}</thead>\n<tbody>\n{rows}</tbody></table>"
        table = f'<div class="wide">{table}</div>'
        if self.folded:
            return f"<details><summary>{_marked_up(self.folded)}</summary>{table}</details>"
        return table

    def markdown(self, _: Path) -> str:
        header = [f"{a} {b}".strip() for a, b in zip(self._above, self.header, strict=True)]
        lines = [[_escaped(text) for text in header], ["---"] * len(header)]
        lines += [[field.markdown() for field in row] for row in self.fields()]
        title = [f"{_escaped(self.folded)}:", ""] if self.folded else []
        return "\n".join([*title, *(f"| {' | '.join(line)} |" for line in lines)])


def _inline(svg: str, name: str, label: str) -> str:
    """Make an SVG file part of a page: without prolog and metadata, its names made unique."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    head, rest = svg.split(">", 1)
    width = 4 / 3 * float(re.findall(r'width="([\d.]+)pt"', head)[0])  # in pixels
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    size = f"max-width:{width:.0f}px;min-width:{0.7 * width:.0f}px"
    return f'{head} role="img" aria-label="{escape(label)}" style="{size}">{rest}'


def _marked_up(text: str) -> str:
    """Escape text for a page; what is in backticks becomes code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", _unbroken(escape(text)))


def _unbroken(text: str) -> str:
    """Keep lines from breaking before %."""
    return re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)


def _escaped(text: str) -> str:
    """Escape Markdown outside code."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"([\\*_|\[\]<>#&])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", "\\|") for piece in pieces[1::2]]
    return "".join(pieces)
