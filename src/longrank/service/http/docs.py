"""The page ``/docs``: the OpenAPI document for people, without scripts."""

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any

from longrank.document.blocks import Block, Grid, Heading, Prose, to_html
from longrank.service.http.openapi import tree
from longrank.service.http.service import Reply, Service
from longrank.service.http.status import PAGE_HEADERS

Node = dict[str, Any]

_SIGNS = {
    "minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<",
    "minLength": "length ≥", "maxLength": "length ≤",
}  # fmt: skip


async def page(service: Service) -> Reply:  # noqa: ARG001
    return render()


@cache
def render() -> Reply:
    """Return the page, with the policy that allows its own style and nothing else."""
    document = tree()
    links = {"/": "/", "/openapi.json": "/openapi.json"}
    links |= {name: f"#{name}" for name in document["components"]["schemas"]}
    links |= {escape(title): f"#call-{call['operationId']}" for title, call in _calls(document)}

    def link(code: re.Match[str]) -> str:
        target = links.get(code[1])
        return code[0] if target is None else f'<a href="{target}">{code[0]}</a>'

    text = to_html(_blocks(document), f"{document['info']['title']}: the HTTP API")
    text = re.sub("<code>([^<]+)</code>", link, text)
    text = text.replace("<style>", '<link rel="icon" href="data:,">\n<style>', 1)
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Reply(text.encode(), PAGE_HEADERS | {"Content-Security-Policy": policy})


def _calls(document: Node) -> Iterator[tuple[str, Node]]:
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            yield f"{method.upper()} {path}", call


def _blocks(document: Node) -> Iterator[Block]:
    info, schemas = document["info"], document["components"]["schemas"]
    yield Heading(f"{info['title']} {info['version']}: the HTTP API", 1)
    yield Prose(info["description"])
    yield Prose(
        "A request names its key in the header `Authorization: Bearer lr_...`. Bodies are JSON or "
        "MessagePack (`Content-Type`); errors are `application/problem+json`. For programs there "
        f"is `/openapi.json` (OpenAPI {document['openapi']}). The console is at `/`."
    )
    yield Heading("Endpoints", 2)
    yield _table(
        ("endpoint", "what it does"),
        ((f"`{title}`", call["summary"]) for title, call in _calls(document)),
    )
    for title, call in _calls(document):
        yield Heading(f"`{title}`", 3, f"call-{call['operationId']}")
        yield from _call(call)
    yield Heading("Messages", 2)
    for name in sorted(schemas):
        yield Heading(f"`{name}`", 3, name)
        yield from _message(schemas[name])


def _call(call: Node) -> Iterator[Block]:
    yield _prose(f"{call['summary']} {call['description']}")
    if call["parameters"]:
        yield _table(
            ("parameter", "in", "type", ""),
            (
                (f"`{part['name']}`", part["in"], _kind(part["schema"]),
                 _need(part["required"], part["schema"]))
                for part in call["parameters"]
            ),
        )  # fmt: skip
    body = call.get("requestBody")
    if body:
        media = " or ".join(f"`{kind}`" for kind in body["content"])
        yield Prose(f"Takes {_kind(next(iter(body['content'].values()))['schema'])} as {media}.")
    errors = []
    for status, answer in call["responses"].items():
        if status < "400":
            yield Prose(f"Answers {status}: {_content(answer)}.")
        else:
            errors.append((status, _content(answer), answer["description"]))
    statuses = ", ".join(status for status, *_ in errors)
    yield _table(("status", "answer", "reason"), errors, folded=f"Errors: {statuses}")


def _content(answer: Node) -> str:
    """Describe the body of an answer."""
    kinds = [
        _kind(content["schema"]) if media.endswith("json") else f"`{media}`"
        for media, content in answer.get("content", {}).items()
    ]
    return " or ".join(kinds) or "nothing"


def _message(schema: Node) -> Iterator[Block]:
    for paragraph in schema.get("description", "").split("\n\n"):
        yield _prose(paragraph)
    needed, fields = schema.get("required", []), schema.get("properties", {})
    if not fields:
        yield Prose(_kind(schema))
        return
    yield _table(
        ("field", "type", "", "meaning"),
        (
            (f"`{name}`", _kind(kind), _need(name in needed, kind), kind.get("description", ""))
            for name, kind in fields.items()
        ),
    )


def _kind(schema: Node) -> str:
    """Describe the values that a schema allows."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"`{value!r}`" for value in schema["enum"])
    kind, values = schema.get("type", "anything"), schema.get("additionalProperties")
    if kind == "array":
        parts = [*schema.get("prefixItems", ()), schema.get("items")]
        inner = ", ".join(_kind(part) for part in parts if part)
        return f"array of {inner}" if inner else "array"
    if kind == "object" and isinstance(values, dict):
        return f"object of {_kind(values)}"
    rules = [f"{sign} {schema[name]:,}" for name, sign in _SIGNS.items() if name in schema]
    rules += [f"`{schema['pattern']}`"] if "pattern" in schema else []
    return " ".join([kind, ", ".join(rules)]).strip()


def _need(required: bool, schema: Node) -> str:
    if required:
        return "required"
    default = schema.get("default")
    return "optional" if default in (None, {}, []) else f"default `{default!r}`"


def _table(header: tuple[str, ...], rows: Any, folded: str = "") -> Grid:
    marked = tuple(tuple(_plain(cell) for cell in row) for row in rows)
    return Grid(header, marked, prose=tuple(range(len(header))), folded=folded)


def _prose(text: str) -> Prose:
    return Prose(_plain(" ".join(text.split())))


def _plain(text: str) -> str:
    """Mark code as blocks do; references to classes become their names."""
    return re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
