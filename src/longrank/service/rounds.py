"""From a request to a round: candidates, payoffs and what identifies it."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.service.matrices import matrix
from longrank.service.messages import DecisionRequest, Packed

_TYPES = {"float32": "<f4", "float64": "<f8"}


class Round(NamedTuple):
    """The candidates of a request, checked."""

    ids: list[str]
    items: NDArray[np.floating]
    payoffs: Payoffs
    budget: int
    baseline: list[int] | None
    digest: bytes


def read_round(request: DecisionRequest, dim: int, max_budget: int) -> Round:
    """Check a request; an :class:`InvalidInput` says what is wrong with it."""
    ids, items = _candidates(request, dim)
    if len(set(ids)) != len(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        raise InvalidInput("candidates", "have different ids", repr(twice))
    payoffs = _payoffs(request, max_budget)
    budget = payoffs.budget if request.budget is None else request.budget
    if budget > max_budget:
        raise InvalidInput("budget", f"be at most the model's max_budget {max_budget}", budget)
    payoffs.tries(budget)
    baseline = None if request.baseline is None else _baseline(request.baseline, ids, budget)
    asked = (ids, request.rewards, request.losses, request.budget, request.ttl, baseline, dim)
    content = msgspec.msgpack.encode(asked) + items.astype("<f8", copy=False).tobytes()
    return Round(ids, items, payoffs, budget, baseline, hashlib.sha256(content).digest())


def _candidates(request: DecisionRequest, dim: int) -> tuple[list[str], NDArray[np.floating]]:
    if request.candidates is not None:
        if request.ids is not None or request.features is not None:
            raise InvalidInput("candidates", "stand without ids and features", "both")
        ids = [candidate.id for candidate in request.candidates]
        return ids, _matrix([candidate.features for candidate in request.candidates], dim)
    if request.ids is None or request.features is None:
        raise InvalidInput("candidates", "be given, or ids with features", "neither")
    if isinstance(request.features, Packed):
        items = _unpacked(request.features, len(request.ids))
    else:
        items = _matrix(request.features, dim)
    if len(items) != len(request.ids):
        raise InvalidInput("features", f"have {len(request.ids)} rows, one per id", len(items))
    return request.ids, items


def _matrix(rows: list[list[float]], dim: int) -> NDArray[np.floating]:
    if not rows:
        return np.empty((0, dim))
    quick = matrix(rows)
    items = checks.floats("features", rows, 2) if quick is None else quick
    if items.shape[1] == 0:
        raise InvalidInput("features", "have at least one column", 0)
    return items


def _unpacked(packed: Packed, count: int) -> NDArray[np.floating]:
    kind = np.dtype(_TYPES[packed.dtype])
    total, rest = divmod(len(packed.data), kind.itemsize)
    if rest or (total % count if count else total) or (count and not total):
        rule = f"hold {count} rows of {packed.dtype}"
        raise InvalidInput("features.data", rule, f"{len(packed.data)} bytes")
    items = np.frombuffer(packed.data, kind).reshape(count, total // count if count else 0)
    return items.astype(kind.newbyteorder("="))


def _payoffs(request: DecisionRequest, max_budget: int) -> Payoffs:
    if request.rewards is None and request.losses is None:
        return Payoffs.vanilla(max_budget if request.budget is None else request.budget)
    if request.rewards is None or request.losses is None:
        missing = "rewards" if request.rewards is None else "losses"
        raise InvalidInput(missing, "be given where the other is", None)
    return _schedule(tuple(request.rewards), tuple(request.losses))


@lru_cache(maxsize=256)  # most rounds of a model pay alike, and a Payoffs cannot be changed
def _schedule(rewards: tuple[float, ...], losses: tuple[float, ...]) -> Payoffs:
    return Payoffs(rewards, losses)


def _baseline(names: list[str], ids: list[str], budget: int) -> list[int]:
    index = {name: i for i, name in enumerate(ids)}
    for name in names:
        if name not in index:
            raise InvalidInput("baseline", "name candidates of this round", repr(name))
    if len(set(names)) != len(names):
        raise InvalidInput("baseline", "name each candidate once", names)
    if len(names) > budget:
        raise InvalidInput("baseline", f"have at most {budget} candidates", len(names))
    return [index[name] for name in names]
