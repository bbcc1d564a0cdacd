"""The body of a request: received within its limits, and decoded."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from longrank.service.http.problems import Refused
from longrank.service.http.routes import JSON
from longrank.service.http.service import Load
from longrank.service.http.workers import Workers
from longrank.service.validation_errors import explain

LARGE = 64 << 10  # bytes that take about a millisecond to decode
MSGPACK = ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack")


class BodyReader:
    """Receives bodies: at most ``max_bytes`` of one, and ``max_buffered`` of all at a time.

    Large ones are decoded by ``workers``.
    """

    def __init__(self, max_bytes: int, max_buffered: int, workers: Workers) -> None:
        self._max_bytes, self._max_buffered, self._workers = max_bytes, max_buffered, workers
        self.receiving = 0  # bodies that are not complete
        self._buffered = 0  # bytes of them

    async def read(
        self, kind: type, headers: Mapping[bytes, bytes], receive: Receive, load: Load
    ) -> Any:
        """Receive a body and decode it: 415 for another media type, 413 if it is too long."""
        media = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0]
        if (media := media.strip().lower()) != JSON and media not in MSGPACK:
            raise Refused(415, f"the content type must be {JSON} or {MSGPACK[0]}")
        chunks, size, more = [], 0, True
        self.receiving += 1
        try:
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                chunks.append(message.get("body", b""))
                more = message.get("more_body", False)
                size += len(chunks[-1])
                self._buffered += len(chunks[-1])
                if size > self._max_bytes:
                    raise too_large(self._max_bytes)
                if more and self._buffered > self._max_buffered:
                    close = {"Connection": "close"}
                    raise Refused(503, "too many bodies are being received; try again later", close)
        finally:
            self.receiving -= 1
            self._buffered -= size
        load.size = size
        work = partial(decode, kind, chunks, packed=media != JSON)
        return work() if size <= LARGE else await self._workers.run(load.turn, work)


def too_large(max_bytes: int) -> Refused:
    """Return the refusal of a body that is too long."""
    detail = f"the body is longer than the limit of {max_bytes} bytes"
    return Refused(413, detail, {"Connection": "close"})


@cache
def _decoder(codec: Any, kind: type) -> Any:
    return codec.Decoder(kind)


def _untyped(codec: Any, data: bytes) -> Any:
    """Decode what breaks a rule, to show it; None if a number is out of range."""
    try:
        return codec.decode(data)
    except msgspec.ValidationError:  # of the other DecodeErrors, which mean that it is malformed
        return None


def decode(kind: type, chunks: list[bytes], *, packed: bool) -> Any:
    """Decode a body: 400 if it is malformed, InvalidInput if it breaks a rule."""
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    codec = msgspec.msgpack if packed else msgspec.json
    try:
        try:
            return _decoder(codec, kind).decode(data)
        except msgspec.ValidationError as error:
            raise explain(error, _untyped(codec, data), kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body cannot be decoded: {error}") from None
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
