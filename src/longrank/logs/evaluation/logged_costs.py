"""What attempts cost, by the outcomes of a log, where it does not say so beforehand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.payoffs import Payoffs
from longrank.schema import identities

Array = NDArray[np.float64]
Means = dict[Any, float]


@dataclass(frozen=True)
class LoggedCosts:
    """Expected costs of attempts: the mean of a candidate by its id, or least squares on items.

    Fitted in as many folds as the outcome model, so that no decision's costs are expected by what
    it cost itself. ``means`` has for each fold the mean of each id, ``weights``, shape
    (folds, d + 1), those of items; ``overall`` are the means of all attempts, which a candidate's
    mean counts as one more attempt. ``noise`` is the mean square of what an attempt cost beyond
    what was expected, also where costs are given beforehand.
    """

    overall: Array
    weights: Array | None
    means: tuple[Means, ...]
    noise: float = 0.0

    def price(self, decision: Decision, index: int) -> Payoffs:
        """Return the payoffs of decision ``index``, with expected costs where it gives none."""
        payoffs = decision.payoffs
        assert payoffs is not None
        if payoffs.costs is not None and payoffs.costs.any():
            return payoffs
        fold = index % len(self.overall)
        if self.weights is not None:
            assert decision.items is not None
            own = self.weights[fold]
            costs = np.maximum(decision.items @ own[:-1] + own[-1], 0.0)
        else:
            assert decision.candidates is not None
            ids = identities(decision.candidates, range(len(decision.candidates)))
            known, otherwise = self.means[fold], float(self.overall[fold])
            costs = np.array([known.get(each, otherwise) for each in ids])
        return payoffs.priced(costs, payoffs.success_values)


def fit_costs(history: History, folds: int) -> LoggedCosts | None:
    """Fit expected costs to the outcomes of a log; None if none of them says what it cost."""
    paid: list[tuple[int, Decision]] = [
        (index, decision)
        for index, decision in enumerate(history.decisions())
        if decision.ended.costs and decision.payoffs is not None
    ]
    if not paid:
        return None
    owner = np.concatenate([np.full(one.ended.tried, index % folds) for index, one in paid])
    costs = np.concatenate([np.array(one.ended.costs) for _, one in paid])
    others = [owner != fold for fold in range(folds)]
    overall = np.array([costs[part].mean() if part.any() else costs.mean() for part in others])
    if paid[0][1].items is not None:
        rows = [one.items[_tried(one)] for _, one in paid if one.items is not None]
        x = np.column_stack([np.concatenate(rows), np.ones(len(costs))])
        weights = np.stack([_least_squares(x[part], costs[part]) for part in others])
        found = LoggedCosts(overall, weights, ())
    else:
        ids = [name for _, one in paid for name in identities(one.candidates or [], _tried(one))]
        means = tuple(_means(ids, costs, *pair) for pair in zip(others, overall, strict=True))
        found = LoggedCosts(overall, None, means)
    squares = 0.0
    for index, one in paid:
        expected = found.price(one, index).costs
        assert expected is not None
        squares += float(((expected[_tried(one)] - np.array(one.ended.costs)) ** 2).sum())
    return replace(found, noise=squares / len(costs))


def _tried(decision: Decision) -> list[int]:
    indices: list[int] = decision.order[: decision.ended.tried].tolist()
    return indices


def _means(ids: list[Any], costs: Array, part: NDArray[np.bool_], overall: float) -> Means:
    sums: dict[Any, list[float]] = defaultdict(lambda: [overall, 1.0])
    for name, cost, counts in zip(ids, costs.tolist(), part.tolist(), strict=True):
        if counts:
            entry = sums[name]
            entry[0] += cost
            entry[1] += 1.0
    return {name: total / count for name, (total, count) in sums.items()}


def _least_squares(x: Array, y: Array) -> Array:
    """Fit weights, of which the constant is hardly penalised."""
    penalties = np.append(np.ones(x.shape[1] - 1), 1e-6)
    return np.asarray(np.linalg.solve(x.T @ x + np.diag(penalties), x.T @ y))
