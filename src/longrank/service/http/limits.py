"""Limits of the service: of a request, of a connection, and of what one key may use."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Maxima of the service: the options of ``longrank serve`` of the same names."""

    max_bytes: int = 8 << 20  # of a body
    max_buffered: int = 256 << 20  # bytes of bodies that are being received
    max_queued: int = 512  # requests in progress
    max_per_key: int = 256  # requests in progress with one key
    max_rate: float = 0.0  # requests a second with one key; 0: any number
    max_work: float = 1e9  # candidates x features x budget of a decision
    max_workers: int = max(2, os.cpu_count() or 2)  # threads for large decisions
    max_large: int = 16  # large decisions of one key and model that wait for a thread
    max_header_bytes: int = 32 << 10
    max_connections: int = 1000
    max_connections_per_key: int = 500
    max_metric_models: int = 100  # models with metrics of their own
    header_timeout: float = 10.0  # seconds until the head of a request is complete
    body_timeout: float = 30.0  # seconds until its body is, and until an answer is taken
    idle_timeout: float = 5.0  # seconds that a connection stays open between requests
