"""Who may make a call."""

from __future__ import annotations

from starlette.requests import Request

from longrank.service import problems
from longrank.service.calls import Call
from longrank.service.engine.keys import ADMIN
from longrank.service.handlers.base import Service, header, name_of


def allow(service: Service, call: Call, request: Request) -> None:
    """Refuse who may not: 401 without a good key, 403 with another's."""
    if call.who == "all" or not service.auth:
        return
    scheme, _, key = header(request, b"authorization", "").partition(" ")
    owner = service.keys.owner(key.strip()) if scheme.lower() == "bearer" and key else None
    if owner is None:
        detail = "a key is needed: Authorization: Bearer KEY"
        raise problems.Refused(401, detail, {"WWW-Authenticate": "Bearer"})
    if owner == ADMIN:
        return
    if call.who == "admin" or service.engine.number(name_of(request)) != owner:
        raise problems.Refused(403, "this key does not open this")
