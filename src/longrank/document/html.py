"""A document as one HTML page without outside references: style and pictures are inside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

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

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; color: #1a1a1a; background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 2px solid #1a1a1a; }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .3rem; }
p { max-width: 46rem; margin: .6rem 0; }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none; }
a { color: #005a8f; }
code, pre { font: .85em/1.45 ui-monospace, Menlo, Consolas, monospace; }
pre { background: #f4f4f4; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .55rem; text-align: right; vertical-align: top; white-space: nowrap; }
th { font-weight: 600; }
thead tr:last-child th { border-bottom: 1px solid #1a1a1a; }
thead .group { text-align: center; border-bottom: 1px solid #999; }
tbody tr { border-bottom: 1px solid #e4e4e4; }
tbody th { position: sticky; left: 0; background: #fff; }
td small, th small { display: block; color: #595959; font-size: .78rem; line-height: 1.2; }
td b { font-weight: 750; }
.first { border-left: 1px solid #999; }
.prose { text-align: left; white-space: normal; min-width: 4rem; }
th.prose:first-child { min-width: 9rem; }
tbody th.prose { position: static; font-weight: 400; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: #005a8f; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg text { font-family: system-ui, sans-serif; }
.legend span { margin-right: 1.2rem; white-space: nowrap; font-size: .88rem; }
.legend svg { display: inline-block; width: 34px; vertical-align: middle; }
.callout { max-width: 60rem; margin: .7rem 0; padding: .7rem 1rem; font-size: 1.06rem;
  background: #f6f6f6; border-left: .4rem solid #767676; }
.callout.good { border-color: #00734f; background: #eef8f4; }
.callout.bad { border-color: #b3320b; background: #fdf2ee; }
.callout.open { border-color: #0072b2; background: #eff6fb; }
.callout code { font-size: 1em; font-weight: 650; }
.beside > div { min-width: 0; }
@media (min-width: 1000px) { .beside { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; } }
.stacked thead th { white-space: normal; vertical-align: bottom; }
@media (max-width: 800px) {
  .stacked { width: 100%; }
  .stacked thead { display: none; }
  .stacked tr { display: block; padding: .4rem 0; }
  .stacked :is(th, td) { display: flex; justify-content: space-between; gap: 1rem;
    padding: .15rem 0; white-space: normal; text-align: right; }
  .stacked tbody th { font-weight: 650; }
  .stacked td:empty { display: none; }
  .stacked td::before { content: attr(data-title); color: #595959; text-align: left; }
}
.small { display: none; }
@media (min-width: 2200px) { html { font-size: 20px; } }
@media (min-width: 3200px) { html { font-size: 26px; } }
@media (max-width: 640px) { .small { display: block; } .large { display: none; } }
figcaption { font-size: .88rem; color: #444; max-width: 46rem; }
"""


def to_html(blocks: Iterable[Block], title: str) -> str:
    """Write a document as a page."""
    body = "\n".join(_block(block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(text, level, name):
            anchor = f' id="{escape(name)}"' if name else ""
            return f"<h{level}{anchor}>{_text(text)}</h{level}>"
        case Prose(text):
            return f"<p>{_text(text)}</p>"
        case Callout(text, kind):
            return f'<p class="callout {escape(kind)}">{_text(text)}</p>'
        case Code(lines):
            return f"<pre>{escape(chr(10).join(lines))}</pre>"
        case Links(targets):
            links = (f'<li><a href="#{escape(to)}">{_text(text)}</a></li>' for to, text in targets)
            return f"<nav><ul>{''.join(links)}</ul></nav>"
        case Picture(file, caption):
            svg = inline(file.read_text("utf-8"), file.stem, caption)
            below = f"<figcaption>{_text(caption)}</figcaption>"
            return f'<figure><div class="wide">{svg}</div>{below}</figure>'
        case Drawing(chart, legend, narrow):
            names = f'<p class="legend">{chart.legend(legend)}</p>' if legend else ""
            drawn = f'<div class="wide">{chart.render()}</div>{names}'
            if narrow is None:
                return f"<figure>{drawn}</figure>"
            return (
                f'<figure class="large">{drawn}</figure>\n<div class="small">{_block(narrow)}</div>'
            )
        case Grid():
            return _grid(block)
        case Beside(left, right):
            halves = ("\n".join(map(_block, half)) for half in (left, right))
            return f'<div class="beside">{"".join(f"<div>{half}</div>" for half in halves)}</div>'


def inline(svg: str, name: str, label: str) -> str:
    """Make an SVG file part of a page: without prolog and metadata, its names made unique."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for mark in ('id="', 'href="#', "url(#"):
        svg = svg.replace(mark, f"{mark}{name}-")
    head, rest = svg.split(">", 1)
    width = 4 / 3 * float(re.findall(r'width="([\d.]+)pt"', head)[0])  # in pixels
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    size = f"max-width:{width:.0f}px;min-width:{0.7 * width:.0f}px"
    return f'{head} role="img" aria-label="{escape(label)}" style="{size}">{rest}'


def _grid(grid: Grid) -> str:
    starts, column = set(), 0
    for _, span in grid.groups:
        starts.add(column)
        column += span
    lines = []
    if grid.groups:
        cells = (f'<th class="group" colspan="{n}">{_text(text)}</th>' for text, n in grid.groups)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    kinds = []
    for i in range(len(grid.header)):
        names = ["first"] * (i in starts and i > 0) + ["prose"] * (i in grid.prose)
        kinds.append(f' class="{" ".join(names)}"' if names else "")
    titles = (
        f"<th{kind}>{_text(text)}</th>" for kind, text in zip(kinds, grid.header, strict=True)
    )
    head = "".join([*lines, f"<tr>{''.join(titles)}</tr>"])
    above = [f"{text}: " if text else "" for text, span in grid.groups for _ in range(span)]
    named = zip(above or [""] * len(grid.header), grid.header, strict=True)
    hints = [f' data-title="{escape("".join(one))}"' if grid.stacked else "" for one in named]
    rows = "".join(f"<tr>{_row(row, kinds, hints)}</tr>\n" for row in grid.fields())
    stacked = ' class="stacked"' if grid.stacked else ""
    table = f"<table{stacked}><thead>{head}</thead>\n<tbody>\n{rows}</tbody></table>"
    table = f'<div class="wide">{table}</div>'
    if grid.folded:
        return f"<details><summary>{_text(grid.folded)}</summary>{table}</details>"
    return table


def _row(row: list[Field], kinds: list[str], hints: list[str]) -> str:
    cells = []
    for i, (field, kind, hint) in enumerate(zip(row, kinds, hints, strict=True)):
        text = _text(field.text)
        text = f"<b>{text}</b>" if field.strong else text
        remark = f"<small>{_text(field.remark)}</small>" if field.remark else ""
        tag = "td" if i else "th"
        both = f"<span>{text}{remark}</span>" if hint and remark else text + remark
        cells.append(f"<{tag}{kind}{hint}>{both}</{tag}>")
    return "".join(cells)


def _text(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
