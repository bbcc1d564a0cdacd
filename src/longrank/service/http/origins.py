"""Where a request comes from: other sites' pages must not use a service without keys."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from longrank.service.http.problems import Refused

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HERE = (b"same-origin", b"none")  # Sec-Fetch-Site of our own page, and of a typed address


class Origins:
    """Check the headers that a browser sets and a page cannot change.

    A name that another site lets point here (DNS rebinding) is not among ``hosts``, and a page of
    elsewhere has another origin. ``hosts`` are names without a port; None allows all.
    """

    def __init__(self, hosts: Iterable[str] | None) -> None:
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    def check(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request for another host, or from a page of another origin, with 403."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and _part(f"//{host}", "hostname") not in self._hosts:
            raise Refused(403, "the header Host names another host; see --allowed-hosts")
        origin = headers.get(b"origin")
        if origin is not None and _part(origin.decode("latin-1").lower(), "netloc") != host:
            raise Refused(403, "the header Origin names a page of another origin")
        changes = method not in ("GET", "HEAD")
        if changes and headers.get(b"sec-fetch-site", b"none").lower() not in _HERE:
            raise Refused(403, "the header Sec-Fetch-Site names a page of another site")


def _part(url: str, part: str) -> str | None:
    """Return a part of a URL, None if it has none."""
    try:
        return getattr(urlsplit(url), part) or None
    except ValueError:
        return None
