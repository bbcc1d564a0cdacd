"""A page of HTML that refers to nothing outside: its style, its tables, its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_STYLE = """
body { margin: 0 auto; padding: 1rem; max-width: 60rem; color: #1a1a1a; background: #fff;
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-top: 2px solid #1a1a1a;
  padding-top: .5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e4e4e4;
  font-variant-numeric: tabular-nums; vertical-align: top; }
th:first-child, td:first-child, .remarks :is(th, td):is(:nth-child(2), :last-child) {
  text-align: left; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #333; }
.legend span { margin-right: 1.2rem; white-space: nowrap; } .legend svg { width: 34px; }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """The whole page; the parts are HTML, the title is text."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, remarks: bool = False) -> str:
    """A table of texts; with ``remarks`` the last column holds sentences."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    kind = ' class="remarks"' if remarks else ""
    whole = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def shown(value: float, decimals: int = 4) -> str:
    """A number for readers; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.{decimals}f}"
