"""Whether a log supports a policy: decided on what was chosen, never on how it ended."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.sequences import exceeds

Array = NDArray[np.float64]
_UNSEEN = 2.0  # of the largest weights, that chance may have kept out of the log
_FAR = 3.0  # standard errors
_NEAR = 2.0  # standard errors
_TOLERATED = 0.01  # of the policy, without support
_SELDOM = 1e-3  # how often chance alone may make weights look wrong
_ROUNDING = 1e-3  # of a mean of weights: what could matter to nobody
_TOO_SMALL = "propensities in the log are too small"


def no_support(found: Evidence) -> str:
    """Return why weights of whole sequences cannot tell what the policy earns; empty if they can.

    They want the log to stop wherever the policy stops; prefixes do not.
    """
    return no_prefix_support(found) or lost_stops(found)


def no_prefix_support(found: Evidence) -> str:
    """Return why weights of prefixes cannot tell what the policy would earn; empty if they can.

    Where a log supports a policy, its decisions stand for all of it after every number of actions:
    the mean mass is 1. A mean far below 1 says that the log could not have done what the policy
    does; one far above 1, that propensities are too small. Far is three standard errors, after
    adding two more of the largest weights, which chance may have kept out of the log.
    """
    return wrong_propensities(found) or no_beginning(found) or lost_support(found)


def no_beginning(found: Evidence) -> str:
    """Return that no decision began as this policy would, if so.

    An estimate by weights needs one. A verdict does not: its bounds need none, and to be silent
    whenever chance had it so would select the logs in which it is given.
    """
    if found.masses[:, 0].any():
        return ""
    return f"none of the {len(found.masses)} decisions began as this policy would"


def wrong_propensities(found: Evidence) -> str:
    """Return why the propensities of the log cannot be right; empty if they can.

    Weights are at least 0, with a mean of at most 1. So their average is seldom far above 1 in
    standard errors; and it is seldom large at all (Markov; betting tells more), however large the
    standard error, as it is if a single propensity is next to nothing. That holds of this policy's
    weights and also, often more clearly, of those of an even choice of the first item.
    """
    for column in (*found.masses.T, found.even):
        mean = float(column.mean())
        if mean <= 1.0 + _ROUNDING:
            continue
        if not mean < 1.0 / _SELDOM:  # also if a quotient is not finite any more
            return f"the weights average {mean:.3g} instead of 1: {_TOO_SMALL}"
        error = _error(column)
        if mean > 1.0 + _FAR * error + _ROUNDING or exceeds(column, 1.0 + _ROUNDING, _SELDOM):
            return (
                f"the weights average {mean:.3f} instead of 1 (standard error {error:.3f}): "
                f"{_TOO_SMALL}"
            )
    return ""


def lost_support(found: Evidence) -> str:
    """Return what of the policy the log cannot have done; empty if nothing is known of that."""
    n, unsupported = len(found.masses), found.unsupported
    if unsupported.mean() > _TOLERATED:
        return (
            f"the log has no support: in {int((unsupported > 1e-9).sum())} of {n} decisions it "
            f"was certain to do something that this policy does differently "
            f"({unsupported.mean():.1%} of its choices); a deterministic log gives bounds only"
        )
    score, least = _farthest(found, found.masses)
    return _lacking(least) if score < -_FAR else ""


def doubtful(found: Evidence) -> bool:
    """Tell whether masses are so far from 1 that only bounds which need no support are safe."""
    means, errors = found.masses.mean(axis=0), [_error(column) for column in found.masses.T]
    far = np.abs(means - 1.0) > _NEAR * np.array(errors) + _ROUNDING
    return bool(far.any()) or float(found.unsupported.max()) > 1e-9


def _farthest(found: Evidence, masses: Array) -> tuple[float, float]:
    """Return how many standard errors means are below 1 where that is most, and that mean."""
    n = len(masses)
    score, least = math.inf, 1.0
    for action, column in enumerate(masses.T):
        mean, error = float(column.mean()), _error(column)
        room = _UNSEEN * max(float(column.max()), _possible(found, action, mean)) / n
        own = (mean + room - 1.0) / math.hypot(error, room) if room < 1.0 else 0.0
        if own < score:
            score, least = own, mean
    return score, least


def _possible(found: Evidence, action: int, mean: float) -> float:
    """Return how large a weight of the first actions may be that the log did not show.

    The log has played sequences of its least propensity, so what the policy plays may have been as
    unlikely. Each of the items had its share in that; but who has seen none of the policy's weights
    does not know which.
    """
    with np.errstate(divide="ignore"):
        largest = float(np.float64(1.0) / found.log.min_propensity)
    items = max(found.masses.shape[1] - 1, 1)
    if not mean or found.log.lacks("prefix_propensities"):
        return largest
    return float(largest ** min((action + 1) / items, 1.0))


def lost_stops(found: Evidence) -> str:
    """Return which stops of the policy the log cannot have done; empty if none is known."""
    if found.stops.mean() > _TOLERATED and not found.short.any():
        return (
            "the log has no support: it always uses up the budget, and this policy stops earlier "
            f"with probability {found.stops.mean():.2f} or more"
        )
    # what prefixes stand for, and whole sequences do not: the policy's stops
    for column in (found.masses - found.weights).T:
        mean = float(column.mean())
        if mean > _TOLERATED and (column.min() > -1e-9 or mean > _FAR * _error(column)):
            return (
                "the log has no support: it does not stop where this policy stops with probability "
                f"{mean:.2f}"
            )
    score, least = _farthest(found, found.weights)
    return _lacking(least) if score < -_FAR and found.weights.any() else ""


def _lacking(mean: float) -> str:
    return (
        f"the log has no support: the weights average {mean:.3f} instead of 1, so about "
        f"{1.0 - mean:.0%} of what this policy plays could not occur in the log"
    )


def effective_by_design(found: Evidence) -> float:
    """Return the effective number of decisions, n mean(m)^2 / mean(m^2) of the masses m.

    The masses are those after each number of actions of the sequences that were played, and the
    number is the least of all: where nine items are certain and the tenth is one of forty, the
    tenth decides. Neither which decisions succeeded nor where they ended has a part in it.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # then there are none
        means = np.minimum(found.masses.mean(axis=0), 1.0)
        ratios = np.nan_to_num(means**2 / (found.masses**2).mean(axis=0))
    return float(found.observed.sum()) * float(ratios.min(initial=1.0))


def _error(column: Array) -> float:
    return float(column.std(ddof=1)) / math.sqrt(len(column)) if len(column) > 1 else math.inf
