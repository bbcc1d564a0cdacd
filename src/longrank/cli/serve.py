"""``longrank serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from longrank.cli import configuration
from longrank.cli.terminal import console, needs
from longrank.errors import InvalidInput

LOOPBACK = ("127.0.0.1", "::1", "localhost")
LogLevel = Literal["debug", "info", "warning", "error"]


def _limit(lowest: float, text: str) -> Any:
    return typer.Option(min=lowest, help=text)


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
        bool,
        typer.Option(
            "--no-auth", help="Require no keys, to try things out; on loopback addresses only."
        ),
    ] = False,
    allowed_hosts: Annotated[
        str,
        typer.Option(
            help="More host names that requests without a key may use, separated by commas."
        ),
    ] = "",
    snapshot_every: Annotated[
        int, typer.Option(min=1, help="Save a snapshot of a model after this many outcomes.")
    ] = 1000,
    log_level: Annotated[
        LogLevel, typer.Option(help="Lowest level to log; info logs every request.")
    ] = "info",
    max_bytes: Annotated[int, _limit(1024, "Maximum size of a request body, in bytes.")] = 8 << 20,
    max_buffered: Annotated[
        int, _limit(1024, "Maximum size of all bodies being received, in bytes.")
    ] = 256 << 20,
    max_queued: Annotated[
        int, _limit(1, "Maximum number of requests in progress; more get a 503.")
    ] = 512,
    max_per_key: Annotated[
        int, _limit(1, "Maximum number of requests in progress with one key; more get a 429.")
    ] = 256,
    max_rate: Annotated[
        float, _limit(0.0, "Maximum number of requests a second with one key; 0 sets no limit.")
    ] = 0.0,
    max_work: Annotated[
        float, _limit(1.0, "Maximum work of a decision: candidates x features x budget.")
    ] = 1e9,
    max_workers: Annotated[
        int | None,
        _limit(1, "Threads for large decisions. Default: one for each core, at least 2."),
    ] = None,
    max_large: Annotated[
        int,
        _limit(
            1,
            "Maximum number of large decisions of one key and model that wait for a "
            "thread; more get a 429.",
        ),
    ] = 16,
    max_header_bytes: Annotated[
        int, _limit(1024, "Maximum size of a request's headers, in bytes.")
    ] = 32 << 10,
    max_connections: Annotated[int, _limit(1, "Maximum number of open connections.")] = 1000,
    max_connections_per_key: Annotated[
        int, _limit(1, "Maximum number of open connections with one key.")
    ] = 500,
    max_metric_models: Annotated[
        int,
        _limit(0, "Maximum number of models with metrics of their own; the others share a label."),
    ] = 100,
    header_timeout: Annotated[
        float, _limit(0.1, "Seconds within which a request's headers must arrive.")
    ] = 10.0,
    body_timeout: Annotated[
        float, _limit(0.1, "Seconds within which a request's body must arrive.")
    ] = 30.0,
    idle_timeout: Annotated[
        float, _limit(0.1, "Seconds for which an idle connection stays open.")
    ] = 5.0,
    config: Annotated[
        Path | None,
        typer.Option(
            is_eager=True,
            callback=configuration.read,
            help="A TOML file with options: port = 8000, max-rate = 50, ...",
        ),
    ] = None,
) -> None:
    """Serve decisions over HTTP; outcomes may arrive hours later, and nothing is lost.

    Set the administrator's key in `LONGRANK_ADMIN_KEY`; otherwise the first start generates one and
    prints it once. If `LONGRANK_METRICS_KEY` is set, the metrics require that key. The log is
    written to standard error as JSON lines. SIGTERM and Ctrl-C stop the service after it has
    answered the requests in progress.

    Every option can also be set by its environment variable or in the TOML file of `--config`. The
    command line overrides the environment, and the environment overrides the file.

    Needs `pip install 'longrank[service]'`.

    Example: `longrank serve --port 8000 --store decisions.db`

    To try it on this machine, without keys: `longrank serve --no-auth`

    One of several processes: `longrank serve --host 0.0.0.0 --store postgresql://user@db/longrank`
    """
    given = dict(locals())
    from longrank.service.http.limits import Limits
    from longrank.service.server import run

    _check_place(store)
    if no_auth and host not in LOOPBACK:
        raise InvalidInput("host", "be a loopback address with --no-auth", repr(host))
    limits = {name: given[name] for name in Limits.__dataclass_fields__ if given[name] is not None}
    run(
        store,
        host=host,
        port=port,
        auth=not no_auth,
        admin=os.environ.get("LONGRANK_ADMIN_KEY") or None,
        hosts=[name.strip() for name in allowed_hosts.split(",") if name.strip()],
        metrics_key=os.environ.get("LONGRANK_METRICS_KEY") or None,
        snapshot_every=snapshot_every,
        log_level=log_level,
        show_key=_show,
        notify=lambda text: console.print(text, highlight=False, soft_wrap=True),
        **limits,
    )


def _check_place(store: str) -> None:
    """Refuse a SQLite file that cannot be where it should be."""
    from longrank.service.errors import StoreFailed

    if "://" in store:
        return
    if Path(store).is_dir():
        raise InvalidInput("store", "be a file or a PostgreSQL URL, not a folder", repr(store))
    if not Path(store).parent.is_dir():
        raise StoreFailed(f"cannot make {store}: there is no folder {Path(store).parent}")


def _show(key: str) -> None:
    """Print the key on one plain line, to be copied or read by a script."""
    print(f"The administrator's key, shown only now: {key}", flush=True)
