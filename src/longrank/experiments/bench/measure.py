"""How time is taken, and what a benchmark reports."""

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
    def least(self) -> float:
        return min(self.blocks)

    def per(self, calls: int) -> Times:
        """The same, where a call did a thing so many times."""
        return Times(tuple(block / calls for block in self.blocks))

    def __str__(self) -> str:
        return f"{shown(self.median)} (min {shown(self.least)})"


def shown(seconds: float) -> str:
    """A time with a unit that fits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def alternate(
    plays: Mapping[str, Play], blocks: int, calls: int = 1, *, threads: bool = False
) -> dict[str, Times]:
    """Time every play in turn, block after block, so that a noisy machine hurts all alike.

    Each is called once before that, which is not timed. Time is that of the processor, which does
    not count what other programs take, summed over our threads, and BLAS has one thread; with
    ``threads`` time is that of the clock, and everybody may use all cores, after a pause in which
    the threads of BLAS stop waiting busily for more.
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
class Row:
    """One figure: at most ``most`` is the aim, None where it is only reported."""

    what: str
    value: float
    most: float | None
    raw: str
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.most is None or self.value <= self.most


def ratio(what: str, ours: Times, other: Times, most: float | None, name: str = "reference") -> Row:
    """Our time over another: the medians; the minima stand beside it."""
    raw = f"longrank {ours}, {name} {other}; of the minima {ours.least / other.least:.3g}"
    return Row(what, ours.median / other.median, most, raw)
