"""Keys of a model."""

from __future__ import annotations

from msgspec import Struct


class KeyInfo(Struct, frozen=True):
    """A key of a model, without the key."""

    id: str
    created: float


class KeyCreated(KeyInfo, frozen=True):
    """A new key: the only time that it is shown."""

    key: str


class KeyList(Struct, frozen=True):
    """The keys of a model."""

    keys: list[KeyInfo]
