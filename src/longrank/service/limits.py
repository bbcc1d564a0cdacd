"""The outermost layer: request ids, size limit, shedding, unexpected errors, logs and metrics."""

from __future__ import annotations

import random
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longrank.service import problems
from longrank.service.engine.keys import Keys
from longrank.service.logs import Access
from longrank.service.metrics import Metrics

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KNOWN_PATH = re.compile(r"/[A-Za-z0-9._:~/-]{0,300}")


class Limits:
    """Keeps what is too large or too much away from the application."""

    def __init__(
        self,
        app: ASGIApp,
        lifespan: ASGIApp,
        *,
        metrics: Metrics,
        keys: Keys,
        access: Access | None,
        most_bytes: int,
        most_inside: int,
    ) -> None:
        self.app, self.lifespan = app, lifespan
        self.metrics, self.keys, self.access = metrics, keys, access
        self.most_bytes, self.most_inside = most_bytes, most_inside
        self.inside = 0
        metrics.inside.set_function(lambda: self.inside)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.lifespan(scope, receive, send)
            return
        started = time.perf_counter()
        request_id, length = _headers(scope)
        scope["request_id"] = request_id
        status = 0  # of an answer that has begun

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id.encode()))
            await send(message)

        self.inside += 1
        try:
            if length is not None and length > self.most_bytes:
                await problems.answer(request_id, self._too_large())(scope, receive, sending)
            elif self.inside > self.most_inside and scope["path"].startswith("/v1/"):
                self.metrics.shed.inc()
                busy = problems.response(
                    503, "too many requests are being served", request_id=request_id
                )
                await busy(scope, receive, sending)
            else:
                await self.app(scope, self._bounded(receive), sending)
        except Exception:
            if not status:
                detail = "an error of the service; see its log"
                close = {"Connection": "close"}  # as the server will, since the error goes on
                failed = problems.response(500, detail, request_id=request_id, headers=close)
                await failed(scope, receive, sending)
            raise  # to the server's log
        finally:
            self.inside -= 1
            seconds, status = time.perf_counter() - started, status or 500
            self.metrics.observe(scope.get("call", "other"), status, seconds)
            if self.access is not None:
                shown = self._shown(scope["path"], status)
                self.access(scope["method"], shown, status, seconds, request_id)

    def _shown(self, path: str, status: int) -> str:
        if not _KNOWN_PATH.fullmatch(path):
            return "(odd path)"
        return path if status < 400 else self.keys.hide(path)  # what was served is no key

    def _bounded(self, receive: Receive) -> Receive:
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.most_bytes:
                raise self._too_large()
            return message

        return receiving

    def _too_large(self) -> problems.Refused:
        detail = f"the body is longer than {self.most_bytes} bytes"
        return problems.Refused(413, detail, {"Connection": "close"})


def _headers(scope: Scope) -> tuple[str, int | None]:
    request_id, length = "", None
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text = value.decode("latin-1")
            request_id = text if _REQUEST_ID.fullmatch(text) else ""
        elif name == b"content-length" and value.isdigit():
            length = int(value)
    return request_id or f"{random.getrandbits(64):016x}", length
