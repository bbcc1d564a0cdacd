"""A model's statistics: counters, numbers over time, and changes of candidates.

All of it depends on the log only: a replay gives the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from longrank.arrays import Array
from longrank.service.messages import Curve, ModelStats, PositionStats
from longrank.service.store.records import DecisionRecord, OutcomeRecord, copied

MAX_BINS = 200  # of the curve

# numbers over time: buckets that merge as they age, so that memory stays bounded

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
MAX_MARKS = 200  # maximum number of marks; the oldest are dropped
CLOCK_SET_BACK = 3_600.0  # seconds: older entries come from a wrong clock

TOTALS = ("decisions", "empty", "short", "outcomes", "successes", "gave_up", "reward", "spent")
DECISIONS, EMPTY, SHORT, OUTCOMES, SUCCESSES, GAVE_UP, REWARD, SPENT = range(len(TOTALS))
BINS = 10  # of calibration: how many tries, their estimates, how many succeeded
_CALIBRATION = len(TOTALS)
_NAMES = _CALIBRATION + 3 * BINS
FIRST, TRIED, SUCCEEDED, COST, EXPECTED = range(5)
WIDTH = 5  # numbers of a candidate

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

    It depends on the log only: a replay gives the same. Copies share all buckets but the last, the
    only one that changes, so a copy is cheap however long the history. ``places`` maps a candidate
    to the offset of its numbers in a bucket, ``oldest`` is the width of the last tier's buckets.
    ``watched`` is the drift state of all candidates, ``marks`` are the changes detected.
    """

    places: dict[str, int] = {}
    start: float = 0.0
    numbers: Numbers = []
    tiers: list[list[Closed]] = []
    oldest: float = float(TIERS[-1][0])
    watched: Numbers = []
    marks: list[Mark] = []

    def decide(self, decision: DecisionRecord) -> None:
        """Count a decision."""
        numbers, played = self._bucket(decision.created), decision.played
        ids = played.ids
        numbers[DECISIONS] += 1.0
        if not ids:
            numbers[EMPTY] += 1.0
            return
        if len(ids) < len(played.values) - 1:
            numbers[SHORT] += 1.0
        place = self.places.get(ids[0]) or self._place(ids[0])
        numbers[place + FIRST] += 1.0

    def settle(self, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Count an outcome and its attempts."""
        at, played, paid = outcome.recorded, decision.played, outcome.paid
        numbers = self._bucket(at)
        tried, succeeded = outcome.tried, outcome.succeeded
        numbers[OUTCOMES] += 1.0
        numbers[REWARD] += outcome.reward
        numbers[SUCCESSES] += succeeded
        numbers[GAVE_UP] += outcome.gave_up
        learned = outcome.attributable and not outcome.not_attributable
        for i in range(1, tried + 1):
            name, estimate = played.ids[i - 1], played.estimates[i - 1]
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
                self._look_for_change(name, at, good, estimate)

    @property
    def last(self) -> float | None:
        """When the last bucket began; None if there is none."""
        return self.start if self.numbers else None

    def copy(self) -> Series:
        """Return a copy that does not change as this one goes on counting."""
        own = {"numbers": self.numbers.copy(), "watched": self.watched.copy()}
        return msgspec.structs.replace(self, **own)

    def _look_for_change(self, name: str, at: float, good: bool, estimate: float) -> None:
        """Look for a change of a candidate that has numbers of its own."""
        own = self.places.get(name)
        if own is None:
            return
        place = (own - _NAMES) // WIDTH * WATCHED
        self.watched.extend([0.0] * (place + WATCHED - len(self.watched)))
        change = detect_change(self.watched, place, at, good, estimate)
        if change is not None:
            marks = [*self.marks, Mark(name, *change)]  # copies keep theirs
            self.marks = sorted(marks, key=lambda mark: mark.at)[-MAX_MARKS:]

    def _place(self, name: str) -> int:
        """Return the offset of a new candidate's numbers; those beyond ``MAX_NAMES`` share the
        last."""
        place = _NAMES + WIDTH * len(self.places)
        if len(self.places) < MAX_NAMES:
            self.places = {**self.places, name: place}  # copies keep theirs
        self.numbers.extend([0.0] * (place + WIDTH - len(self.numbers)))
        return place

    def _bucket(self, at: float) -> Numbers:
        """Return the numbers of the bucket of a time: the last one, or a new one."""
        width = TIERS[0][0]
        if self.numbers and self.start - CLOCK_SET_BACK <= at < self.start + width:
            return self.numbers
        start = at // width * width
        if self.numbers:
            self.tiers = [tier.copy() for tier in self.tiers]
            if start < self.start:  # a clock that was ahead must not move time forward
                self._join(start)
                return self.numbers
            self.tiers[0].append((self.start, pack(self.numbers)))
            self._age(start)
        elif not self.tiers:
            self.tiers = [[] for _ in TIERS]
        self.start = start
        self.numbers = [0.0] * (_NAMES + WIDTH * len(self.places))
        return self.numbers

    def _join(self, start: float) -> None:
        """Move the start of the last bucket back, absorbing all buckets that begin after it."""
        for tier in self.tiers:
            while tier and tier[-1][0] >= start:
                _add(self.numbers, unpack(tier.pop()[1]).tolist())
        self.start = start

    def _age(self, now: float) -> None:
        """Merge buckets that are too old for their tier into the next tier."""
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
        buckets: list[tuple[float, Any]] = [
            (start, unpack(data)) for tier in reversed(self.tiers) for start, data in tier
        ]
        if self.numbers:
            buckets.append((self.start, self.numbers))
        since = -math.inf if seconds is None else now - seconds
        width = self._width(min(since, now), buckets[0][0] if buckets else now, now)
        columns = _NAMES + WIDTH * (len(self.places) + 1)
        rows: dict[float, Array] = {}
        for start, numbers in buckets:
            aligned = start // width * width
            if aligned + width > since:
                rows.setdefault(aligned, np.zeros(columns))[: len(numbers)] += numbers
        table = np.array(list(rows.values())).reshape(-1, columns)
        return Span(width, list(rows), table, list(self.places))

    def _width(self, since: float, first: float, now: float) -> float:
        """Return the smallest width for which all buckets since a time exist and are few enough."""
        span = now - max(since, first)
        for width, kept in TIERS[:-1]:
            if span <= kept and span / width <= MAX_POINTS:
                return width
        return self.oldest


class Span(NamedTuple):
    """Buckets of one width: when each begins, and a row of its numbers, oldest first.

    After the candidates with ``names`` come the numbers of all others together.
    """

    width: float
    starts: list[float]
    table: Array
    names: list[str]

    def total(self, which: int) -> Array:
        """Return a number of the model in each bucket."""
        return self.table[:, which]

    def candidate(self, number: int, which: int) -> Array:
        """Return a number of a candidate in each bucket."""
        return self.table[:, _NAMES + WIDTH * number + which]

    def calibration(self) -> list[list[float]]:
        """Return tries, sum of estimates and successes by tenths of the estimate."""
        sums: Array = self.table[:, _CALIBRATION:_NAMES].sum(axis=0)
        return list(sums.reshape(BINS, 3).tolist())


def pack(numbers: Sequence[float]) -> bytes:
    """Return numbers as little-endian float64, without the zeros at the end."""
    return np.trim_zeros(np.array(numbers, "<f8"), "b").tobytes()


def unpack(data: bytes) -> Array:
    """Return the numbers in little-endian float64."""
    return np.frombuffer(data, "<f8")


def _push(tier: list[Closed], bucket: Closed, width: float) -> None:
    """Append a bucket to a tier, or add it to the last one of the tier if it belongs there."""
    start = bucket[0] // width * width
    if tier and tier[-1][0] >= start:
        numbers = unpack(tier[-1][1]).tolist()
        _add(numbers, unpack(bucket[1]).tolist())
        tier[-1] = (tier[-1][0], pack(numbers))
    else:
        tier.append((start, bucket[1]))


def _add(numbers: Numbers, more: Sequence[float]) -> None:
    numbers.extend([0.0] * (len(more) - len(numbers)))
    for i, number in enumerate(more):
        if number:
            numbers[i] += number


# drift: whether a candidate's success fell or recovered, by Page's sums after every try

MIN_TRIES = 30  # attempts before a first change can be detected
MIN_FAILING = 8  # attempts, mostly failures, before a recovery can be detected

# The state of a candidate: tries and successes since its last change, and whether it fell then.
# Then, for each sum of evidence: the sum, tries and successes since it was last 0, and when that
# was. An outage, a decline, a recovery: by what factor the odds of a success change, and at which
# log likelihood ratio the change is reported.
_TRIED, _SUCCEEDED, _FELL = range(3)
_SUMS = tuple(
    (3 + 4 * i, factor, limit, math.log(factor))
    for i, (factor, limit) in enumerate(((1.0 / 6.0, 11.0), (1.0 / 3.0, 9.0), (6.0, 11.0)))
)
_OUTAGE, _CLEAR = 3, 4.0  # a decline with this much evidence of an outage is reported as one
WATCHED = 3 + 4 * len(_SUMS)


def detect_change(
    state: list[float], place: int, at: float, good: bool, estimate: float
) -> tuple[float, float, float] | None:
    """Update the drift state with an attempt; return the fall or recovery that it confirms.

    That is: when it began, the rate before, and the rate since.

    A failure counts as evidence by how unlikely it was by the candidate's rate so far, and by the
    model's ``estimate`` for this very context, whichever is less: where the policy sends harder
    cases to a candidate, the model knows. But a model may expect a recovery before anybody tries
    (a status field tells), so what fell recovers by its own rate alone.
    """
    state[place + _TRIED] += 1.0
    state[place + _SUCCEEDED] += good
    for offset, factor, limit, log in _SUMS:
        own, rise = place + offset, factor > 1.0
        if good is not rise and not state[own]:
            continue  # nothing that would begin it
        if rise and not state[place + _FELL]:
            break
        tried = state[place + _TRIED] - state[own + 1] - 1.0
        if tried < (MIN_FAILING if rise else MIN_TRIES):
            continue
        succeeded = state[place + _SUCCEEDED] - state[own + 2] - good
        rate = (succeeded + 1.0) / (tried + 2.0)
        if 0.0 <= estimate < rate and not rise:
            rate = max(estimate, 0.001)
        if not state[own]:
            state[own + 3] = at
        # after the change the odds are factor times as large: p' = factor p / (1 - p + factor p)
        state[own] += (log if good else 0.0) - math.log(1.0 - rate + factor * rate)
        state[own + 1] += 1.0
        state[own + 2] += good
        if state[own] <= 0.0:
            state[own : own + 4] = [0.0] * 4
        elif state[own] > limit:
            if not rise and state[place + _OUTAGE] > _CLEAR:
                own = place + _OUTAGE
            _, n, s, began = state[own : own + 4]
            tried, succeeded = state[place + _TRIED] - n, state[place + _SUCCEEDED] - s
            state[place : place + WATCHED] = [n, s, float(not rise)] + [0.0] * (WATCHED - 3)
            return began, succeeded / tried, s / n
    return None


# counters


class Stats(msgspec.Struct, array_like=True):
    """Counters of a model's decisions, in log order; full bins of the curve merge in pairs.

    ``reward`` and ``spent`` are sums that are rounded once: the remainders are in ``reward_rest``
    and ``spent_rest``. ``estimated`` outcomes count expected costs in both.
    """

    decisions: int = 0
    lengths: int = 0
    empty: int = 0
    outcomes: int = 0
    learned: int = 0
    successes: int = 0
    reward: float = 0.0
    played: int = 0
    tried: list[int] = []
    succeeded: list[int] = []
    size: int = 1
    bins: list[tuple[int, float, int, int]] = []
    spent: float = 0.0
    reward_rest: list[float] = []
    spent_rest: list[float] = []
    estimated: int = 0
    gave_up: int = 0
    series: Series = msgspec.field(default_factory=Series)

    def count(self, decision: DecisionRecord) -> None:
        """Count a decision when it is made, and again with its outcome when that has arrived."""
        outcome = decision.outcome
        if outcome is None:
            self.series.decide(decision)
            self.decisions += 1
            self.lengths += len(decision.played.ids)
            self.empty += not decision.played.ids
            return
        self.series.settle(decision, outcome)
        self.outcomes += 1
        self.learned += outcome.learn
        self.successes += outcome.succeeded
        self.gave_up += outcome.gave_up
        self.reward, *self.reward_rest = exact_sum(self.reward, *self.reward_rest, outcome.reward)
        if outcome.paid:
            self.spent, *self.spent_rest = exact_sum(self.spent, *self.spent_rest, outcome.spent)
        self.estimated += outcome.estimated
        missing = outcome.tried - len(self.tried)
        self.tried.extend([0] * missing)
        self.succeeded.extend([0] * missing)
        for i in range(outcome.tried):
            self.tried[i] += 1
        if outcome.succeeded:
            self.succeeded[outcome.tried - 1] += 1
        self._bin(outcome.reward, len(decision.played.ids), outcome.gave_up)

    def _bin(self, reward: float, length: int, gave_up: bool) -> None:
        if self.bins and self.bins[-1][0] < self.size:
            count, total, lengths, given_up = self.bins[-1]
            self.bins[-1] = (count + 1, total + reward, lengths + length, given_up + gave_up)
            return
        if len(self.bins) == MAX_BINS:
            pairs = zip(self.bins[::2], self.bins[1::2], strict=True)
            self.bins = [(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]) for a, b in pairs]
            self.size *= 2
        self.bins.append((1, reward, length, int(gave_up)))

    def copy(self) -> Stats:
        """Return a copy that does not change as this one goes on counting."""
        own = {
            name: getattr(self, name).copy() for name in ("tried", "succeeded", "bins", "series")
        }
        return msgspec.structs.replace(self, **own)

    def shown(self, pending: int) -> ModelStats:
        """Return the statistics as an answer."""
        outcomes = self.outcomes

        def mean(total: float, count: int = outcomes) -> float | None:
            return total / count if count else None

        return copied(
            self,
            ModelStats,
            pending=pending,
            expired=max(0, self.decisions - outcomes - pending),
            not_learned=outcomes - self.learned,
            total_reward=self.reward,
            mean_reward=mean(self.reward),
            total_spent=self.spent,
            mean_spent=mean(self.spent),
            mean_length=mean(self.lengths, self.decisions),
            success_rate=mean(self.successes),
            give_ups=self.gave_up,
            declined=outcomes - self.successes - self.gave_up,
            by_position=[
                PositionStats(i + 1, tried, succeeded, mean(succeeded, tried))
                for i, (tried, succeeded) in enumerate(zip(self.tried, self.succeeded, strict=True))
            ],
            curve=Curve(
                size=self.size,
                outcomes=[count for count, _, _, _ in self.bins],
                reward=[reward / count for count, reward, _, _ in self.bins],
                length=[length / count for count, _, length, _ in self.bins],
                give_ups=[given_up / count for count, _, _, given_up in self.bins],
            ),
        )


def exact_sum(*numbers: float) -> list[float]:
    """Add numbers exactly: the rounded sum, its rounded remainder, and so on.

    The result is the same in whatever order they are added, now or later.

    >>> exact_sum(0.1, 0.2)
    [0.30000000000000004, -2.7755575615628914e-17]
    """
    rest, parts = list(numbers), []
    while part := math.fsum(rest):
        parts.append(part)
        rest.append(-part)
    return parts or [0.0]
