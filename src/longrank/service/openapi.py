"""The OpenAPI 3.1 document, made from the calls and their messages."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longrank import __version__
from longrank.service import messages
from longrank.service.calls import CALLS, Call
from longrank.service.problems import Problem

_REASONS = {
    400: "The body cannot be read.",
    401: "No key, or one that is not known.",
    403: "The key is for something else.",
    404: "There is no such thing.",
    409: "There is one with another content.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "Something in the request breaks a rule; `detail` says which.",
    500: "The store is damaged, or an error of the service.",
    503: "Busy, starting, or the store cannot write: try again after `Retry-After` seconds.",
}
_PATH = {"name": messages.NAME, "id": messages.ID}


def document() -> bytes:
    """As JSON."""
    return msgspec.json.encode(tree())


def tree() -> dict[str, Any]:
    """As a tree."""
    kinds: list[Any] = [Problem]
    for call in CALLS:
        kinds += [kind for kind in (call.takes, *call.answers.values()) if kind is not None]
    unique = list(dict.fromkeys(kinds))
    schemas, components = msgspec.json.schema_components(
        unique, ref_template="#/components/schemas/{name}"
    )
    found = dict(zip(unique, schemas, strict=True))
    paths: dict[str, Any] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, found)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "longrank",
            "version": __version__,
            "description": "In what order to try things, and when to stop.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(call: Call, found: dict[Any, Any]) -> dict[str, Any]:
    statuses = [503]
    if call.who != "all":
        statuses += [401, 500]
        if call.path != "/v1/models":
            statuses += [403, 404, 422]
        else:
            statuses += [403]
    if call.takes is not None:
        statuses += [400, 409, 413, 415]
    problem = {"application/problem+json": {"schema": found[Problem]}}
    responses = {str(status): _answer(call, kind, found) for status, kind in call.answers.items()}
    for status in sorted(statuses):
        responses[str(status)] = {"description": _REASONS[status], "content": problem}
    operation: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary,
        "parameters": _parameters(call),
        "responses": responses,
        "security": [] if call.who == "all" else [{"key": []}],
    }
    if call.takes is not None:
        schema = {"schema": found[call.takes]}
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": schema, "application/msgpack": schema},
        }
    return operation


def _answer(call: Call, kind: Any, found: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": call.summary}
    if kind is not None:
        answer["content"] = {call.media: {"schema": found[kind]}}
    elif 200 in call.answers:
        answer["content"] = {call.media: {"schema": {"type": "string"}}}
    return answer


def _parameters(call: Call) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True,
         "schema": {"type": "string", "pattern": _PATH[name]}}
        for name in re.findall(r"{(\w+)}", call.path)
    ]  # fmt: skip
    for name, schema in call.query.items():
        required = name == "older_than"
        parameters.append({"name": name, "in": "query", "required": required, "schema": schema})
    for name, schema in call.headers.items():
        parameters.append({"name": name, "in": "header", "required": False, "schema": schema})
    return parameters
