"""``longrank doctor``."""

from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated

import typer

from longrank.cli.terminal import EXTRAS, check_store, console, say
from longrank.errors import MissingExtra
from longrank.kernels.behind import NoCompiler, obstacle
from longrank.kernels.compilation import count_on_disk, mode


def doctor(
    store: Annotated[
        str,
        typer.Option(
            envvar="LONGRANK_STORE",
            help="The SQLite file or the PostgreSQL URL (postgresql://user@host/name).",
        ),
    ] = "decisions.db",
) -> None:
    """Check that this machine and a store are ready for `longrank serve`.

    Says whether kernels are compiled, checks versions, measures how fast the disk makes writes
    durable, and reads and verifies the whole store. Stop the service first: a store in use cannot
    be read. The exit code is 1 if something needs fixing.

    Everything except the kernel check needs `pip install '.[service]'`.

    Example: `longrank doctor --store decisions.db`
    """
    check_store(store)
    show([("kernels", True, kernels())])
    if any(find_spec(module) is None for module in EXTRAS["service"]):
        raise MissingExtra("the rest of `longrank doctor`", "service")
    from longrank.service.doctor import examine

    if not show(examine(store)):
        raise typer.Exit(1)


def kernels() -> str:
    """Say whether there is a compiler, and what follows from that."""
    try:
        if mode() == "plain" and not obstacle():
            return "plain Python, slower: LONGRANK_KERNELS is plain"
        count, folder = count_on_disk()
    except NoCompiler as error:
        return f"plain Python, slower: {error.reason}"
    if not folder:
        return "plain Python, slower: no folder can be written; set NUMBA_CACHE_DIR to one that can"
    compiled = f"{count} compiled for this machine by numba {version('numba')}, in {folder}"
    return f"{compiled}; more when they are needed, or now by `longrank warm`"


def show(findings: Iterable[tuple[str, bool, str]]) -> bool:
    """Print findings as they come; return whether all are good."""
    all_good = True
    for what, good, detail in findings:
        all_good = all_good and good
        console.print("ok  " if good else "bad ", style="green" if good else "red", end=" ")
        console.print(f"{what:<17}", end=" ")
        say(detail)
    return all_good
