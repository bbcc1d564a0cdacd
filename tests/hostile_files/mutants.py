"""Mutants of files: trees in which one thing is wrong, signed again as if nothing had happened."""

import copy
import hashlib
import math
import random
import tracemalloc
from typing import Any

import numpy as np

from every_part import POLICIES, RECORD_POLICIES
from longrank import Outcome
from longrank.testing import RecordRounds, Rounds

EVERY = {f"arrays/{name}": (make, Rounds) for name, make in POLICIES.items()} | {
    f"records/{name}": (make, RecordRounds) for name, make in RECORD_POLICIES.items()
}
MUTANTS = 60  # of each
NESTED: list[Any] = []
for _ in range(200):
    NESTED = [NESTED]

VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 256, 2**31, 2**53, 2**63 - 1, 2**63, 2**64),
    *(2**127, -(2**63) - 1, 10**300, 0.0, -0.0, 0.5, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e150),
    *(math.inf, -math.inf, math.nan, "", "x", "logistic", "linear", "number", "PCG64", "\ud800"),
    *([], [0], [[]], ["a", "b"], {}, {"a": 1}, {"kind": "UCB"}, NESTED),
]
NUMBERS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e150, 1e-320, -1.0, 0.0, 1.0, 2.0**63]
WHOLE = [-1, 0, 1, 2, 255, 2**31, 2**62, -(2**63), 2**63 - 1]
DTYPES = ["<f8", "<f4", "<i8", "<u8", "<u4", "|b1"]


def sign(body: bytes) -> bytes:
    """Return a body with the checksum that makes it a file."""
    return body + hashlib.sha256(body).digest()


def mutate_tree(tree: Any, rng: random.Random) -> Any:
    """Return a copy of a tree in which one to three things are changed."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        holder, key = rng.choice(list(_places(tree)))
        if isinstance(holder[key], np.ndarray) and rng.random() < 0.8:
            holder[key] = _mutate_array(holder[key], rng)
        elif rng.random() < 0.15:
            del holder[key]
        elif isinstance(holder[key], list) and holder[key] and rng.random() < 0.3:
            holder[key] = holder[key] * rng.choice([2, 3, 50])
        elif rng.random() < 0.2:
            others = [o[name] for o, name in _places(tree) if not _has_array(o[name])]
            holder[key] = copy.deepcopy(rng.choice(others))
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        if not tree:
            break
    return tree


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return a file in which some bytes before the checksum are changed."""
    body = bytearray(data[:-32])
    end = body.index(b"\n", body.index(b"\n") + 1)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(11, rng.choice([end, len(body)]))
        match rng.randrange(4):
            case 0:
                body[at] = rng.randrange(256)
            case 1:
                del body[at : at + rng.randrange(1, 9)]
            case 2:
                body[at:at] = rng.choice([b"9" * 30, b"[" * 3, b"-", b"0", b"e99", b"\xff", b"{}"])
            case _:
                body[at] ^= 1 << rng.randrange(8)
        end = min(end, len(body) - 1)
        if len(body) < 20:
            break
    return sign(bytes(body))


def _places(node: Any, depth: int = 0) -> Any:
    """Every place of a tree: what holds it, and under which name or number."""
    if depth > 8:
        return
    if isinstance(node, dict | list):
        for key in range(len(node)) if isinstance(node, list) else list(node):
            yield node, key
            yield from _places(node[key], depth + 1)


def _has_array(node: Any) -> bool:
    """Whether it holds an array, which must not stand in a list."""
    held = node.values() if isinstance(node, dict) else ()
    return isinstance(node, np.ndarray) or any(map(_has_array, held))


def _mutate_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    match rng.randrange(7):
        case 0 | 1 if array.size:
            changed = array.copy()
            pool = NUMBERS if array.dtype.kind == "f" else WHOLE
            with np.errstate(all="ignore"):
                value = np.array(rng.choice(pool)).astype(array.dtype)
            changed.flat[rng.randrange(array.size)] = value
            return changed
        case 2 if array.ndim:
            return np.concatenate([array, array[:1]]) if len(array) else array
        case 3 if array.ndim:
            return array[:-1]
        case 4:
            return array.reshape(-1) if rng.random() < 0.5 else array[np.newaxis]
        case 5:
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(DTYPES))
        case _:
            shape = tuple(rng.choice([0, 1, 2, 4, 9]) for _ in range(rng.randrange(4)))
            return np.zeros(shape, array.dtype)


def taught(name: str) -> tuple[Any, Any]:
    """Return a policy that has learned all that it can, and the features no file can hold."""
    make, rounds = EVERY[name]
    policy = make()
    rounds.play(policy, range(12))
    for t in range(12, 16):
        items, payoffs, budget = rounds.deal(t)
        ranking = policy.rank(items, payoffs, budget, **rounds.given(t))
        policy.learn(ranking, Outcome(len(ranking), False, (0.3,) * len(ranking)))
    features = getattr(policy, "features", None)
    own = features is not None and features.state().get("topics_kind") == "function"
    return policy, features if own else None


def peak(action: Any) -> int:
    """Return how much memory an action takes in Python."""
    tracemalloc.start()
    action()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used
