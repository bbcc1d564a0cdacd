"""A model's numbers over time: buckets that merge as they age, so that memory stays bounded."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from longrank.service.engine import drift
from longrank.service.store.records import DecisionRecord, OutcomeRecord

# Width of a bucket in seconds, and the age up to which buckets of this width are kept. Each width
# divides the next one, so that an older bucket is the sum of younger ones.
TIERS = (
    (5, 300),
    (15, 960),
    (60, 3_840),
    (300, 18_000),
    (900, 90_000),
    (7_200, 8 * 86_400),
    (86_400, math.inf),
)
MAX_OLDEST = 64  # buckets of the last tier; more of them merge in pairs
MAX_NAMES = 64  # candidates with numbers of their own; the first that are seen
MAX_POINTS = 110  # of a chart
MAX_MARKS = 200  # changes of candidates that are kept; the oldest go first
CLOCK_SET_BACK = 3_600.0  # seconds: entries that are older belong to a clock that was wrong

_TOTALS = ("decisions", "empty", "short", "outcomes", "successes", "gave_up", "reward", "spent")
DECISIONS, EMPTY, SHORT, OUTCOMES, SUCCESSES, GAVE_UP, REWARD, SPENT = range(len(_TOTALS))
BINS = 10  # of calibration: how many tries, their estimates, how many succeeded
_CALIBRATION = len(_TOTALS)
_NAMES = _CALIBRATION + 3 * BINS
FIRST, TRIED, SUCCEEDED, COST, EXPECTED = range(5)
_WIDTH = 5  # numbers of a candidate

Numbers = list[float]
Closed = tuple[float, bytes]  # when the bucket begins, and its numbers as little-endian float64


class Mark(msgspec.Struct, array_like=True, frozen=True):
    """A change of a candidate's success: when it began, the rate before, and since."""

    candidate: str
    at: float
    before: float
    since: float


class Series(msgspec.Struct, array_like=True):
    """Numbers of decisions and outcomes in buckets of time, for a model and its candidates.

    It depends on the log only: a replay gives the same. Copies share all buckets but the last,
    which alone changes; so a copy is cheap however long the history is. ``places`` says where in a
    bucket the numbers of a candidate begin, ``oldest`` is the width of the last tier's buckets.
    ``watched`` is what :mod:`drift` knows of each candidate, ``marks`` are the changes it noticed.
    """

    places: dict[str, int] = {}
    start: float = 0.0
    numbers: Numbers = []
    tiers: list[list[Closed]] = []
    oldest: float = float(TIERS[-1][0])
    watched: Numbers = []
    marks: list[Mark] = []

    def decide(self, at: float, decision: DecisionRecord) -> None:
        """Count a decision."""
        numbers, ids = self._bucket(at), decision.played.ids
        numbers[DECISIONS] += 1.0
        if not ids:
            numbers[EMPTY] += 1.0
            return
        if decision.is_short:
            numbers[SHORT] += 1.0
        place = self.places.get(ids[0]) or self._place(ids[0])
        numbers[place + FIRST] += 1.0

    def settle(
        self,
        at: float,
        decision: DecisionRecord,
        outcome: OutcomeRecord,
        reward: float,
        paid: Sequence[float],
    ) -> None:
        """Count an outcome and the tries that it tells about; ``paid`` is what they cost."""
        numbers, played = self._bucket(at), decision.played
        tried, succeeded = outcome.tried, outcome.succeeded
        numbers[OUTCOMES] += 1.0
        numbers[REWARD] += reward
        if succeeded:
            numbers[SUCCESSES] += 1.0
        elif decision.gave_up(outcome):
            numbers[GAVE_UP] += 1.0
        learned = outcome.attributable and not outcome.not_attributable
        estimates = _unpacking(tried).unpack_from(played.estimates)
        for i, (name, estimate) in enumerate(zip(played.ids, estimates, strict=False), 1):
            place = self.places.get(name) or self._place(name)
            good = succeeded and i == tried
            numbers[place + TRIED] += 1.0
            if good:
                numbers[place + SUCCEEDED] += 1.0
            if paid:
                numbers[place + COST] += paid[i - 1]
                numbers[SPENT] += paid[i - 1]
            if 0.0 <= estimate <= 1.0:  # a policy that does not learn has none
                numbers[place + EXPECTED] += estimate
                if learned:
                    bin = _CALIBRATION + 3 * min(int(estimate * BINS), BINS - 1)
                    numbers[bin] += 1.0
                    numbers[bin + 1] += estimate
                    numbers[bin + 2] += good
            if learned:
                self._watch(name, at, good, estimate)

    @property
    def last(self) -> float | None:
        """When the last bucket began; None if there is none."""
        return self.start if self.numbers else None

    def copy(self) -> Series:
        """Return a copy that does not change as this one goes on counting."""
        numbers, watched = self.numbers.copy(), self.watched.copy()
        return Series(
            self.places, self.start, numbers, self.tiers, self.oldest, watched, self.marks
        )

    def _watch(self, name: str, at: float, good: bool, estimate: float) -> None:
        """Look for a change of a candidate that has numbers of its own."""
        own = self.places.get(name)
        if own is None:
            return
        place = (own - _NAMES) // _WIDTH * drift.WIDTH
        missing = place + drift.WIDTH - len(self.watched)
        if missing > 0:
            self.watched.extend([0.0] * missing)
        change = drift.watch(self.watched, place, at, good, estimate)
        if change is not None:
            marks = [*self.marks, Mark(name, *change)]  # copies keep theirs
            self.marks = sorted(marks, key=lambda mark: mark.at)[-MAX_MARKS:]

    def _place(self, name: str) -> int:
        """Return where a new candidate's numbers begin; all that are too many share the last."""
        place = _NAMES + _WIDTH * len(self.places)
        if len(self.places) < MAX_NAMES:
            self.places = {**self.places, name: place}  # copies keep theirs
        self.numbers.extend([0.0] * (place + _WIDTH - len(self.numbers)))
        return place

    def _begin(self, start: float) -> Numbers:
        self.start = start
        self.numbers = [0.0] * (_NAMES + _WIDTH * len(self.places))
        return self.numbers

    def _bucket(self, at: float) -> Numbers:
        """Return the numbers of the bucket that a time belongs to: the last one, or a new one."""
        width = TIERS[0][0]
        if self.numbers and self.start - CLOCK_SET_BACK <= at < self.start + width:
            return self.numbers
        start = at // width * width
        if not self.numbers:
            self.tiers = self.tiers or [[] for _ in TIERS]
            return self._begin(start)
        self.tiers = [tier.copy() for tier in self.tiers]
        if start < self.start:  # what a clock in the future has dated is not later than now
            self._join(start)
            return self.numbers
        self.tiers[0].append((self.start, pack(self.numbers)))
        self._age(start)
        return self._begin(start)

    def _join(self, start: float) -> None:
        """Begin the last bucket earlier, together with all that begin after it."""
        for tier in self.tiers:
            while tier and tier[-1][0] >= start:
                _add(self.numbers, unpack(tier.pop()[1]))
        self.start = start

    def _age(self, now: float) -> None:
        """Merge buckets that are too old for their tier into those of the next one."""
        for i, (width, kept) in enumerate(TIERS[:-1]):
            tier = self.tiers[i]
            expired = 0
            while expired < len(tier) and tier[expired][0] + width <= now - kept:
                wider = self.oldest if i + 2 == len(TIERS) else TIERS[i + 1][0]
                _push(self.tiers[i + 1], tier[expired], wider)
                expired += 1
            del tier[:expired]
        while len(self.tiers[-1]) > MAX_OLDEST:
            self.oldest *= 2
            merged: list[Closed] = []
            for bucket in self.tiers[-1]:
                _push(merged, bucket, self.oldest)
            self.tiers[-1] = merged

    def within(self, seconds: float | None, now: float) -> Span:
        """Return the buckets of the last seconds before now (None: all), of one width."""
        young = [(self.start, self.numbers)] if self.numbers else []
        buckets = [(start, unpack(data)) for tier in reversed(self.tiers) for start, data in tier]
        buckets += [(start, list(numbers)) for start, numbers in young]
        since = -math.inf if seconds is None else now - seconds
        width = self._width(min(since, now), buckets[0][0] if buckets else now, now)
        found: list[tuple[float, Numbers]] = []
        for start, numbers in buckets:
            aligned = start // width * width
            if aligned + width <= since:
                continue
            if found and found[-1][0] >= aligned:
                _add(found[-1][1], numbers)
            else:
                found.append((aligned, numbers))
        return Span(width, found, list(self.places))

    def _width(self, since: float, first: float, now: float) -> float:
        """Return the smallest width of which all buckets since a time are there, and not many."""
        span = now - max(since, first)
        for width, kept in TIERS[:-1]:
            if span <= kept and span / width <= MAX_POINTS:
                return width
        return self.oldest


class Span(NamedTuple):
    """Buckets of one width: when each begins, and its numbers, oldest first."""

    width: float
    buckets: list[tuple[float, Numbers]]
    names: list[str]

    def total(self, which: int) -> list[float]:
        """Return a number of the model in each bucket."""
        return [_finite(numbers[which]) for _, numbers in self.buckets]

    def candidate(self, number: int, which: int) -> list[float]:
        """Return a number of a candidate in each bucket."""
        place = _NAMES + _WIDTH * number + which
        return [
            _finite(numbers[place]) if place < len(numbers) else 0.0 for _, numbers in self.buckets
        ]

    def calibration(self) -> list[tuple[float, float, float]]:
        """Return tries, sum of estimates and successes by tenths of the estimate."""
        sums = [0.0] * (3 * BINS)
        for _, numbers in self.buckets:
            _add(sums, numbers[_CALIBRATION:_NAMES])
        return [(sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]) for i in range(BINS)]

    def others(self) -> bool:
        """Return whether there were more candidates than have numbers of their own."""
        return any(len(numbers) > _NAMES + _WIDTH * MAX_NAMES for _, numbers in self.buckets)


@cache
def _unpacking(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}d")


def pack(numbers: Numbers) -> bytes:
    """Return numbers as little-endian float64, without the zeros at the end."""
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return struct.pack(f"<{len(numbers)}d", *numbers)


def unpack(data: bytes) -> Numbers:
    """Return the numbers in little-endian float64."""
    numbers = list(struct.unpack(f"<{len(data) // 8}d", data))
    return numbers + [0.0] * (_NAMES - len(numbers))


def _push(tier: list[Closed], bucket: Closed, width: float) -> None:
    """Append a bucket to a tier, or add it to the last one of the tier if it belongs there."""
    start = bucket[0] // width * width
    if tier and tier[-1][0] >= start:
        numbers = unpack(tier[-1][1])
        _add(numbers, unpack(bucket[1]))
        tier[-1] = (tier[-1][0], pack(numbers))
    else:
        tier.append((start, bucket[1]))


def _add(numbers: Numbers, more: Sequence[float]) -> None:
    numbers.extend([0.0] * (len(more) - len(numbers)))
    for i, number in enumerate(more):
        if number:
            numbers[i] += number


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0
