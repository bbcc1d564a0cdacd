"""``longrank serve``."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from longrank.cli.terminal import console, deprecated, needs
from longrank.errors import InvalidInput

LOOPBACK = ("127.0.0.1", "::1", "localhost")
LogLevel = Literal["debug", "info", "warning", "error"]


@needs("service")
def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    store: Annotated[
        str,
        typer.Option(help="A SQLite file or a PostgreSQL URL (postgresql://user@host/name)."),
    ] = "decisions.db",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Require no keys, to try things out; loopback only.")
    ] = False,
    snapshot_every: Annotated[
        int, typer.Option(min=1, help="Save a snapshot of a model after this many outcomes.")
    ] = 1000,
    max_bytes: Annotated[
        int, typer.Option(min=1024, help="Maximum size of a request body, in bytes.")
    ] = 8 << 20,
    max_queued: Annotated[
        int, typer.Option(min=1, help="Maximum number of requests in progress; more get a 503.")
    ] = 512,
    log_level: Annotated[
        LogLevel, typer.Option(help="Least severe level to log; info logs every request.")
    ] = "info",
    most_bytes: Annotated[
        int | None,
        typer.Option(min=1024, hidden=True, callback=deprecated("--most-bytes", "--max-bytes")),
    ] = None,
    most_waiting: Annotated[
        int | None,
        typer.Option(min=1, hidden=True, callback=deprecated("--most-waiting", "--max-queued")),
    ] = None,
) -> None:
    """Serve decisions over HTTP; outcomes may arrive hours later, and nothing is lost.

    Set the administrator's key in `LONGRANK_ADMIN_KEY`; otherwise one is made and printed at the
    first start, once. The log is JSON lines on standard error. SIGTERM and Ctrl-C stop the service
    after it has answered the requests in progress.

    Needs `pip install 'longrank[service]'`.

    Example: `longrank serve --port 8000 --store decisions.db`
    """
    from longrank.service.server import run

    if no_auth and host not in LOOPBACK:
        raise InvalidInput("host", "be a loopback address with --no-auth", repr(host))
    run(
        store,
        host=host,
        port=port,
        auth=not no_auth,
        admin=os.environ.get("LONGRANK_ADMIN_KEY") or None,
        snapshot_every=snapshot_every,
        max_bytes=most_bytes or max_bytes,
        max_in_flight=most_waiting or max_queued,
        log_level=log_level,
        show_key=_show,
        notify=lambda text: console.print(text, highlight=False, soft_wrap=True),
    )


def _show(key: str) -> None:
    """Print the key on one plain line, to be copied or read by a script."""
    print(f"The administrator's key, shown only now: {key}", flush=True)
