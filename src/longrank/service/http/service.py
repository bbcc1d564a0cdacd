"""What every handler gets and may return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.http.limits import Limits
from longrank.service.http.origins import Origins
from longrank.service.http.readiness import Readiness
from longrank.service.http.workers import Turn, Workers

if TYPE_CHECKING:
    from longrank.service.http.metrics import Metrics


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


class Reply(NamedTuple):
    """An answer that is not a message: bytes, or a file to close, with headers of their own."""

    body: bytes | IO[bytes]
    headers: dict[str, str]


class Load(NamedTuple):
    """Whose request it is, and how many bytes its body has."""

    turn: Turn
    size: int
