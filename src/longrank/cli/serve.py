"""``longrank serve``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from longrank.cli.console import console
from longrank.errors import InvalidInput, MissingExtra

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen.")] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    store: Annotated[
        str, typer.Option(help="A SQLite file, or postgresql://user@host/database.")
    ] = "decisions.db",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="No keys, for trying things out; loopback only.")
    ] = False,
    snapshot_every: Annotated[
        int, typer.Option(min=1, help="Outcomes between two snapshots.")
    ] = 1000,
    most_bytes: Annotated[int, typer.Option(min=1024, help="The longest body.")] = 8 << 20,
    most_waiting: Annotated[int, typer.Option(min=1, help="Requests inside before 503.")] = 512,
    log_level: Annotated[
        str, typer.Option(help="debug, info (a line for each request), warning, error.")
    ] = "info",
) -> None:
    """Rank over HTTP, hear outcomes hours later, lose nothing.

    The administrator's key comes from LONGRANK_ADMIN_KEY, or is made and printed once at the
    first start. Logs are lines of JSON on standard error.
    """
    try:
        from longrank.service.server import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("longrank"):
            raise
        raise MissingExtra("longrank serve", "service") from error
    if no_auth and host not in LOOPBACK:
        raise InvalidInput("host", "be a loopback address with --no-auth", repr(host))
    if log_level not in ("debug", "info", "warning", "error"):
        raise InvalidInput("log_level", "be debug, info, warning or error", repr(log_level))
    run(
        store,
        host=host,
        port=port,
        auth=not no_auth,
        admin=os.environ.get("LONGRANK_ADMIN_KEY") or None,
        snapshot_every=snapshot_every,
        most_bytes=most_bytes,
        most_inside=most_waiting,
        log_level=log_level,
        show_key=_show,
        told=lambda text: console.print(text, highlight=False, soft_wrap=True),
    )


def _show(key: str) -> None:
    """Print the key whole and plain, so that it can be copied or read by a script."""
    print(f"The administrator's key, shown only now: {key}", flush=True)
