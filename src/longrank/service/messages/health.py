"""How the service itself is."""

from __future__ import annotations

from msgspec import Struct


class Health(Struct, frozen=True):
    """Whether it is alive, or ready."""

    status: str
