"""Warming: load or compile what the models will need, before the first request needs it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from longrank.decision import Outcome
from longrank.payoffs import Payoffs
from longrank.service.engine.model import Model

log = logging.getLogger("longrank.service")


def warm(models: Iterable[Model]) -> None:
    """Let a copy of one model of each kind rank and learn once; no model is changed."""
    seen = set()
    for model in models:
        request = model.spec.request
        kind = request.policy, request.dim is None, str(request.settings)
        if kind not in seen:
            seen.add(kind)
            try:
                _use(Model(model.number, model.name, model.created, model.spec, model.snapshot()))
            except Exception:  # then a decision tells it, to whom it concerns
                log.exception("model %s could not be warmed up", model.name)


def _use(model: Model) -> None:
    """Rank some candidates, and learn from an outcome."""
    request = model.spec.request
    items: Any = [{"id": name} for name in "abc"]
    if request.dim is not None:
        columns = len((request.settings or {}).get("topics", ())) or request.dim  # a row for each
        items = np.full((3, columns), 0.5 / columns)
        items[1:, 0] *= (0.5, 0.0)  # not below 0, which topics refuse
    budget = min(2, request.max_budget)
    context: dict[str, Any] | None = {} if request.dim is None else None
    payoffs = Payoffs.vanilla(budget)
    model.rank(items, payoffs, budget, "warm", context)
    model.policy.learn(model.receipt(items, [0], payoffs, context), Outcome(1, True))


def warm_plans(stopped: Callable[[], bool]) -> None:
    """Plan once with each kernel that a decision with costs may need, whatever its payoffs.

    From an empty cache that takes half a minute, so a service does it when it is ready already.
    """
    straight, curved = Payoffs.vanilla(3), Payoffs.exponential(3)
    for payoffs, candidates in ((straight, 3), (curved, 3), (straight, 300), (curved, 30)):
        if stopped():
            return
        costs = np.linspace(0.0, 0.1, candidates)
        payoffs.priced(costs=costs).best_sequence(np.linspace(0.2, 0.8, candidates))
