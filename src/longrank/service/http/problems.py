"""Problem details (RFC 9457): how an error is reported over HTTP."""

import re
from http import HTTPStatus

import msgspec

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
_MAX_DETAIL = 300
_RECORD = re.compile(r"(?:candidate (\d+)|context)(?:, field (.+))?", re.DOTALL)
_STATUSES = (
    (InvalidInput, 422),
    (Unknown, 404),
    (Conflict, 409),
    (Busy, 503),
    (NotReady, 503),
    (StoreFailed, 503),
    (StoreDamaged, 500),
)


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """Problem details (RFC 9457); ``parameter`` names the field that breaks a rule."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None
    parameter: str | None = None


class Refused(Exception):
    """A request that is refused before the engine sees it: status, sentence, headers, field."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: dict[str, str] | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}
        self.parameter = parameter


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def report(error: Exception, request_id: str) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body that report an error."""
    status = status_of(error)
    headers = {"Content-Type": "application/problem+json"}
    if isinstance(error, Refused):
        headers |= error.headers
    if status == 503:
        headers.setdefault("Retry-After", RETRY_AFTER)
    parameter = error.parameter if isinstance(error, Refused) else None
    if isinstance(error, InvalidInput):
        parameter = json_path(error.parameter)
    detail = sentence(error)[:_MAX_DETAIL]
    title = HTTPStatus(status).phrase
    problem = ProblemDetails("about:blank", title, status, detail, request_id, parameter)
    return status, headers, msgspec.json.encode(problem)


def sentence(error: Exception) -> str:
    """Return what an error says, in the words of JSON."""
    if not isinstance(error, InvalidInput) or error.sentence:
        return str(error)
    parameter, value = json_path(error.parameter), str(error.value)
    rule, got = error.rule.replace("or None", "or null"), "null" if value == "None" else value
    return f"{parameter} must {rule}, got {got}"


def json_path(parameter: str) -> str:
    """Return where in a request the library's parameter stands.

    >>> json_path("candidate 3, field 'cost'"), json_path("context, field 'card type'")
    ('candidates[3].cost', "context['card type']")
    """
    if parameter == "items":
        return "features"
    match = _RECORD.fullmatch(parameter)
    if match is None:
        return parameter.removeprefix("payoffs.")
    index, field = match.groups()
    path = "context" if index is None else f"candidates[{index}]"
    if field is None:
        return path
    return f"{path}.{field[1:-1]}" if field[1:-1].isidentifier() else f"{path}[{field}]"
