"""From bytes to messages and back."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from longrank.service.handlers.base import header
from longrank.service.problems import Refused

T = TypeVar("T")
_JSON = "application/json"
_MSGPACK = ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack")
_encode = msgspec.json.Encoder().encode
_decoders: dict[tuple[type, bool], Any] = {}
_FIELD, _PATH = re.compile(r" field `([^`]+)`"), re.compile(r" - at `\$\.?([^`]+)`$")


async def read(request: Request, kind: type[T]) -> T:
    """The body as a message: 415 of another type, 400 not readable, 422 not what it must be."""
    media = header(request, b"content-type", _JSON).partition(";")[0].strip().lower()
    packed = media in _MSGPACK
    if not packed and media != _JSON:
        raise Refused(415, f"the body must be {_JSON} or {_MSGPACK[0]}")
    decoder = _decoders.get((kind, packed))
    if decoder is None:
        make = msgspec.msgpack.Decoder if packed else msgspec.json.Decoder
        decoder = _decoders[kind, packed] = make(kind)
    body = await _whole(request)
    try:
        message: T = decoder.decode(body)
        return message
    except msgspec.ValidationError as error:
        detail = f"the body is not a {kind.__name__}: {error}"
        raise Refused(422, detail, parameter=_blamed(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body cannot be read: {error}") from None
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None


async def _whole(request: Request) -> bytes:
    """All of the body; ``request.body()`` would keep it."""
    chunks, more = [], True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


def _blamed(sentence: str) -> str | None:
    """The field that msgspec complains of, as ``candidates[0].id``."""
    found = [pattern.search(sentence) for pattern in (_PATH, _FIELD)]
    return ".".join(match[1] for match in found if match) or None


def answer(message: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A message as a response."""
    return Response(_encode(message), status, headers, media_type=_JSON)
