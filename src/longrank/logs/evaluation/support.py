"""Support: whether a log can evaluate a policy, judged by its choices, never by outcomes."""

import math

import numpy as np

from longrank.arrays import Array
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import exceeds

_UNSEEN = 2.0  # largest weights that may be missing from the log by chance
_FAR = 3.0  # standard errors
_NEAR = 2.0  # standard errors
_TOLERATED = 0.01  # share of the policy that may lack support
_SELDOM = 1e-3  # probability that chance alone makes weights look wrong
_ROUNDING = 1e-3  # of a mean of weights: too small to matter
_TOO_SMALL = "propensities in the log are too small"


def no_support(evidence: Evidence) -> str:
    """Return why weights of whole sequences cannot estimate the policy's value; empty if they can.

    Sequence weights require the log to stop where the policy does; prefix weights do not.
    """
    return no_prefix_support(evidence) or lost_stops(evidence)


def no_prefix_support(evidence: Evidence) -> str:
    """Return why weights of prefixes cannot estimate the policy's value; empty if they can.

    With support, weights average 1 after every number of actions. An average far below 1 means
    that the log could not have done what the policy does; one far above 1, that its propensities
    are too small. "Far" is three standard errors, after adding two more of the largest weights,
    which may be missing from the log by chance.
    """
    reason = wrong_propensities(evidence)
    # A weighted estimate needs a decision that began as the policy would. A verdict does not: its
    # bounds are valid without it, and refusing after bad luck would bias which logs get one.
    if not reason and not evidence.masses[:, 0].any():
        return f"none of the {len(evidence.masses)} decisions began as this policy would"
    return reason or lost_support(evidence)


def wrong_propensities(evidence: Evidence) -> str:
    """Return why the propensities of the log cannot be right; empty if they can.

    Weights are non-negative with a mean of at most 1, so their average is rarely many standard
    errors above 1, and rarely large at all (Markov; betting is sharper), even where a single tiny
    propensity inflates the standard error. This is checked for the policy's weights and, often
    more sensitive, for those of a uniform choice of the first item.
    """
    for column in (*evidence.masses.T, evidence.even):
        mean = float(column.mean())
        if mean <= 1.0 + _ROUNDING:
            continue
        if not mean < 1.0 / _SELDOM:  # also true if a quotient overflowed
            return f"the weights average {mean:.3g} instead of 1: {_TOO_SMALL}"
        error = _error(column)
        if mean > 1.0 + _FAR * error + _ROUNDING or exceeds(column, 1.0 + _ROUNDING, _SELDOM):
            return (
                f"the weights average {mean:.3f} instead of 1 (standard error {error:.3f}): "
                f"{_TOO_SMALL}"
            )
    return ""


def lost_support(evidence: Evidence) -> str:
    """Return which part of the policy the log cannot have played; empty if none is known."""
    n, unsupported = len(evidence.masses), evidence.unsupported
    if unsupported.mean() > _TOLERATED:
        return (
            f"the log has no support: in {int((unsupported > 1e-9).sum())} of {n} decisions it "
            f"was certain to do something that this policy does differently "
            f"({unsupported.mean():.1%} of its choices); a deterministic log gives bounds only"
        )
    return _lacking(evidence, evidence.masses)


def doubtful(evidence: Evidence) -> bool:
    """Whether masses are so far from 1 that only bounds valid without support are safe."""
    means, errors = evidence.masses.mean(axis=0), [_error(column) for column in evidence.masses.T]
    far = np.abs(means - 1.0) > _NEAR * np.array(errors) + _ROUNDING
    return bool(far.any()) or float(evidence.unsupported.max()) > 1e-9


def _lacking(evidence: Evidence, masses: Array) -> str:
    """Return how much of the policy is lacking, by the mean furthest below 1 in standard errors."""
    n = len(masses)
    score, least = math.inf, 1.0
    for action, column in enumerate(masses.T):
        mean, error = float(column.mean()), _error(column)
        room = _UNSEEN * max(float(column.max()), _possible(evidence, action, mean)) / n
        own = (mean + room - 1.0) / math.hypot(error, room) if room < 1.0 else 0.0
        if own < score:
            score, least = own, mean
    if score >= -_FAR:
        return ""
    return (
        f"the log has no support: the weights average {least:.3f} instead of 1, so about "
        f"{1.0 - least:.0%} of what this policy plays could not occur in the log"
    )


def _possible(evidence: Evidence, action: int, mean: float) -> float:
    """Return how large an unseen weight of the first actions may be.

    What the policy plays may have been as unlikely as the log's least likely sequence. Its items
    share that factor evenly, unless no weight of the policy was seen at all.
    """
    with np.errstate(divide="ignore"):
        largest = float(np.float64(1.0) / evidence.log.min_propensity)
    items = max(evidence.masses.shape[1] - 1, 1)
    if not mean or evidence.log.lacks("prefix_propensities"):
        return largest
    return float(largest ** min((action + 1) / items, 1.0))


def lost_stops(evidence: Evidence) -> str:
    """Return which stops of the policy the log cannot have made; empty if none is known."""
    if evidence.stops.mean() > _TOLERATED and not evidence.short.any():
        return (
            "the log has no support: it always uses up the budget, and this policy stops earlier "
            f"with probability {evidence.stops.mean():.2f} or more"
        )
    # Prefix weights minus sequence weights are the policy's stops.
    for column in (evidence.masses - evidence.weights).T:
        mean = float(column.mean())
        if mean > _TOLERATED and (column.min() > -1e-9 or mean > _FAR * _error(column)):
            return (
                "the log has no support: it does not stop where this policy stops with probability "
                f"{mean:.2f}"
            )
    return _lacking(evidence, evidence.weights) if evidence.weights.any() else ""


def effective_by_design(evidence: Evidence) -> float:
    """Return the effective number of decisions, n mean(m)^2 / mean(m^2) of the masses m.

    The minimum over all numbers of actions counts: if nine items are certain and the tenth is one
    of forty, the tenth decides. Outcomes play no part in it.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # nan_to_num makes these 0
        means = np.minimum(evidence.masses.mean(axis=0), 1.0)
        ratios = np.nan_to_num(means**2 / (evidence.masses**2).mean(axis=0))
    return float(evidence.observed.sum()) * float(ratios.min(initial=1.0))


def _error(column: Array) -> float:
    return float(column.std(ddof=1)) / math.sqrt(len(column)) if len(column) > 1 else math.inf
