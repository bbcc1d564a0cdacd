"""From a request to an outcome: what it says of the sequence, and whether it is learned from."""

from __future__ import annotations

from longrank.errors import InvalidInput
from longrank.service.messages import OutcomeRequest
from longrank.service.records import OutcomeRecord


def read_outcome(
    request: OutcomeRequest, ids: list[str], *, frozen: bool, expired: bool
) -> OutcomeRecord:
    """Check a request about a sequence; an :class:`InvalidInput` says what is wrong with it."""
    tried, succeeded = _observed(request, ids)
    for position in request.not_attributable:
        if position > tried - succeeded:
            raise InvalidInput("not_attributable", "name failures of this outcome", position)
    why = _why_not(request, tried, succeeded, frozen, expired)
    return OutcomeRecord(
        tried=tried,
        succeeded=succeeded,
        learn=why is None,
        why=why,
        attributable=request.attributable,
        not_attributable=request.not_attributable,
        reason=request.reason,
        at=request.at,
    )


def missing_outcome(ids: list[str], *, frozen: bool) -> OutcomeRecord:
    """What no outcome until expiry is taken for, where it means that all failed."""
    why = "frozen" if frozen else None if ids else "nothing was tried"
    return OutcomeRecord(
        len(ids), False, learn=why is None, why=why, reason="no outcome", automatic=True
    )


def _observed(request: OutcomeRequest, ids: list[str]) -> tuple[int, bool]:
    """How many were tried and whether the last one succeeded, from either form."""
    tried, succeeded = request.tried, request.succeeded
    if request.succeeded_id is not None:
        if request.succeeded_id not in ids:
            rule = "be the id of a candidate of the sequence"
            raise InvalidInput("succeeded_id", rule, repr(request.succeeded_id))
        position = ids.index(request.succeeded_id) + 1
        if tried not in (None, position) or succeeded is False:
            raise InvalidInput("succeeded_id", "agree with tried and succeeded", position)
        return position, True
    if tried is None or succeeded is None:
        raise InvalidInput("tried, succeeded", "both be given, or succeeded_id", "neither")
    if tried > len(ids):
        raise InvalidInput("tried", f"be at most {len(ids)}, the sequence's length", tried)
    if succeeded and tried == 0:
        raise InvalidInput("tried", "be at least 1 where something succeeded", 0)
    return tried, succeeded


def _why_not(
    request: OutcomeRequest, tried: int, succeeded: bool, frozen: bool, expired: bool
) -> str | None:
    """Why an outcome is not learned from, if it is not."""
    if frozen:
        return "frozen"
    if expired:
        return "expired"
    if tried == 0:
        return "nothing was tried"
    failures = tried - succeeded
    left_out = len(set(request.not_attributable)) if request.attributable else failures
    if not succeeded and left_out == failures:
        return "not attributable"
    return None
