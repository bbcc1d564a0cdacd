"""What every handler works on, and what stands in a path or a query."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.metrics import Metrics

D = TypeVar("D")
_NAME, _ID = re.compile(messages.NAME), re.compile(messages.ID)


@dataclass
class Service:
    """What the calls work on; ``failed`` says that it could not start."""

    engine: Engine
    keys: Keys
    metrics: Metrics
    auth: bool = True
    failed: bool = False


Handler = Callable[[Service, Request], Awaitable[Response]]


def header(request: Request, name: bytes, default: D) -> str | D:
    """A header by its name in lower case, found sooner than Starlette makes a mapping of them."""
    for key, value in request.scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return default


def name_of(request: Request) -> str:
    """The model's name in the path."""
    name: str = request.path_params["name"]
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", f"match {messages.NAME}", repr(name[:80]))
    return name


def id_of(request: Request) -> str:
    """The decision's or the key's id in the path."""
    return checked_id("id", request.path_params["id"])


def checked_id(parameter: str, value: str) -> str:
    """An id as ids must be."""
    if not _ID.fullmatch(value):
        raise InvalidInput(parameter, f"match {messages.ID}", repr(value[:80]))
    return value


def whole(request: Request, parameter: str, default: int | None, most: int) -> int:
    """A whole number in the query, from 1 to ``most``."""
    text = request.query_params.get(parameter)
    if text is None and default is not None:
        return default
    if text is None or not (text.isascii() and text.isdigit() and 0 < len(text) < 10):
        raise InvalidInput(parameter, "be a whole number", repr(text))
    if not 1 <= int(text) <= most:
        raise InvalidInput(parameter, f"be between 1 and {most}", int(text))
    return int(text)
