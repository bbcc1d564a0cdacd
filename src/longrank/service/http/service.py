"""What handlers get and may return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.http.access import Origins
from longrank.service.http.limits import Limits
from longrank.service.http.workers import Turn, Workers

if TYPE_CHECKING:
    from longrank.service.http.metrics import Metrics
    from longrank.service.http.status import Readiness

Shape = tuple[int, ...]


@dataclass
class Service:
    """What handlers work on."""

    engine: Engine
    keys: Keys
    metrics: Metrics
    workers: Workers
    limits: Limits
    origins: Origins
    readiness: Readiness
    auth: bool = True
    metrics_key: str | None = None
    seconds: dict[Shape, float] = field(default_factory=dict)  # of the processor, of a decision


class Reply(NamedTuple):
    """An answer that is not a message: bytes, or a file to close, with headers of their own."""

    body: bytes | IO[bytes]
    headers: dict[str, str]


@dataclass(slots=True)
class Load:
    """Whose request it is, and how many bytes its body has."""

    turn: Turn
    size: int = 0
