"""The page at ``/``: static files, no build step."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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


def routes() -> list[Route]:
    """The page and what it needs."""
    folder = files("longrank.service") / "static"
    return [
        Route(path, _file((folder / name).read_bytes(), kind), methods=["GET"])
        for path, (name, kind) in _FILES.items()
    ]


def _file(data: bytes, kind: str) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        request.scope["call"] = "page"
        return Response(data, headers=_HEADERS, media_type=kind)

    return endpoint
