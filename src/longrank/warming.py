"""Warming: use a policy in every way once, so that its kernels are requested beforehand.

:mod:`longrank.kernels.behind` records them; their compiled forms are then loaded, or compiled,
before a call waits for them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from longrank.decision import Outcome
from longrank.features import Coverage, Records
from longrank.payoffs import Payoffs
from longrank.policies import Policy, named
from longrank.policies.registry import get, names

DIM = 4
_ROUNDS = ((3, False), (3, True), (12, True), (160, False), (30, True))  # candidates; curved?


def exercise(policy: Policy, columns: int | None, max_budget: int = 3) -> None:
    """Rank, priced and unpriced, and learn from outcomes; this changes the policy, so pass a copy.

    ``columns`` is the length of an item, None if candidates are records.
    """
    context = {"brand": "visa", "amount": 120.0} if columns is None else None
    for candidates, curved in _ROUNDS:
        items = _items(candidates, columns)
        plain = Payoffs.exponential(max_budget) if curved else Payoffs.vanilla(max_budget)
        for payoffs in (plain, plain.priced(costs=np.linspace(0.0, 0.1, candidates))):
            ranking = policy.rank(items, payoffs, context=context)
            policy.learn(ranking, Outcome(len(ranking), False))
            receipt = policy.receipt(items, payoffs, [0], context=context)
            policy.learn(receipt, Outcome(1, True, costs=(0.1,)))


def _items(candidates: int, columns: int | None) -> Any:
    if columns is None:
        return [{"id": str(i), "fee": 0.1 * i, "tags": ["new"]} for i in range(candidates)]
    return np.random.default_rng(0).random((candidates, columns)) / (2.0 * columns)


def columns_of(policy: Policy) -> int | None:
    """Return the length of an item that a policy takes; None if candidates are records."""
    features = getattr(policy, "features", None)
    if isinstance(features, Records) and features.dim is None:
        features = None if features.schema.dense else features.numbers  # it learned from arrays
    if features is None:
        return None
    if isinstance(features, Coverage):
        return int(getattr(features.topics, "columns", DIM))
    learner = getattr(policy, "learner", features)
    return int(getattr(features, "dim", learner.dim))


def built_in() -> Iterator[tuple[str, Policy]]:
    """Make every policy that has a name, for records and for arrays."""
    offered = {"max_budget": 3, "rng": 0, "topics": np.eye(DIM), "weights": np.ones(DIM) / DIM}
    for name in names():
        parameters = get(name).parameters
        given = {key: value for key, value in offered.items() if key in parameters}
        if "dim" in parameters:
            yield f"{name} for arrays", named(name, dim=DIM, **given)
        if "dim" not in get(name).needs:
            yield name, named(name, **given)
