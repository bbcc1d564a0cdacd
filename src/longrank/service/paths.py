"""The router: every request goes through it, so it is a table of patterns and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from longrank.errors import LongrankError
from longrank.service import problems
from longrank.service.allow import allow
from longrank.service.calls import Call
from longrank.service.handlers.base import Service

_FIELD = re.compile(r"\\{(\w+)\\}")


class Paths:
    """Finds the call that a path and a method mean, and makes it if it is allowed."""

    def __init__(self, service: Service, calls: Iterable[Call]) -> None:
        self._service = service
        paths: dict[str, dict[str, Call]] = {}
        for call in calls:
            methods = paths.setdefault(_FIELD.sub(r"(?P<\1>[^/]+)", re.escape(call.path)), {})
            methods[call.method] = call
            if call.method == "GET":
                methods["HEAD"] = call
        self._paths = [(re.compile(path), methods) for path, methods in paths.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            call = self._find(scope)
            request = Request(scope, receive)
            if call.who != "all":
                self._service.engine.check()
                allow(self._service, call, request)
            response = await call.handler(self._service, request)
        except (LongrankError, problems.Refused) as error:
            response = problems.answer(scope["request_id"], error)
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> Call:
        for pattern, methods in self._paths:
            found = pattern.fullmatch(scope["path"])
            if found is not None:
                call = methods.get(scope["method"])
                if call is None:
                    allowed = {"Allow": ", ".join(methods)}
                    raise problems.Refused(405, "Method Not Allowed", allowed)
                scope["call"], scope["path_params"] = call.name, found.groupdict()
                return call
        raise problems.Refused(404, "Not Found")
