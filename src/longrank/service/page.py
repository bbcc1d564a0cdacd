"""What stays as it is: the page at ``/`` (static files, no build step), and OpenAPI's document."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from longrank.service.calls import Call
from longrank.service.handlers.base import Handler, Service
from longrank.service.openapi import document

_FILES = {
    "/": ("index.html", "text/html"),
    "/static/page.css": ("page.css", "text/css"),
    "/static/page.js": ("page.js", "text/javascript"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def calls() -> list[Call]:
    """The page with what it needs, and the document."""
    folder = files("longrank.service") / "static"
    found = [("openapi", "/openapi.json", document(), "application/json")]
    for path, (name, kind) in _FILES.items():
        found.append(("page", path, (folder / name).read_bytes(), kind))
    return [
        Call(call, "GET", path, _constant(data, kind), "all", path, {200: None}, media=kind)
        for call, path, data, kind in found
    ]


def _constant(data: bytes, kind: str) -> Handler:
    async def handler(service: Service, request: Request) -> Response:  # noqa: ARG001
        return Response(data, headers=_HEADERS, media_type=kind)

    return handler
