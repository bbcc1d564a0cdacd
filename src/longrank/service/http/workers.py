"""Threads for work that would hold up the event loop."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from longrank.service.http.problems import Refused

T = TypeVar("T")
SWITCH = 1e-4  # seconds after which a working thread yields to a waiting event loop


class Turn(NamedTuple):
    """Whose work it is: the digest of a key, and a model."""

    key: bytes
    model: str


class Workers:
    """At most ``max_workers`` threads at a time, of which each turn leaves one to the others.

    None: one for each core, at least 2.

    At most ``max_waiting`` jobs of a turn wait for their turn. Whatever waits is served in order,
    so that no turn waits for more than one share of the threads of each other turn.
    """

    def __init__(self, max_workers: int | None, max_waiting: int) -> None:
        max_workers = max_workers or max(2, os.cpu_count() or 2)
        self._threads = CapacityLimiter(max_workers)
        self._share, self._max_waiting = max(1, max_workers - 1), max_waiting
        self._turns: dict[Turn, CapacityLimiter] = {}
        self.jobs = Counter[str]()  # by model, those that wait included
        self._interval = sys.getswitchinterval()

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a thread."""
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
        self.jobs[turn.model] += 1
        sys.setswitchinterval(min(SWITCH, self._interval))
        try:
            async with own:
                return await run_sync(work, limiter=self._threads)
        finally:
            self.jobs[turn.model] -= 1
            if not self.jobs[turn.model]:
                del self.jobs[turn.model]
            if not self.jobs:
                sys.setswitchinterval(self._interval)
            if not own.borrowed_tokens and not own.statistics().tasks_waiting:
                self._turns.pop(turn, None)
