"""The panel of the desk: the service's own page, with one section more and its buttons."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from longrank.errors import InvalidInput, LongrankError
from longrank.service.http.origins import LOOPBACK, Origins
from longrank.service.http.problems import Refused, report
from longrank.service.http.status import PAGE_HEADERS, static_file
from longrank.service.play.traffic import Desk

MAX_BODY = 1024
_KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_HEAD = (
    '<link rel="stylesheet" href="/desk/desk.css">\n  <script type="module" src="/desk/desk.js">'
)


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """A press of a button."""

    action: str
    which: str


class Panel:
    """Serve the page with the desk in it, and the desk's state and buttons; the rest is the app's.

    Like a service without keys it answers only under the names of loopback, and only its own page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._origins = app, Origins(LOOPBACK)
        self.desk: Desk | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or (path != "/" and not path.startswith("/desk/")):
            await self._app(scope, receive, send)
            return
        try:
            self._origins.check(scope["method"], dict(reversed(scope["headers"])))
            kind, body = await self._answer(scope, receive)
            status, headers = 200, {"Content-Type": kind, **PAGE_HEADERS}
        except (LongrankError, Refused) as error:
            status, headers, body = report(error, "desk")
        head = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        head += [(b"content-length", b"%d" % len(body)), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[str, bytes]:
        method, path = scope["method"], scope["path"]
        if method in ("GET", "HEAD"):
            if path == "/":
                return "text/html; charset=utf-8", _page()
            if path == "/desk/state":
                return "application/json", msgspec.json.encode(
                    self._ready().state(_payments(scope["query_string"].decode("latin-1")))
                )
            if path in ("/desk/desk.js", "/desk/desk.css"):
                return _KINDS[path.rpartition(".")[2]], _own(path.rpartition("/")[2])
        if (method, path) == ("POST", "/desk/act"):
            wanted = await _action(receive)
            self._ready().act(wanted.action, wanted.which)
            return "application/json", msgspec.json.encode(self._ready().state())
        raise Refused(404, "there is nothing at this path")

    def _ready(self) -> Desk:
        if self.desk is None:
            raise Refused(503, "the desk is not open yet")
        return self.desk


def _payments(query: str) -> int | None:
    """Return after how many payments the page wants to know the state: those that it shows."""
    given = parse_qs(query).get("payments", [""])[0]
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise InvalidInput("payments", "be a number of payments", repr(given))
    return int(given)


async def _action(receive: Receive) -> Action:
    body, more = b"", True
    while more and len(body) <= MAX_BODY:
        message: Any = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if len(body) > MAX_BODY:
        raise Refused(413, f"the body must be at most {MAX_BODY} bytes")
    try:
        return msgspec.json.decode(body, type=Action)
    except msgspec.DecodeError as error:
        raise Refused(400, str(error)) from error


@cache
def _own(name: str) -> bytes:
    return (files(__package__) / "static" / name).read_bytes()


@cache
def _page() -> bytes:
    page = static_file("index.html").body
    assert isinstance(page, bytes)
    for mark, text in (("head of a panel", f"{_HEAD}</script>"), ("panel", '<section id="desk">')):
        closing = "</section>" if mark == "panel" else ""
        page = page.replace(f"<!-- {mark} -->".encode(), f"{text}{closing}".encode())
    return page
