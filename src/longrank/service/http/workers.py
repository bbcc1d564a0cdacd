"""Threads for work that would hold up the event loop, and which decisions need one."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from longrank.service.http.problems import Refused

T = TypeVar("T")
Shape = tuple[int, ...]
SWITCH = 1e-4  # seconds after which a working thread gives way to the event loop, if that waits
MAX_INLINE = 0.001  # seconds of the event loop that a decision may take
TIMED = 16  # of so many quick decisions one is timed: asking for processor time is slow
_WEIGHT = 0.2  # of the latest decision in the mean duration of its shape
_MAX_SHAPES = 10_000


class Turn(NamedTuple):
    """Whose work it is: the digest of a key, and a model."""

    key: bytes
    model: str


class Workers:
    """At most ``max_workers`` threads at a time, of which each turn leaves one to the others.

    At most ``max_waiting`` jobs of a turn wait for their turn. Whatever waits is served in order,
    so that nobody waits for more than one share of the threads of everybody else's.
    """

    def __init__(self, max_workers: int, max_waiting: int) -> None:
        self._threads = CapacityLimiter(max_workers)
        self._share, self._max_waiting = max(1, max_workers - 1), max_waiting
        self._turns: dict[Turn, CapacityLimiter] = {}
        self._running, self._interval = 0, sys.getswitchinterval()
        self._seconds: dict[Shape, float] = {}  # of the processor: moving averages
        self._quick = 0

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread."""
        limiters = (self._threads, *self._turns.values())
        return sum(limiter.statistics().tasks_waiting for limiter in limiters)

    async def run(self, turn: Turn, work: Callable[[], T]) -> T:
        """Run work in a thread; refuse it with 429 if too much of this turn waits."""
        own = self._turns.get(turn)
        if own is None:
            own = self._turns[turn] = CapacityLimiter(self._share)
        if (waiting := own.statistics().tasks_waiting) >= self._max_waiting:
            detail = f"{waiting} large requests of this key wait for this model"
            raise Refused(429, f"{detail}; try again later", {"Retry-After": "1"})
        self._running += 1
        sys.setswitchinterval(min(SWITCH, self._interval))
        try:
            async with own:
                return await run_sync(work, limiter=self._threads)
        finally:
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._interval)
            if not own.borrowed_tokens and not own.statistics().tasks_waiting:
                self._turns.pop(turn, None)

    async def run_timed(self, shape: Shape, turn: Turn, work: Callable[[], T]) -> T:
        """Run work at once if work of this shape is known to be quick, else in a thread.

        The first of a shape may have to compile. While a thread works for the same model, quick
        work could have to wait for it, and goes to a thread as well.
        """
        quick = self._seconds.get(shape, math.inf) < MAX_INLINE
        if quick and not any(other.model == turn.model for other in self._turns):
            self._quick += 1
            return work() if self._quick % TIMED else self._timed(shape, work)
        return await self.run(turn, partial(self._timed, shape, work))

    def _timed(self, shape: Shape, work: Callable[[], T]) -> T:
        started = time.thread_time()
        try:
            return work()
        finally:
            seconds = time.thread_time() - started
            if len(self._seconds) >= _MAX_SHAPES:
                self._seconds.clear()
            before = self._seconds.get(shape, seconds)
            self._seconds[shape] = before + _WEIGHT * (seconds - before)
