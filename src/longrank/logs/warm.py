"""Warm start: a policy learns from history."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from longrank.cascade import Outcome, Ranking
from longrank.features import Features, Plain
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
    """Learn every decision of a log in its order; returns how many.

    The state is the same, bit for bit, as that of a policy that learned them online in that
    order. The whole log is checked first: a log with an error teaches nothing.

    Parameters
    ----------
    progress
        Is told how many decisions are learned, and of how many, every thousand and at the end.
    """
    total = len(history)
    features = getattr(policy, "features", None)

    def told() -> Iterator[tuple[Ranking, Outcome]]:
        for done, pair in enumerate(pairs(history, features)):
            if progress is not None and done % _OFTEN == 0:
                progress(done, total)
            yield pair

    learned = policy.learn_from(told())
    if progress is not None:
        progress(learned, total)
    return learned


def pairs(history: History, features: Features | None) -> Iterator[tuple[Ranking, Outcome]]:
    """Receipts and outcomes; rows that the log lacks are made from its items by ``features``."""
    if features is None or isinstance(features, Plain) or "features" in history.columns:
        yield from history
        return
    for decision in history.decisions():
        if not decision.learned:
            continue
        yield receipt(decision, features), decision.outcome


def receipt(decision: Decision, features: Features | None) -> Ranking:
    """The receipt of a decision, with rows by ``features`` where the log has none."""
    if decision.features is not None or features is None or isinstance(features, Plain):
        return decision.ranking()
    assert decision.items is not None  # a row without features has items
    prepared = features.prepare(decision.items, None)
    return decision.ranking(features.along(prepared, decision.order))
