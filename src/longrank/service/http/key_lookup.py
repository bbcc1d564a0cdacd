"""Whose key it is, without a query in the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from longrank.service.engine.keys import Keys

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
            self._reading.add_done_callback(self._done)
        await asyncio.shield(self._reading)

    def _done(self, _: object) -> None:
        self._reading, self._read = None, self._clock()

    async def _load(self) -> None:
        await asyncio.sleep(max(0.0, self._read + PAUSE - self._clock()))
        await run_in_threadpool(self._keys.load)
