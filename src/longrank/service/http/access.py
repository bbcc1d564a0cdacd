"""Who may use the service: the owner of a key, and pages of which origin where no key is needed."""

import asyncio
import time
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool

from longrank.service.engine.keys import Keys
from longrank.service.http.problems import Refused

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HERE = (b"same-origin", b"none")  # Sec-Fetch-Site of our own page, and of a typed address
UNKNOWN = 1.0  # negative-cache lifetime, seconds
PAUSE = 0.25  # minimum seconds between two reads of the store
_MAX_UNKNOWN = 4096


class KeyLookup:
    """Find the owner of a key in memory, and if another process may have made it, in the store.

    A thread reads the store, once for all concurrent callers.
    """

    def __init__(self, keys: Keys, exclusive: bool, clock: Callable[[], float] = time.monotonic):
        self._keys, self._exclusive, self._clock = keys, exclusive, clock
        self._unknown: dict[bytes, float] = {}
        self._reading: asyncio.Task[None] | None = None
        self._read = 0.0

    async def owner(self, key: bytes) -> int | None:
        """Return the number of the model that a key opens, None if there is no such key.

        ``key`` is the key's digest.
        """
        owner = self._keys.known(key)
        if owner is not None or self._exclusive:
            return owner
        if self._clock() < self._unknown.get(key, 0.0):
            return None
        for _ in range(1 if self._reading is None else 2):  # a read that began earlier may be stale
            await self._look()
            owner = self._keys.known(key)
            if owner is not None:
                return owner
        if len(self._unknown) >= _MAX_UNKNOWN:
            self._unknown.clear()
        self._unknown[key] = self._clock() + UNKNOWN
        return None

    async def _look(self) -> None:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._load())
        await asyncio.shield(self._reading)

    async def _load(self) -> None:
        try:
            await asyncio.sleep(max(0.0, self._read + PAUSE - self._clock()))
            await run_in_threadpool(self._keys.load)
        finally:
            self._reading, self._read = None, self._clock()


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
