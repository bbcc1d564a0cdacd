"""Limits of the service: of a request, of a connection, and of what one key may use."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from longrank.service.http.problems import Refused


@dataclass(frozen=True)
class Limits:
    """What the service accepts at most; the options of ``longrank serve`` by the same names."""

    max_bytes: int = 8 << 20  # of a body
    max_buffered: int = 256 << 20  # bytes of bodies that are being received
    max_queued: int = 512  # requests in progress
    max_per_key: int = 256  # requests in progress with one key
    max_rate: float = 0.0  # requests a second with one key; 0: any number
    max_work: float = 1e9  # candidates x features x budget of a decision
    max_workers: int = max(2, os.cpu_count() or 2)  # threads for large decisions
    max_large: int = 16  # large decisions of one key and model that wait for a thread
    max_header_bytes: int = 32 << 10
    max_connections: int = 1000
    max_connections_per_key: int = 500
    max_metric_models: int = 100  # models with metrics of their own
    header_timeout: float = 10.0  # seconds until the head of a request is complete
    body_timeout: float = 30.0  # seconds until its body is, and until an answer is taken
    idle_timeout: float = 5.0  # seconds that a connection stays open between requests


class Quota:
    """What each key uses now: requests in progress, and requests a second."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._in_flight: dict[bytes, int] = {}
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def enter(self, key: bytes) -> None:
        """Count a request of a key; refuse it with 429 if the key has too many."""
        limit, rate = self._limits.max_per_key, self._limits.max_rate
        in_flight = self._in_flight.get(key, 0)
        if in_flight >= limit:
            raise _too_many(f"this key has {limit} requests in progress, its limit", 1)
        if rate:
            self._take(key, rate)
        self._in_flight[key] = in_flight + 1

    def leave(self, key: bytes) -> None:
        """Count a request of a key as done."""
        left = self._in_flight[key] - 1
        if left:
            self._in_flight[key] = left
        else:
            del self._in_flight[key]

    def _take(self, key: bytes, rate: float) -> None:
        """Take a token out of the key's bucket, which holds those of one second."""
        now, size = self._clock(), max(1.0, rate)
        tokens, then = self._buckets.get(key, (size, now))
        tokens = min(size, tokens + (now - then) * rate)
        if tokens < 1.0:
            seconds = (1.0 - tokens) / rate
            raise _too_many(f"this key may make {rate:g} requests a second", seconds)
        self._buckets[key] = tokens - 1.0, now


def _too_many(detail: str, seconds: float) -> Refused:
    wait = str(max(1, math.ceil(seconds)))
    return Refused(429, f"{detail}; try again later", {"Retry-After": wait})
