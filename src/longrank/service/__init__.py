"""The decision service: rank over HTTP, learn from outcomes that arrive hours later, lose nothing.

The engine (:class:`Engine`) ranks, logs and learns, and is a plain Python object. The HTTP API is
a thin shell around it; :class:`Client` and :class:`AsyncClient` call the API.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from longrank.errors import MissingExtra

if TYPE_CHECKING:
    from longrank.service.client import AsyncClient, Client
    from longrank.service.engine.engine import Engine
    from longrank.service.store.store import open_store

_HOMES = {
    "AsyncClient": "client",
    "Client": "client",
    "Engine": "engine.engine",
    "open_store": "store.store",
}

__all__ = ["AsyncClient", "Client", "Engine", "open_store"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a client needs no server, and vice versa."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "longrank":
            raise
        raise MissingExtra("the service", "service") from error
