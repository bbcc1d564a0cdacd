"""The help of a command: two columns that fit a terminal of 80 characters."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group
from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand

NAMES = 30  # columns for the names of options, with the values that they take


class Explained(TyperCommand):
    """A command whose help puts name and value of an option into one column.

    Typer has a column each for name, short name, opposite, type and range, which leaves 22 of 80
    characters to the explanation.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - printed directly
        """Print usage, explanation, and a panel for each group of arguments and options."""
        parts = [Padding(Text(self.get_usage(ctx), style="bold"), 1)]
        if self.help:
            parts.append(Padding(Markdown(self.help), (0, 1, 1, 1)))
        panels: dict[str, Table] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:  # hidden
                continue
            kind = "Arguments" if param.param_type_name == "argument" else "Options"
            title = getattr(param, "rich_help_panel", None) or kind
            table = panels.setdefault(title, _table())
            table.add_row(Text(_short(record[0]), style="cyan"), _explained(record[1]))
        boxed = (
            Panel(table, title=title, title_align="left", border_style="dim")
            for title, table in panels.items()
        )
        Console().print(Group(*parts, *boxed), highlight=False)


def _table() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=NAMES, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    return table


def _explained(text: str) -> Text:
    """Return the explanation, and below it the variable, the default and the range, if any."""
    plain, mark, details = text.rpartition("  [")
    return Text.assemble(plain, "\n", ("[" + details, "dim")) if mark else Text(text)


def _short(declaration: str) -> str:
    """Return the names of an option and its value, without what a reader can guess.

    >>> _short("--port <int range>")
    '--port <int>'
    >>> _short("-h, --help <bool>")
    '-h, --help'
    """
    return declaration.replace(" range>", ">").removesuffix(" <bool>")
