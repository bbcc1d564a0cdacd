"""The decision service: rank over HTTP, feedback hours later, nothing lost, state exact.

The engine (:class:`Engine`) ranks, logs and learns, and is a plain Python object; the HTTP part
is a thin shell around it; :class:`Client` and :class:`AsyncClient` talk to it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from longrank.errors import MissingExtra

if TYPE_CHECKING:
    from longrank.service.async_client import AsyncClient
    from longrank.service.client import Client
    from longrank.service.engine.engine import Engine
    from longrank.service.store.store import open_store

_HOMES = {
    "AsyncClient": "async_client",
    "Client": "client",
    "Engine": "engine.engine",
    "open_store": "store.store",
}

__all__ = ["AsyncClient", "Client", "Engine", "open_store"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a client needs no server, and vice versa."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "longrank":
            raise
        raise MissingExtra("the service", "service") from error
