"""The command line: ``longrank --help``."""

import sys
from io import TextIOWrapper
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
    warm,
)
from longrank.cli.configuration import Configured
from longrank.cli.terminal import console, refuse
from longrank.cli.usage import Command, Group, spelled
from longrank.errors import InvalidInput, LongrankError
from longrank.service.errors import ServiceError

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
TRY, LOGS, SERVICE, PAPER = "Try it", "Your logs", "The service", "Experiments and the paper"
app.command(cls=Command, rich_help_panel=TRY)(play.play)
app.command(cls=Command, rich_help_panel=TRY)(demo.demo)
app.command(cls=Command, rich_help_panel=TRY)(bench.bench)
app.add_typer(logs.app, name="logs", rich_help_panel=LOGS)
app.command(cls=Command, rich_help_panel=LOGS)(evaluate.evaluate)
app.command(cls=Configured, rich_help_panel=SERVICE)(serve.serve)
app.command(cls=Command, rich_help_panel=SERVICE)(warm.warm)
app.command(cls=Command, rich_help_panel=SERVICE)(doctor.doctor)
app.command(cls=Command, rich_help_panel=SERVICE)(backup.backup)
app.add_typer(data.app, name="data", rich_help_panel=PAPER)
app.command(cls=Command, rich_help_panel=PAPER)(run.run)
app.command(cls=Command, rich_help_panel=PAPER)(report.report)
app.command(cls=Command, rich_help_panel=PAPER)(reproduce.reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"longrank {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def longrank(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """longrank learns in what order to try things, and when to stop.

    It chooses which payment provider, language model or supplier to try first, which one next, and
    when another attempt would cost more than it brings.

    Start with `longrank play` (needs `pip install '.[service]'`), or without a browser with
    `longrank demo` (needs `pip install '.[experiments]'`); install both in longrank's checkout.
    Have a log of past decisions? `longrank logs check FILE` says what it can tell you.
    `longrank COMMAND --help` explains a command with examples.
    """


def main() -> None:
    """Run the command line; print an error as one sentence.

    The exit code is 2 for an incorrect call, and 1 for a failure.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the character shows ?
    try:
        app()
    except ServiceError as error:
        refuse(str(error))
        sys.exit(1)
    except InvalidInput as error:
        name = spelled(error.parameter, sys.argv)
        refuse(error.sentence or f"{name} must {error.rule}, got {error.value}")
    except LongrankError as error:
        refuse(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        refuse(f"cannot use {error.filename}: {error.strerror}")
    sys.exit(2)
