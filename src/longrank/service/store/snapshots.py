"""Snapshots: the complete state of a model at one entry of the log."""

from __future__ import annotations

import hashlib

import msgspec

from longrank.service.errors import OtherVersion, StoreDamaged

FORMAT = 1


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """A model after entry ``seq`` of the log: its policy's bytes and its statistics, packed."""

    format: int
    seq: int
    state_hash: str
    policy: bytes
    stats: msgspec.Raw

    def packed(self) -> tuple[bytes, bytes]:
        """Return its bytes and their SHA-256."""
        body = msgspec.msgpack.encode(self)
        return body, hashlib.sha256(body).digest()


class _Format(msgspec.Struct, array_like=True):
    format: int


def state_hash(policy: bytes) -> str:
    """Return the SHA-256 of a policy's bytes, in hex."""
    return hashlib.sha256(policy).hexdigest()


def read_snapshot(seq: int, body: bytes, total: bytes) -> Snapshot | StoreDamaged:
    """Unpack a snapshot; return an error that says what is wrong with a damaged one.

    One of a newer format is not damaged, and is refused.
    """
    if hashlib.sha256(body).digest() != total:
        return StoreDamaged(f"snapshot {seq} is damaged: its checksum does not match its content")
    try:
        found = msgspec.msgpack.decode(body, type=_Format).format
        if found > FORMAT:
            raise OtherVersion(
                f"snapshot {seq} has format {found}; this longrank reads formats up to {FORMAT}: "
                "upgrade longrank"
            )
        snapshot = msgspec.msgpack.decode(body, type=Snapshot)
    except msgspec.DecodeError as error:  # its checksum says that it is as it was written
        return OtherVersion(f"snapshot {seq} was written by another version of longrank: {error}")
    if snapshot.seq != seq or state_hash(snapshot.policy) != snapshot.state_hash:
        return StoreDamaged(f"snapshot {seq} does not fit together")
    return snapshot
