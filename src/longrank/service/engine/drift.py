"""Drift: whether a candidate's success fell or recovered, by Page's sums after every try."""

from __future__ import annotations

import math
from typing import NamedTuple

MIN_TRIES = 30  # before a first change can be told
MIN_FAILING = 8  # tries, most of them failed, before a recovery can be told


# The state of a candidate: tries and successes since its last change, and whether it fell then.
# After these, of each sum of evidence: the sum, tries and successes since it was last 0, and when
# that was. An outage, a decline, a recovery: by what factor the odds of a success change, and at
# which logarithm of the likelihood ratio that is told.
_TRIED, _SUCCEEDED, _FELL = range(3)
_SUMS = tuple(
    (3 + 4 * i, factor, limit, math.log(factor))
    for i, (factor, limit) in enumerate(((1.0 / 6.0, 11.0), (1.0 / 3.0, 9.0), (6.0, 11.0)))
)
_OUTAGE, _CLEAR = 3, 4.0  # a decline that ends in so much evidence of an outage is told as one
WIDTH = 3 + 4 * len(_SUMS)


class Change(NamedTuple):
    """A change of a candidate's success: when it began, the rate before, and since."""

    at: float
    before: float
    since: float


def watch(state: list[float], place: int, at: float, good: bool, estimate: float) -> Change | None:
    """Take account of a try; return the fall or the recovery that it makes certain, if any.

    A failure counts as evidence by how unlikely it was by the candidate's rate so far, and by the
    model's ``estimate`` for this very context, whichever is less: where the policy sends harder
    cases to a candidate, the model knows. But a model may expect a recovery before anybody tries
    (a status field tells), so what fell recovers by its own rate alone.
    """
    state[place + _TRIED] += 1.0
    state[place + _SUCCEEDED] += good
    for offset, factor, limit, log in _SUMS:
        own, rise = place + offset, factor > 1.0
        if good is not rise and not state[own]:
            continue  # nothing that would begin it
        if rise and not state[place + _FELL]:
            break
        tried = state[place + _TRIED] - state[own + 1] - 1.0
        if tried < (MIN_FAILING if rise else MIN_TRIES):
            continue
        succeeded = state[place + _SUCCEEDED] - state[own + 2] - good
        rate = (succeeded + 1.0) / (tried + 2.0)
        if 0.0 <= estimate < rate and not rise:
            rate = max(estimate, 0.001)
        if not state[own]:
            state[own + 3] = at
        # after the change the odds are factor times as large: p' = factor p / (1 - p + factor p)
        state[own] += (log if good else 0.0) - math.log(1.0 - rate + factor * rate)
        state[own + 1] += 1.0
        state[own + 2] += good
        if state[own] <= 0.0:
            state[own : own + 4] = [0.0] * 4
        elif state[own] > limit:
            if not rise and state[place + _OUTAGE] > _CLEAR:
                own = place + _OUTAGE
            _, n, s, began = state[own : own + 4]
            tried, succeeded = state[place + _TRIED] - n, state[place + _SUCCEEDED] - s
            state[place : place + WIDTH] = [n, s, float(not rise)] + [0.0] * (WIDTH - 3)
            return Change(began, succeeded / tried, s / n)
    return None
