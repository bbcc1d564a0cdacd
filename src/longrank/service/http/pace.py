"""How long decisions take: which of them the event loop makes itself, and which are too large."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from longrank.errors import InvalidInput
from longrank.policies import Randomised
from longrank.service.engine.model import Model
from longrank.service.messages import DecisionRequest

T = TypeVar("T")
Shape = tuple[int, int, int, int]
MAX_INLINE = 0.001  # seconds of the event loop that a decision may take
_SLOWER = 10  # times that a policy takes which draws each try in Python
_FADES = 0.8  # of a slow decision, with each quicker one of the same shape
_MAX_SHAPES = 10_000


class Pace:
    """What decisions took, by model and by size in powers of 2.

    The first of its kind is made by a thread: it may have to compile, and nobody knows how long it
    takes. Where they are quick, the event loop makes the next ones.
    """

    def __init__(self, max_work: float) -> None:
        self._max_work = max_work
        self._seconds: dict[Shape, float] = {}
        self._doubtful: set[Shape] = set()  # quick ones that took long
        self._large: Counter[int] = Counter()  # decisions in threads, by the model's number

    def shape(self, model: Model, request: DecisionRequest, size: int) -> Shape:
        """Return the kind of a decision whose body has ``size`` bytes; refuse too much work."""
        spec = model.spec.request
        candidates = request.ids if request.candidates is None else request.candidates
        count = len(candidates or ())
        given = request.rewards
        budget = request.budget or (spec.max_budget if given is None else len(given))
        tries = min(count, budget)
        work = tries * (count * spec.dim if spec.dim else size // 8)
        if isinstance(model.view.policy, Randomised):
            work = _SLOWER * (work + count * tries * tries)
        if work > self._max_work:
            rule = "take less work (candidates x features x budget) than the service's max_work"
            raise InvalidInput("candidates", f"{rule} of {self._max_work:g}", f"{work:g}")
        return model.number, count.bit_length(), size.bit_length(), budget.bit_length()

    def is_quick(self, model: Model, shape: Shape) -> bool:
        """Whether the event loop may make a decision itself.

        Not while a thread makes one about records for the model: that would have to be waited for.
        """
        if self._seconds.get(shape, MAX_INLINE) >= MAX_INLINE:
            return False
        return model.spec.request.dim is not None or not self._large[model.number]

    def quickly(self, shape: Shape, work: Callable[..., T], *args: Any) -> T:
        """Do work in the event loop.

        If that takes long it may have waited for the processor, which is slow to ask how much of
        it was used: it is asked about the next one of the same shape.
        """
        if shape in self._doubtful:
            self._doubtful.discard(shape)
            return self.timed(shape, work, *args)
        started = time.perf_counter()
        try:
            return work(*args)
        finally:
            if time.perf_counter() - started >= MAX_INLINE:
                self._doubtful.add(shape)

    def timed(self, shape: Shape, work: Callable[..., T], *args: Any) -> T:
        """Do work, and remember what it took of the processor."""
        started = time.thread_time()
        try:
            return work(*args)
        finally:
            seconds = time.thread_time() - started
            if len(self._seconds) >= _MAX_SHAPES:
                self._seconds.clear()
                self._doubtful.clear()
            self._seconds[shape] = max(seconds, _FADES * self._seconds.get(shape, 0.0))

    def enter(self, model: Model) -> None:
        """Count a decision that a thread makes."""
        self._large[model.number] += 1

    def leave(self, model: Model) -> None:
        """Count it as done."""
        self._large[model.number] -= 1
        if not self._large[model.number]:
            del self._large[model.number]
