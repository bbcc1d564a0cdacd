"""Timing, and what a benchmark reports."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longrank.datasets.threads import one_thread

Play = Callable[[], object]
_PAUSE = 0.2  # seconds


@dataclass(frozen=True)
class Times:
    """Seconds of one call, measured in several blocks."""

    blocks: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.blocks)

    @property
    def minimum(self) -> float:
        return min(self.blocks)

    def per(self, calls: int) -> Times:
        """Seconds of one of the ``calls`` things that a call did."""
        return Times(tuple(block / calls for block in self.blocks))

    def __str__(self) -> str:
        return f"{shown(self.median)} (min {shown(self.minimum)})"


def shown(seconds: float) -> str:
    """Format a time with a unit that fits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def alternate(
    plays: Mapping[str, Play], blocks: int, calls: int = 1, *, threads: bool = False
) -> dict[str, Times]:
    """Time every play in turn, block after block, so that noise affects all of them alike.

    Each is called once before, untimed. By default time is processor time, summed over our
    threads, and BLAS has one thread. With ``threads`` it is wall-clock time and all cores may be
    used, after a pause in which the threads of BLAS stop spinning.
    """
    taken: dict[str, list[float]] = {name: [] for name in plays}
    now = time.perf_counter if threads else time.process_time
    with contextlib.nullcontext() if threads else one_thread("measuring"):
        for play in plays.values():
            play()
        for _ in range(blocks):
            for name, play in plays.items():
                time.sleep(_PAUSE if threads else 0.0)
                start = now()
                for _ in range(calls):
                    play()
                taken[name].append((now() - start) / calls)
    return {name: Times(tuple(blocks)) for name, blocks in taken.items()}


@dataclass(frozen=True)
class Measure:
    """One figure and its aim, an upper limit; None where the figure is only reported."""

    what: str
    value: float
    aim: float | None
    raw: str
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.aim is None or self.value <= self.aim


def ratio(
    what: str, ours: Times, other: Times, aim: float | None, name: str = "reference"
) -> Measure:
    """Our time over another, by the medians; the ratio of the minima is reported beside it."""
    raw = f"longrank {ours}, {name} {other}; of the minima {ours.minimum / other.minimum:.3g}"
    return Measure(what, ours.median / other.median, aim, raw)
