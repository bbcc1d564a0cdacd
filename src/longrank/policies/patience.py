"""Patience: how likely a cascade is to continue after a failure, learned from early stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from longrank import kernels
from longrank.decision import Outcome


class Patience:
    """Share of failures after which a cascade continued, if attempts were left.

    A final decline and a reader who leaves are early stops: the outcome reports fewer attempts
    than the sequence had, and no success. Until the first of them the patience is exactly 1.
    """

    __slots__ = ("stopped", "went_on")

    def __init__(self, went_on: int = 0, stopped: int = 0) -> None:
        self.went_on, self.stopped = went_on, stopped

    @property
    def now(self) -> float:
        """The current estimate, above 0 and at most 1."""
        return kernels.patience_of(self.went_on, self.stopped)

    def observe(self, length: int, outcome: Outcome) -> None:
        """Count the failures of a sequence of this length."""
        if outcome.tried:
            self.went_on += outcome.tried - 1
            self.stopped += not outcome.succeeded and outcome.tried < length

    def __repr__(self) -> str:
        return f"Patience({self.now:.4g}, went on {self.went_on} times, stopped {self.stopped})"

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.went_on, self.stopped)

    def state(self) -> list[int]:
        """Return the counts."""
        return [self.went_on, self.stopped]

    @classmethod
    def from_state(cls, state: Sequence[int]) -> Self:
        """Build it again."""
        went_on, stopped = state
        return cls(went_on, stopped)
