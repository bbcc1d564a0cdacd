"""The process: uvicorn around the application, with a graceful stop."""

import gc
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn
from starlette.types import ASGIApp

try:
    import resource
except ImportError:  # pragma: no cover
    resource = None  # type: ignore[assignment]

from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreFailed
from longrank.service.http.access import LOOPBACK
from longrank.service.http.connections import Connections
from longrank.service.http.limits import Limits
from longrank.service.http.logs import Access, configure_logging
from longrank.service.store.store import open_store, plain_address

log = logging.getLogger("longrank.service")
OTHERS = 200  # descriptors for other things than connections
GRACE = 10  # seconds for requests in flight
COLLECT = (20_000, 10, 50)  # requests make many small lists, and hardly ever a cycle


def run(
    where: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    hosts: Sequence[str] = (),
    snapshot_every: int = 1000,
    log_level: str = "info",
    notify: Callable[[str], None],
    limit: Limits,
    **settings: Any,
) -> None:
    """Serve until SIGTERM or SIGINT, and answer the requests in flight first.

    ``notify`` gets the line that says where the service listens, ``hosts`` are further names for
    which a request without a key may be, and ``settings`` are those of :func:`build`.
    """
    configure_logging(log_level)
    _make_room(limit.max_connections)
    listener = listen(host, port)
    failures: list[Exception] = []
    try:
        store = open_store(where)
        store.writer.max_queued = 4 * limit.max_queued
        engine = Engine(store, snapshot_every=snapshot_every)

        def failed(error: Exception) -> None:
            failures.append(error)
            server.should_exit = True

        app = build(
            engine,
            hosts=_hosts(host, hosts),
            access=Access(sys.stderr) if log_level in ("debug", "info") else None,
            failed=failed,
            limit=limit,
            **settings,
        )
        server = make_server(app, limit)
        notify(
            f"longrank serves http://{host}:{listener.getsockname()[1]} from {plain_address(where)}"
        )
        gc.collect()
        gc.freeze()  # exempt what exists now: collecting it again would stall requests
        gc.set_threshold(*COLLECT)
        server.run(sockets=[listener])
    finally:
        listener.close()
    if failures:
        raise failures[0]


def make_server(app: ASGIApp, limit: Limits) -> uvicorn.Server:
    """Return the server of an application, with the service's limits."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=Connections(limit),  # type: ignore[arg-type]
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nothing uses the client's address
            timeout_keep_alive=limit.idle_timeout,  # type: ignore[arg-type]
            timeout_graceful_shutdown=GRACE,
            backlog=1024,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StoreFailed(
            f"cannot listen on {host}:{port}: {error.strerror} (--port takes another)"
        ) from error
    return listener


def _hosts(host: str, given: Sequence[str]) -> list[str] | None:
    """Return the names that a request without a key may be for; None for any."""
    if host in LOOPBACK:
        return [*LOOPBACK, *given]
    return [*LOOPBACK, host, *given] if given else None


def _make_room(connections: int) -> None:
    """Raise the limit on open files if necessary and possible."""
    if resource is None:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHERS
    if soft != resource.RLIM_INFINITY and soft < needed:
        room = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, hard))
        if room < needed:
            log.warning(
                "%d connections need %d descriptors, and there are %d: use a lower "
                "--max-connections, or raise the limit (ulimit -n)",
                connections,
                needed,
                room,
            )
