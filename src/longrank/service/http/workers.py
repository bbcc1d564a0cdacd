"""Threads for work that would hold up the event loop, shared fairly by keys and models."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from longrank.service.http.problems import Refused

T = TypeVar("T")
SWITCH = 1e-4  # seconds after which a working thread gives way to the event loop, if that waits


class Lane(NamedTuple):
    """Whose work it is: the digest of a key, and a model. Each lane has its turn."""

    key: bytes
    model: str


class _Job(NamedTuple):
    work: Callable[[], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Workers:
    """At most ``max_workers`` threads, which take one job of each lane in turn.

    One lane has at most ``max_large`` jobs that wait, and leaves a thread to the others. The
    threads are started when they are needed.
    """

    def __init__(self, max_workers: int, max_large: int) -> None:
        self._max_workers, self._max_large = max_workers, max_large
        self._share = max(1, max_workers - 1)  # of the threads, for one lane
        self._lanes: OrderedDict[Lane, deque[_Job]] = OrderedDict()
        self._running: Counter[Lane] = Counter()
        self._threads = 0
        self._interval = sys.getswitchinterval()
        self._wake = threading.Condition()
        self._closing = False

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread."""
        return sum(map(len, list(self._lanes.values())))

    async def run(self, lane: Lane, work: Callable[[], T]) -> T:
        """Run work in a thread when its lane has its turn; 429 if too much waits in the lane."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._wake:
            queue = self._lanes.get(lane)
            if queue is not None and len(queue) >= self._max_large:
                detail = f"{len(queue)} large requests of this key wait for this model"
                raise Refused(429, f"{detail}; try again later", {"Retry-After": "1"})
            if queue is None:
                queue = self._lanes[lane] = deque()
            queue.append(_Job(work, future, loop))
            if self._threads < self._max_workers:
                self._threads += 1
                name = f"longrank-worker-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            self._wake.notify()
        return await future

    def close(self) -> None:
        """Let the threads end once nothing waits."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()

    def _work(self) -> None:
        while True:
            with self._wake:
                while (found := self._next()) is None:
                    if self._closing and not self._lanes:
                        return
                    self._wake.wait()
                lane, job = found
                if not self._running:
                    self._interval = sys.getswitchinterval()
                    sys.setswitchinterval(min(SWITCH, self._interval))
                self._running[lane] += 1
            result, error = None, None
            try:
                result = job.work()
            except BaseException as raised:  # it is the caller's, in the event loop
                error = raised
            with self._wake:
                self._running[lane] -= 1
                if not self._running[lane]:
                    del self._running[lane]
                if not self._running:
                    sys.setswitchinterval(self._interval)
                self._wake.notify_all()
            with suppress(RuntimeError):  # the event loop is closed, and nobody waits
                job.loop.call_soon_threadsafe(_deliver, job.future, result, error)
            del job, result, error

    def _next(self) -> tuple[Lane, _Job] | None:
        """Take the next job of the next lane that has not its share of the threads yet."""
        for lane, queue in self._lanes.items():
            if self._running[lane] < self._share:
                job = queue.popleft()
                if queue:
                    self._lanes.move_to_end(lane)
                else:
                    del self._lanes[lane]
                return lane, job
        return None


def _deliver(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # whoever waited has gone
        if asyncio.iscoroutine(result):
            result.close()
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
