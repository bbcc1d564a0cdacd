"""A statement about results, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A sentence, the figure that speaks for or against it, and whether it holds.

    ``holds`` is None where the results do not suffice to say.
    """

    sentence: str
    figure: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "does not hold", None: "not enough results"}[self.holds]
