"""``longrank warm``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.terminal import console, counted, refuse
from longrank.kernels import behind, compilation

if TYPE_CHECKING:
    from longrank.policies import Policy


def warm(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Saved policies; default: all that longrank has."),
    ] = None,
) -> None:
    """Compile everything now rather than in the background later.

    longrank begins as plain Python, and a separate process compiles it for this machine meanwhile.
    That takes a minute or two, once; after `longrank warm`, a service is at full speed from its
    first decision. In an image for other machines of the same kind, set `NUMBA_CPU_NAME=generic`.

    Example: `longrank warm`

    For one saved policy: `longrank warm policy.longrank`
    """
    try:
        before, _ = compilation.count_on_disk()
    except behind.NoCompiler as error:
        refuse(f"nothing can be compiled: {error.reason}")
        raise typer.Exit(2) from None
    if compilation.mode() == "plain":
        refuse("LONGRANK_KERNELS=plain says that nothing is compiled: unset it first")
        raise typer.Exit(2)
    from longrank import load

    saved = {str(file): load(file) for file in files or []}  # before the bar, as it may fail
    jobs = behind.behind
    jobs.patience = float("inf")  # collect everything before compiling
    with compilation.using("auto"), counted() as bar:
        task = bar.add_task("finding out what to compile", total=None)
        for name in _exercised(saved):
            bar.update(task, description=f"finding out what to compile: {name}")
        jobs.load_all()
        total = len(jobs.wanted)
        bar.update(task, total=total, description="compiling", visible=total > 0)
        for job, left in jobs.make_all():
            bar.update(task, description=f"compiled {job}", completed=total - left)
    count, _ = compilation.count_on_disk()
    new = f"{count - before} of them new" if total else "as before"
    console.print(f"{count} kernels are compiled for this machine, {new}.", highlight=False)
    for reason in dict.fromkeys(jobs.failed.values()):
        kernels = ", ".join(str(job) for job in jobs.failed if jobs.failed[job] == reason)
        refuse(f"{reason} ({kernels})")
    if jobs.failed:
        raise typer.Exit(1)


def _exercised(saved: dict[str, Policy]) -> Iterator[str]:
    """Exercise policies in every way, the built-in ones if none is given; yield the names."""
    from longrank import logs, recommended, warming
    from longrank.logs.example import example

    for name, policy in saved.items() or warming.built_in():
        yield name
        warming.exercise(policy, warming.columns_of(policy))
    if saved:
        return
    yield "the evaluation of logs"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        logs.write(log, example(60))
        logs.evaluate(log, {"recommended": recommended()})
