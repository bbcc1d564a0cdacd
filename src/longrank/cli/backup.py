"""``longrank backup``."""

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.doctor import show
from longrank.cli.terminal import needs


@needs("service")
def backup(
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")
    ],
    store: Annotated[
        str, typer.Option(envvar="LONGRANK_STORE", help="The SQLite file to copy.")
    ] = "decisions.db",
) -> None:
    """Copy the store of a running service to a file, and verify the copy.

    The service keeps running. Every checksum of the copy is verified and every model is replayed
    before the file appears; if something is wrong there is no file, and the exit code is 1.

    Needs `pip install '.[service]'`.

    Example: `longrank backup --store decisions.db backups/monday.db`
    """
    from longrank.service.backup import backup

    if not show(backup(store, out)):
        raise typer.Exit(1)
