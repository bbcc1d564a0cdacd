"""Fingerprints of ids: 64 bits each, by which a million of them are told apart in little memory."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Prints = NDArray[np.uint64]

_RECENT = 1 << 14  # that are not sorted yet
_WHOLE = 2**62


def fingerprint(id: str | int) -> int:
    """Return the same number for the same id, in any process; for small whole numbers their own.

    >>> fingerprint(7), fingerprint("7") > 2**63
    (7, True)
    """
    if isinstance(id, int) and 0 <= id < _WHOLE:
        return id
    found = blake2b(repr(id).encode(), digest_size=8).digest()
    return int.from_bytes(found, "little") | 1 << 63


def fingerprints(ids: Sequence[Any] | NDArray[np.int64]) -> Prints:
    """Return those of many ids."""
    if isinstance(ids, np.ndarray) and not (ids < 0).any():
        return ids.astype(np.uint64)
    return np.array([fingerprint(each) for each in ids], np.uint64)


class Fingerprints:
    """A growing set of fingerprints, in sorted runs of which each is much longer than the next."""

    def __init__(self) -> None:
        self._runs: list[Prints] = []
        self._recent: set[int] = set()

    def add(self, id: str | int) -> bool:
        """Add that of an id; return False if it was there already."""
        found = fingerprint(id)
        if found in self._recent or self._has(np.array([found], np.uint64)):
            return False
        self._recent.add(found)
        if len(self._recent) >= _RECENT:
            self._settle()
        return True

    def add_all(self, ids: Sequence[Any] | NDArray[np.int64]) -> bool:
        """Add those of all ids; or none of them, and return False, if one was there already."""
        self._settle()
        found = np.sort(fingerprints(ids))
        if (found[1:] == found[:-1]).any() or self._has(found):
            return False
        self._merge(found)
        return True

    def _has(self, found: Prints) -> bool:
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, found), len(run) - 1)
            if (run[at] == found).any():
                return True
        return False

    def _settle(self) -> None:
        if self._recent:
            self._merge(np.sort(np.fromiter(self._recent, np.uint64)))
            self._recent = set()

    def _merge(self, found: Prints) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(found):
            found = np.sort(np.concatenate([self._runs.pop(), found]), kind="stable")
        if len(found):
            self._runs.append(found)
