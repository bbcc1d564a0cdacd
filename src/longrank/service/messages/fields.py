"""What a field may hold: the limits that several messages share."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ID = r"^[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}$"
MOST_DIMENSIONS = 2048
MOST_TRIES = 10_000
MOST_SECONDS = 400 * 86_400

Id = Annotated[str, Meta(pattern=ID, description="Letters, digits, '.', '_', ':', '~', '-'.")]
CandidateId = Annotated[str, Meta(min_length=1, max_length=256)]
Mode = Literal["online", "shadow", "frozen"]
Seconds = Annotated[float, Meta(gt=0, le=MOST_SECONDS)]
Position = Annotated[int, Meta(ge=1, le=MOST_TRIES)]
Time = Annotated[float, Meta(ge=0, le=1e11, description="Seconds since 1970.")]
Count = Annotated[int, Meta(ge=0, le=MOST_TRIES)]
