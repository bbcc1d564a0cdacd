"""The command line: ``longrank --help``."""

from __future__ import annotations

import sys

from longrank.cli.console import console  # first: it says what to install where typer is missing

import typer  # isort: skip

from longrank.cli import bench, data, demo, doctor, evaluate, logs, report, reproduce, run, serve
from longrank.errors import LongrankError

app = typer.Typer(
    help="longrank learns in what order to try things, and when to stop.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(run.run)
app.command()(report.report)
app.command()(reproduce.reproduce)
app.command()(serve.serve)
app.command()(doctor.doctor)
app.command()(bench.bench)
app.command()(evaluate.evaluate)
app.add_typer(data.app, name="data")
app.add_typer(logs.app, name="logs")


def main() -> None:
    """Run the command line; what longrank refuses is said in one sentence."""
    try:
        app()
    except LongrankError as error:
        console.print(f"longrank: {error}", style="red", highlight=False)
        sys.exit(2)
