"""Fingerprints of ids: 64 bits each, to tell a million of them apart in little memory."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Prints = NDArray[np.uint64]

_WHOLE = 2**62


def fingerprint(id: str | int) -> int:
    """Return the same number for the same id, in any process; for small whole numbers their own.

    >>> fingerprint(7), fingerprint("7") > 2**63
    (7, True)
    """
    if isinstance(id, int) and 0 <= id < _WHOLE:
        return id
    digest = blake2b(repr(id).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1 << 63


def fingerprints(ids: Sequence[str | int]) -> Prints:
    """Return those of many ids."""
    return np.array([fingerprint(each) for each in ids], np.uint64)
