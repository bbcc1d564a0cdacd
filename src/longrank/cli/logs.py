"""``longrank logs``: histories of decisions."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.checks import whole
from longrank.cli.terminal import console, listing, names, say
from longrank.cli.usage import Command, Group
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs

if TYPE_CHECKING:
    from longrank.logs import History

app = typer.Typer(
    cls=Group,
    help="Check logs of decisions and outcomes before you learn from them, or write an example.",
    no_args_is_help=True,
)

LogFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="A .parquet, .csv or .jsonl file. If the log consists of many files: all of them, a "
        "folder, or a pattern in quotes such as 'logs/*.parquet'. They are read in the order of "
        "their names.",
    ),
]
ColumnNames = Annotated[
    str,
    typer.Option(
        help="Names of the columns in your log, where they differ from the format: "
        "id=payment,ids=routes."
    ),
]
ContextNames = Annotated[
    str | None,
    typer.Option(
        help="Columns that are fields of the context, such as brand,country. Default: all others."
    ),
]

LogPayoffs = Annotated[
    str,
    typer.Option(
        help="What decisions are worth, if the log does not say: budget=3,attempt_cost=0.05, "
        "and optionally success=1 and give_up=-0.2."
    ),
]


def settings(parameter: str, text: str) -> dict[str, str]:
    """Split settings of the command line.

    >>> settings("columns", "id=payment,ids=routes")
    {'id': 'payment', 'ids': 'routes'}
    """
    parsed = {}
    for part in names(text):
        key, equals, value = part.partition("=")
        if not equals:
            raise InvalidInput(parameter, "be of the form name=value,name=value", repr(text))
        parsed[key] = value
    return parsed


def values(parameter: str, text: str) -> dict[str, Any]:
    """Split settings of the command line into numbers and texts."""
    parsed: dict[str, Any] = {}
    for key, value in settings(parameter, text).items():
        try:
            parsed[key] = float(value) if "." in value or "e" in value else int(value)
        except ValueError:
            parsed[key] = value
    return parsed


def _payoffs(text: str) -> Payoffs | None:
    """Return payoffs from their description."""
    if not text:
        return None
    given = values("payoffs", text)
    whole("budget", given.get("budget", 0))
    needed, known = {"budget", "attempt_cost"}, {"budget", "attempt_cost", "success", "give_up"}
    if needed - set(given) or set(given) - known:
        rule = "have budget and attempt_cost, and may have success and give_up"
        raise InvalidInput("payoffs", rule, repr(text))
    return Payoffs.linear(given.pop("budget"), **given)


def open_log(
    files: list[Path], columns: str = "", context: str | None = None, payoffs: str = ""
) -> History:
    """Open a log with the columns and payoffs that were named; many files are one log."""
    from longrank.logs import History

    fields = None if context is None else names(context)
    own = settings("columns", columns)
    data = files[0] if len(files) == 1 else files
    return History(data, columns=own, context=fields, payoffs=_payoffs(payoffs))


@app.command("check", cls=Command)
def check(
    file: LogFiles,
    columns: ColumnNames = "",
    context: ContextNames = None,
    payoffs: LogPayoffs = "",
    max_problems: Annotated[
        int, typer.Option(min=1, help="Maximum number of problems shown.")
    ] = 20,
) -> None:
    """Check a log row by row, and list what it can be used for.

    Says whether the log supports a warm start (learning from it), bounds, replay and estimates of
    what another policy would have earned, and why or why not. Files may be larger than memory. The
    exit code is 1 if a row breaks a rule.

    Parquet files need `pip install '.[logs]'`.

    Example: `longrank logs check log.csv`

    With other names of columns: `longrank logs check log.csv --columns id=payment,ids=routes`
    """
    from longrank import logs

    with console.status(f"reading {', '.join(map(str, file))}"):
        checked = logs.check(open_log(file, columns, context, payoffs))
    for problem in checked.problems[:max_problems]:
        say(str(problem), style="red")
    rest = len(checked.problems) + checked.more - max_problems
    if rest > 0:
        console.print(f"and {rest} more problems (see --max-problems)", style="red")
    if checked.fields:
        console.print(f"Fields of the candidates or their context: {', '.join(checked.fields)}")
    if checked.prices:
        console.print(f"Prices: {checked.prices}")
    if checked.ignored:
        console.print(
            f"Ignored columns that are not part of the format: {', '.join(checked.ignored)}"
        )
    if checked.problems:
        say(f"{checked.name}: fix this first; nothing is learned from a log that breaks a rule")
        raise typer.Exit(1)
    title = f"{checked.name}: {checked.decisions} decisions"
    uses = ((use.name, "yes" if use.possible else "no", use.reason) for use in checked.abilities)
    listing(title, ("use", "possible", "why"), uses)


@app.command("columns", cls=Command)
def list_columns() -> None:
    """List the columns of a log, what each one holds, and what it makes possible.

    Example: `longrank logs columns`
    """
    from longrank.logs import COLUMNS

    rows = (
        (name, column.holds.replace("`", ""), column.enables.replace("`", ""))
        for name, column in COLUMNS.items()
    )
    listing("Columns of a log (docs/logs.md)", ("column", "holds", "needed for"), rows)


@app.command("example", cls=Command)
def example(
    file: Annotated[
        Path, typer.Argument(help="File to write, which must not exist: .csv, .jsonl or .parquet.")
    ],
) -> None:
    """Write a simulated log of 2,000 payments, to try out the other commands.

    A desk drew the order of four providers at random and recorded the probabilities. Fees, cards,
    amounts, what a sale earns (in EUR), and outcomes are in the file.

    Parquet files need `pip install '.[logs]'`.

    Example: `longrank logs example example.csv`
    """
    from longrank.logs import write
    from longrank.logs.example import DECISIONS
    from longrank.logs.example import example as example_rows
    from longrank.logs.formats import SUFFIXES

    if file.suffix.lower() not in SUFFIXES:
        raise InvalidInput("file", "end in .parquet, .csv or .jsonl", repr(file.suffix))
    if file.exists():
        raise InvalidInput("file", "not exist yet", file)
    if not file.parent.is_dir():
        raise InvalidInput("file", "be in a folder that exists", file)
    with console.status(f"simulating {DECISIONS:,} payments"):
        count = write(file, example_rows())
    say(f"Wrote {count:,} simulated decisions to {file}. Next:")
    for command in ("logs check {}", "evaluate {} --report report.html"):
        say(f"  longrank {command.format(quote(str(file)))}")
