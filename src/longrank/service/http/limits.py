"""Limits of the service: of a request, of a connection, and of what one key may use."""

from dataclasses import dataclass, field
from typing import Any


def _limit(default: float | None, minimum: float, text: str) -> Any:
    return field(default=default, metadata={"min": minimum, "help": text})


@dataclass(frozen=True)
class Limits:
    """Maxima of the service, each with its lowest value: options of ``longrank serve``."""

    max_bytes: int = _limit(8 << 20, 1024, "Maximum size of a request body, in bytes.")
    max_buffered: int = _limit(
        256 << 20, 1024, "Maximum size of all bodies being received, in bytes."
    )
    max_queued: int = _limit(512, 1, "Maximum number of requests in progress; more get a 503.")
    max_per_key: int = _limit(
        256, 1, "Maximum number of requests in progress with one key; more get a 429."
    )
    max_rate: float = _limit(
        0.0, 0.0, "Maximum number of requests a second with one key; 0 sets no limit."
    )
    max_work: float = _limit(
        1e9, 1.0, "Maximum work of a decision: candidates x features x budget."
    )
    max_workers: int | None = _limit(
        None, 1, "Threads for large decisions. Default: one for each core, at least 2."
    )
    max_large: int = _limit(
        16,
        1,
        "Maximum number of large decisions of one key and model that wait for a thread; more get "
        "a 429.",
    )
    max_header_bytes: int = _limit(32 << 10, 1024, "Maximum size of a request's headers, in bytes.")
    max_connections: int = _limit(1000, 1, "Maximum number of open connections.")
    max_connections_per_key: int = _limit(
        500, 1, "Maximum number of open connections with one key."
    )
    max_metric_models: int = _limit(
        100, 0, "Maximum number of models with metrics of their own; the others share a label."
    )
    header_timeout: float = _limit(
        10.0, 0.1, "Seconds within which a request's headers must arrive."
    )
    body_timeout: float = _limit(30.0, 0.1, "Seconds within which a request's body must arrive.")
    idle_timeout: float = _limit(5.0, 0.1, "Seconds for which an idle connection stays open.")
