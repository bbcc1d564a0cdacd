"""Snapshots: a model's whole state at one entry of the log."""

from __future__ import annotations

import hashlib

import msgspec

from longrank.service.errors import StoreDamaged
from longrank.service.stats import Stats

FORMAT = 1


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """What a model is after the entry ``seq``: its policy's bytes and its statistics."""

    format: int
    seq: int
    state_hash: str
    policy: bytes
    stats: Stats

    def packed(self) -> tuple[bytes, bytes]:
        """Its bytes and their SHA-256."""
        body = msgspec.msgpack.encode(self)
        return body, hashlib.sha256(body).digest()


def state_hash(policy: bytes) -> str:
    """The SHA-256 of a policy's bytes, as it is shown."""
    return hashlib.sha256(policy).hexdigest()


def read_snapshot(seq: int, body: bytes, total: bytes) -> Snapshot | StoreDamaged:
    """The snapshot that was packed, or what is wrong with it."""
    if hashlib.sha256(body).digest() != total:
        return StoreDamaged(f"snapshot {seq} is damaged: its checksum does not match its content")
    try:
        snapshot = msgspec.msgpack.decode(body, type=Snapshot)
    except msgspec.DecodeError as error:
        return StoreDamaged(f"snapshot {seq} cannot be read: {error}")
    if snapshot.format != FORMAT:
        return StoreDamaged(f"snapshot {seq} has format {snapshot.format}, not {FORMAT}")
    if snapshot.seq != seq or state_hash(snapshot.policy) != snapshot.state_hash:
        return StoreDamaged(f"snapshot {seq} does not fit together")
    return snapshot
