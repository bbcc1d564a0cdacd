"""Entries for the tests of the stores."""

from __future__ import annotations

import msgspec

from longrank.service.store.records import DECISION, OUTCOME, VERSION, Draft, Snapshot, state_hash


def decision(model, name, at=10.0, expires=20.0, body=b"body"):
    return Draft(model, DECISION, name, at, expires, body)


def outcome(model, name, at=11.0, body=b"outcome"):
    return Draft(model, OUTCOME, name, at, 0.0, body)


def snapshot(seq, policy=b"policy"):
    stats = msgspec.Raw(msgspec.msgpack.encode([seq]))
    return Snapshot(VERSION, seq, state_hash(policy), policy, stats)


def append(store, draft):
    return store.writer.append(draft).result(120)
