"""The OpenAPI 3.1 document, generated from the table of endpoints and its message types."""

from functools import cache
from typing import Any

import msgspec

from longrank import __version__
from longrank.service.http.problems import ProblemDetails
from longrank.service.http.routes import FIELD, JSON, ROUTES, Route

_REASONS = {
    400: "The body cannot be decoded.",
    401: "The key is missing or unknown.",
    403: "The key is for something else, or the request comes from a page of another origin.",
    404: "There is no such model, decision or key.",
    408: "The body took too long.",
    409: "It exists already, with other content.",
    413: "The body is too large.",
    415: "The media type of the body is missing or not supported.",
    422: "The request breaks a rule; `detail` says which.",
    429: "The key has too many requests: try again after `Retry-After` seconds.",
    500: "The store is damaged, or the service failed.",
    503: "Busy, starting, or the store cannot write: try again after `Retry-After` seconds.",
}
NULL = {"type": "null"}  # a parameter that is left out
_NEEDS = {
    "admin": "Needs the administrator's key.",
    "model": "Needs a key of the model, or the administrator's.",
    "open": "Needs no key.",
}


@cache
def document() -> bytes:
    """Return the document as JSON."""
    return msgspec.json.encode(tree())


def tree() -> dict[str, Any]:
    """Return the document as a tree of dictionaries."""
    kinds: list[Any] = [ProblemDetails]
    for route in ROUTES:
        kinds += [kind for kind in (route.takes, *route.answers.values()) if _is_message(kind)]
    unique = list(dict.fromkeys(kinds))
    listed, components = msgspec.json.schema_components(
        unique, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip(unique, listed, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "longrank",
            "version": __version__,
            "description": "Learns in what order to try candidates, and when to stop.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _is_message(kind: Any) -> bool:
    return kind is not None and kind is not bytes


def _operation(route: Route[..., Any], schemas: dict[Any, Any]) -> dict[str, Any]:
    statuses = [503]
    if route.scope != "open":
        statuses += [401, 403, 429, 500]
        if FIELD.search(route.path):
            statuses += [404, 422]
        elif route.query:
            statuses += [422]
    if route.takes is not None:
        statuses += [400, 408, 409, 413, 415]
    problem = {"application/problem+json": {"schema": schemas[ProblemDetails]}}
    responses = {
        str(status): _answer(route, kind, schemas) for status, kind in route.answers.items()
    }
    for status in sorted(statuses):
        responses[str(status)] = {"description": _REASONS[status], "content": problem}
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": _NEEDS[route.scope],
        "parameters": _parameters(route),
        "responses": responses,
        "security": [] if route.scope == "open" else [{"key": []}],
    }
    if route.takes is not None:
        schema = {"schema": schemas[route.takes]}
        operation["requestBody"] = {
            "required": True,
            "content": {JSON: schema, "application/msgpack": schema},
        }
    return operation


def _answer(route: Route[..., Any], kind: Any, schemas: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": route.summary}
    if kind is not None:
        schema = schemas[kind] if _is_message(kind) else {"type": "string"}
        answer["content"] = {media.partition(";")[0]: {"schema": schema} for media in route.media}
    return answer


def _parameters(route: Route[..., Any]) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([route.parameters])
    (schema,) = components.values()
    paths, required = FIELD.findall(route.path), schema["required"]
    return [
        {
            "name": name,
            "in": "path" if name in paths else "header" if name in route.headers else "query",
            "required": name in required,
            "schema": next(kind for kind in kinds.get("anyOf", [kinds]) if kind != NULL),
        }
        for name, kinds in schema["properties"].items()
    ]
