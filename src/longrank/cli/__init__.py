"""The command line: ``longrank --help``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from longrank import __version__
from longrank.cli import (
    backup,
    bench,
    data,
    demo,
    doctor,
    evaluate,
    logs,
    play,
    report,
    reproduce,
    run,
    serve,
)
from longrank.cli.configuration import Configured
from longrank.cli.terminal import console, refuse
from longrank.errors import LongrankError
from longrank.service.errors import ServiceError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(play.play)
app.command()(run.run)
app.command()(report.report)
app.command()(reproduce.reproduce)
app.command(cls=Configured)(serve.serve)
app.command()(doctor.doctor)
app.command()(backup.backup)
app.command()(bench.bench)
app.command()(evaluate.evaluate)
app.add_typer(data.app, name="data")
app.add_typer(logs.app, name="logs")


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"longrank {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def longrank(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """longrank learns in what order to try things, and when to stop.

    Start with `longrank play` (needs `pip install 'longrank[service]'`), or without a browser with
    `longrank demo` (needs `pip install 'longrank[experiments]'`). `longrank COMMAND --help`
    explains a command with an example.
    """


def main() -> None:
    """Run the command line; print an error as one sentence.

    The exit code is 2 if something was wrong with what was asked, and 1 if it was tried and failed.
    """
    try:
        app()
    except ServiceError as error:
        refuse(str(error))
        sys.exit(1)
    except LongrankError as error:
        refuse(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        refuse(f"cannot use {error.filename}: {error.strerror}")
    sys.exit(2)
