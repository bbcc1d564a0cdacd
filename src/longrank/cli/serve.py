"""``longrank serve``."""

import os
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from longrank.cli import configuration
from longrank.cli.terminal import check_store, needs, say
from longrank.errors import InvalidInput
from longrank.service.http.limits import Limits

LogLevel = Literal["debug", "info", "warning", "error"]
Command = TypeVar("Command", bound=Callable[..., None])


def limited(command: Command) -> Command:
    """Give a command an option for each of the service's limits, in place of ``**limits``."""
    kinds, own = get_type_hints(Limits), signature(command, eval_str=True)
    options = [
        Parameter(
            limit.name,
            Parameter.KEYWORD_ONLY,
            default=limit.default,
            annotation=Annotated[kinds[limit.name], typer.Option(**limit.metadata)],
        )
        for limit in fields(Limits)
    ]
    parameters = [*list(own.parameters.values())[:-1], *options]
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


@needs("service")
@limited
def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    store: Annotated[
        str, typer.Option(help="A SQLite file or a PostgreSQL URL (postgresql://user@host/name).")
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
    config: Annotated[  # noqa: ARG001 - its callback reads it
        Path | None,
        typer.Option(
            is_eager=True,
            callback=configuration.read,
            help="A TOML file with options: port = 8000, max-rate = 50, ...",
        ),
    ] = None,
    **limits: Any,
) -> None:
    """Serve decisions over HTTP; outcomes may arrive hours later, and nothing is lost.

    Set the administrator's key in `LONGRANK_ADMIN_KEY`; otherwise the first start generates one and
    prints it once. If `LONGRANK_METRICS_KEY` is set, the metrics require that key. The log is
    written to standard error as JSON lines. SIGTERM and Ctrl-C stop the service after it has
    answered the requests in progress.

    Every option can also be set by its environment variable or in the TOML file of `--config`. The
    command line overrides the environment, and the environment overrides the file.

    Needs `pip install '.[service]'`.

    Example: `longrank serve --port 8000 --store decisions.db`

    To try it on this machine, without keys: `longrank serve --no-auth`

    One of several processes: `longrank serve --host 0.0.0.0 --store postgresql://user@db/longrank`
    """
    from longrank.service.http.access import LOOPBACK
    from longrank.service.server import run

    _check_place(store)
    if no_auth and host not in LOOPBACK:
        raise InvalidInput("host", "be a loopback address with --no-auth", repr(host))
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
        notify=say,
        limit=Limits(**limits),
    )


def _check_place(store: str) -> None:
    """Refuse a SQLite file that cannot be where it should be."""
    from longrank.service.errors import StoreFailed

    if "://" in store:
        return
    check_store(store)
    if not Path(store).parent.is_dir():
        raise StoreFailed(f"cannot make {store}: there is no folder {Path(store).parent}")


def _show(key: str) -> None:
    """Print the key on one plain line, to be copied or read by a script."""
    print(f"The administrator's key, shown only now: {key}", flush=True)
