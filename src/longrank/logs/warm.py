"""Warm start: a policy learns from history."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from longrank.cascade import Outcome, Ranking
from longrank.features import Features
from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.policies import Policy

_OFTEN = 1000


def learn_from(
    policy: Policy,
    history: History,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Learn the decisions of a log in the order of their outcomes; returns how many it learned.

    The state is the same, bit for bit, as that of a policy that learned them online in that
    order. The whole log is checked first: a log with an error teaches nothing. Where the log's
    ``features`` are missing, or are those of another feature map than the policy's, they are made
    from its ``items``.

    Parameters
    ----------
    progress
        Is told how many decisions are done, and of how many, every thousand and at the end.
    """
    total = len(history)
    features = getattr(policy, "features", None)
    anew = not _its_own(history, features)
    if anew:  # what the policy's features refuse, they refuse before anything is learned
        for decision in history.learned(items=True):
            observed(decision, features)

    def told() -> Iterator[tuple[Ranking, Outcome]]:
        for done, decision in enumerate(history.learned(items=anew)):
            if progress is not None and done % _OFTEN == 0:
                progress(done, total)
            yield observed(decision, features if anew else None)

    learned = policy.learn_from(told())
    if progress is not None:
        progress(total, total)
    return learned


def observed(decision: Decision, features: Features | None) -> tuple[Ranking, Outcome]:
    """What to learn from a decision; its rows are made of its items by ``features``, if it can."""
    if decision.items is None or features is None:
        return decision.observed()
    prepared = features.prepare(decision.items, None)
    return decision.observed(features.along(prepared, decision.order))


def _its_own(history: History, features: Features | None) -> bool:
    """Whether the rows of a log are those that a policy makes: the first that was played tells."""
    if "items" not in history.columns:
        return True
    played = (decision for decision in history.decisions() if len(decision.order))
    first = next(played, None)
    if first is None or first.items is None or first.features is None:
        return first is None
    ranking, _ = observed(first, features)
    logged, _ = first.observed()
    return np.array_equal(ranking.features, logged.features)
