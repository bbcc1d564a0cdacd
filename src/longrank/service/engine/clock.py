"""The time of the service: that of the system, without its jumps."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("longrank.service")
RATE = 0.05  # by which it may go faster or slower, to meet the system's clock again
MAX_GAP = 60.0  # seconds from the system's clock that are worth a warning
WARNING = 600.0  # seconds between two warnings


def _since_boot() -> float:
    """Return the seconds since the machine was started, also while it was suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970: those of the system's clock at the start, counted on by another one.

    Where the system's clock is set, this one does not jump, nor does it ever go back: it goes at
    most 5 percent faster or slower until both agree again. ``wall`` is the system's clock and
    ``elapsed`` one that nobody can set.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = _since_boot,
    ) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._at, self._now = elapsed(), wall()
        self._warned = float("-inf")
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return the time."""
        with self._lock:
            at, wall = self._elapsed(), self._wall()
            passed = max(0.0, at - self._at)
            gap = wall - (self._now + passed)
            self._now += passed + min(max(gap, -RATE * passed), RATE * passed)
            self._at = at
            if abs(gap) > MAX_GAP and at - self._warned > WARNING:
                self._warned = at
                log.warning(
                    "the system's clock is %+.0f seconds from the service's, which it meets again "
                    "slowly; check who sets it",
                    gap,
                )
            return self._now
