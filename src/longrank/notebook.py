"""Notebook: plain HTML tables, which objects show of themselves in Jupyter and the like."""

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 20  # of a table that may be long


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()
) -> str:
    """Return an HTML table: everything is escaped, and nothing is loaded from elsewhere.

    >>> table("A & B", [], [["<x>"]])
    '<table><caption>A &amp; B</caption><tbody><tr><td>&lt;x&gt;</td></tr></tbody></table>'
    """
    top = f"<thead><tr>{_cells('th', head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{body}</tbody></table>{below}"


def _cells(tag: str, texts: Iterable[object]) -> str:
    return "".join(f"<{tag}>{escape(str(text))}</{tag}>" for text in texts)
