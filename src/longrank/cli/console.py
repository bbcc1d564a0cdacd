"""What all commands share: the console, progress bars, lists on the command line."""

from __future__ import annotations

import sys

from longrank.errors import InvalidInput, MissingExtra

try:
    import typer  # noqa: F401  # checked here, once for all commands
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
except ImportError:
    sys.exit(str(MissingExtra("the command line", "experiments")))

console = Console()


def counted(width: int = 44) -> Progress:
    """A bar with what is done, how many of how many, and the time left."""
    return Progress(
        TextColumn("{task.description:<" + str(width) + "}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


def names(text: str) -> list[str]:
    """A list on the command line: ``a,b,c``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(parameter: str, text: str) -> list[int]:
    """Whole numbers on the command line: ``1,5,10``."""
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise InvalidInput(parameter, "be whole numbers with commas between them", text) from None
