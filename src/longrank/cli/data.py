"""``longrank data``: the data sets of the paper."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from longrank.cli.terminal import console, listing, refuse
from longrank.cli.usage import Command, Group

app = typer.Typer(
    cls=Group,
    help="Download the data sets of the paper, or add files that you already have.",
    no_args_is_help=True,
)


@app.command("list", cls=Command)
def list_sources() -> None:
    """List the data sets: which ones you have, and how to get the others.

    Example: `longrank data list`
    """
    from longrank.datasets import SOURCES, data_folder
    from longrank.datasets.stored import present

    rows = []
    for name, known in SOURCES.items():
        here = bool(present(name))
        how = f"longrank data get {name}" if known.manual is None else known.manual
        rows.append((name, known.title, "yes" if here else "no", "" if here else how))
    listing(f"Data in {data_folder()}", ("name", "data set", "here", "how to get it"), rows)


@app.command("get", cls=Command)
def get_source(
    name: Annotated[str, typer.Argument(help="A name that `longrank data list` shows.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept the publisher's terms of use without being asked.")
    ] = False,
) -> None:
    """Download a data set from its publisher.

    Verifies sizes and checksums. Run the command again to resume an interrupted download. If the
    publisher has terms of use, you are asked to accept them. Files go to the folder named by the
    environment variable `LONGRANK_DATA`, or else to your cache folder.

    Example: `longrank data get mnist`
    """
    from longrank.datasets import get
    from longrank.datasets.sources import source

    known = source(name)
    accepted = yes
    if known.terms is not None and known.manual is None and not yes:
        console.print(f"{known.title}: {known.terms.summary}\n{known.terms.url}")
        accepted = _confirm("Do you accept these terms?")
        if not accepted:
            refuse("the terms were not accepted, so nothing was downloaded (--yes accepts them)")
            raise typer.Exit(1)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
    )
    with bar:
        tasks = {file.name: bar.add_task(file.name, total=file.size) for file in known.files}

        def progress(file: str, done: int, total: int | None) -> None:
            bar.update(tasks[file], completed=done, total=total)

        files = get(name, accept_terms=accepted, progress=progress)
    console.print(f"{known.title} is in {files[0].parent}")


def _confirm(question: str) -> bool:
    """Ask for confirmation; without a terminal the answer is no."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        console.print()
        return False


@app.command("add", cls=Command)
def add_source(
    name: Annotated[str, typer.Argument(help="A name that `longrank data list` shows.")],
    path: Annotated[
        Path, typer.Argument(help="The archive, folder or file, as its publisher provides it.")
    ],
) -> None:
    """Add a data set from files that you already have.

    Checks that the files are what they should be and copies them to the data folder.

    Example: `longrank data add yelp ~/Downloads/yelp_dataset.tar`
    """
    from longrank.datasets import SOURCES, add

    with console.status(f"reading {path}"):
        files = add(name, path)
    console.print(f"{SOURCES[name].title} is in {files[0].parent}")
