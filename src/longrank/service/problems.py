"""What went wrong, as RFC 9457 problem details."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from longrank.errors import InvalidInput
from longrank.service.errors import (
    Busy,
    Conflict,
    NotReady,
    StoreDamaged,
    StoreFailed,
    Unknown,
)

RETRY_AFTER = "1"
_SHOWN = 300


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """RFC 9457: what went wrong. ``parameter`` names the field, where one is to blame."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None
    parameter: str | None = None


class Refused(Exception):
    """A request that HTTP itself refuses: a status, a sentence, the field that is to blame."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: dict[str, str] | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers
        self.parameter = parameter


def status_of(error: Exception) -> int:
    """The HTTP status of an error of ours."""
    for kind, status in (
        (InvalidInput, 422),
        (Unknown, 404),
        (Conflict, 409),
        (Busy, 503),
        (NotReady, 503),
        (StoreFailed, 503),
        (StoreDamaged, 500),
    ):
        if isinstance(error, kind):
            return status
    return 500


def response(
    status: int,
    detail: str,
    *,
    request_id: str | None = None,
    parameter: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The answer that says what went wrong."""
    title = HTTPStatus(status).phrase
    problem = Problem("about:blank", title, status, detail[:_SHOWN], request_id, parameter)
    extra = dict(headers or {})
    if status == 503:
        extra.setdefault("Retry-After", RETRY_AFTER)
    return Response(
        msgspec.json.encode(problem), status, extra, media_type="application/problem+json"
    )


def answer(request_id: str, error: Exception) -> Response:
    """The answer to an error of ours."""
    if isinstance(error, Refused):
        return response(
            error.status,
            error.detail,
            request_id=request_id,
            parameter=error.parameter,
            headers=error.headers,
        )
    parameter = error.parameter if isinstance(error, InvalidInput) else None
    detail = _without_features(error)
    return response(status_of(error), detail, request_id=request_id, parameter=parameter)


def _without_features(error: Exception) -> str:
    """The sentence; of features it does not repeat the values."""
    if isinstance(error, InvalidInput) and error.parameter in ("items", "features"):
        return f"features must {error.rule}"
    return str(error)
