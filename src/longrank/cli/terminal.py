"""What commands share: the console, progress bars, lists of values, optional dependencies."""

import functools
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.status import Status
from rich.table import Column, Table
from rich.text import Text

from longrank.errors import InvalidInput, MissingExtra

EXTRAS = {
    "experiments": ("joblib", "matplotlib", "pyarrow", "scipy", "sklearn", "threadpoolctl"),
    "service": (
        "anyio",
        "apsw",
        "httptools",
        "httpx",
        "msgspec",
        "prometheus_client",
        "psycopg",
        "starlette",
        "uvicorn",
    ),
}

P = ParamSpec("P")
T = TypeVar("T")


class Plain(Console):
    """A console that prints texts unchanged: brackets in the name of a file are no markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def status(self, status: RenderableType, **options: Any) -> Status:
        return super().status(Text(status) if isinstance(status, str) else status, **options)


console = Plain()


def needs(extra: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse a command at once, before it does any work, unless its extra is installed."""

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(command)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if any(find_spec(module) is None for module in EXTRAS[extra]):
                raise MissingExtra(f"`longrank {command.__name__}`", extra)
            return command(*args, **kwargs)

        return checked

    return decorate


def say(text: str, to: Console = console, style: str | None = None) -> None:
    """Print text unchanged: without highlighting or line breaks of our own."""
    to.print(text, style=style, highlight=False, soft_wrap=True)


def refuse(reason: str) -> None:
    """Print a sentence on standard error, on one line."""
    say(f"longrank: {reason}", Plain(stderr=True), "red")


def check_store(store: str) -> None:
    """Refuse a folder where a store should be."""
    if "://" not in store and Path(store).is_dir():
        raise InvalidInput("--store", "be a file or a PostgreSQL URL, not a folder", repr(store))


def listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table of texts, which wrap in their columns."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def counted(to: Console = console, transient: bool = False) -> Progress:
    """Make a progress bar: what is running, how many of how many, the time left.

    Where the terminal is narrow, the description and the bar are shortened, and no number. A
    ``transient`` one vanishes at the end, and is not shown at all without a terminal.
    """
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=3, no_wrap=True)),
        BarColumn(bar_width=None, table_column=Column(ratio=2)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("left"),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        console=to,
        expand=True,
        transient=transient,
    )


def names(text: str) -> list[str]:
    """Split a list of the command line: ``a,b,c``.

    >>> names("ind, dep")
    ['ind', 'dep']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def some(parameter: str, text: str) -> list[str]:
    """Split a list of the command line that must not be empty."""
    values = names(text)
    if not values:
        raise InvalidInput(parameter, "name at least one", repr(text))
    return values


def numbers(parameter: str, text: str, minimum: int, maximum: int) -> list[int]:
    """Split a list of whole numbers of the command line, all from ``minimum`` to ``maximum``.

    >>> numbers("budgets", "1,5,10", 1, 100)
    [1, 5, 10]
    """
    rule = f"be whole numbers from {minimum} to {maximum}, separated by commas"
    try:
        values = [int(part) for part in some(parameter, text)]
    except ValueError:
        raise InvalidInput(parameter, rule, repr(text)) from None
    if not all(minimum <= number <= maximum for number in values):
        raise InvalidInput(parameter, rule, repr(text))
    return values
