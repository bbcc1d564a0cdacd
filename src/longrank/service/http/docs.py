"""The page at ``/docs``: the OpenAPI document for readers, without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from typing import Any

from longrank.service.http.openapi import tree
from longrank.service.http.service import Reply, Service
from longrank.service.http.status import PAGE_HEADERS

Node = dict[str, Any]

_STYLE = """
:root { color-scheme: light dark; --soft: #667585; --line: #c8d0d8; --mark: #2563a8; }
@media (prefers-color-scheme: dark) { :root { --soft: #9aa7b4; --line: #3a4653; --mark: #7db4f0; } }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 2rem 0 0.25rem; font-size: 1rem; }
a { color: var(--mark); }
code { font: 0.9em ui-monospace, Menlo, Consolas, monospace; }
h3 b { color: var(--mark); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; margin: 0.5rem 0; }
caption { text-align: left; font-weight: 600; padding: 0.25rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 1rem 0.2rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; }
.soft { color: var(--soft); }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SIGNS = {
    "minimum": "≥", "exclusiveMinimum": "&gt;", "maximum": "≤", "exclusiveMaximum": "&lt;",
    "minLength": "length ≥", "maxLength": "length ≤",
}  # fmt: skip


async def page(service: Service) -> Reply:  # noqa: ARG001
    return Reply(render(), PAGE_HEADERS | {"Content-Security-Policy": _POLICY})


@cache
def render() -> bytes:
    """Return the page."""
    return "\n".join(_page(tree())).encode()


def _page(document: Node) -> Iterator[str]:
    info, schemas = document["info"], document["components"]["schemas"]
    calls = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{escape(info['title'])} {escape(info['version'])}: the HTTP API"
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head><body>'
    yield f"<h1>{title}</h1>{_prose(info['description'])}"
    yield (
        "<p>A request names its key in the header <code>Authorization: Bearer lr_...</code>. Bodies"
        " are JSON or MessagePack (<code>Content-Type</code>); errors are"
        " <code>application/problem+json</code>. For programs: "
        '<a href="/openapi.json">openapi.json</a> (OpenAPI '
        f"{escape(document['openapi'])}). <a href='/'>The service's page</a>.</p>"
    )
    yield "<h2>Endpoints</h2>"
    yield _table(
        ["", "path", "what it does"],
        (
            [f"<b>{method}</b>", f"<a href='#{_id(call)}'><code>{escape(path)}</code></a>",
             _line(call["summary"])]
            for method, path, call in calls
        ),
    )  # fmt: skip
    for method, path, call in calls:
        yield from _operation(method, path, call)
    yield "<h2>Messages</h2>"
    for name in sorted(schemas):
        yield from _message(name, schemas[name])
    yield "</body></html>"


def _operation(method: str, path: str, call: Node) -> Iterator[str]:
    yield f"<h3 id='{_id(call)}'><b>{method}</b> <code>{escape(path)}</code></h3>"
    yield _prose(f"{call['summary']} {call['description']}")
    if call["parameters"]:
        yield _table(
            ["parameter", "in", "type", ""],
            (
                [f"<code>{escape(part['name'])}</code>", part["in"], _kind(part["schema"]),
                 _need(part["required"], part["schema"])]
                for part in call["parameters"]
            ),
        )  # fmt: skip
    body = call.get("requestBody")
    if body:
        media = " or ".join(f"<code>{escape(kind)}</code>" for kind in body["content"])
        yield f"<p>Takes {_kind(next(iter(body['content'].values()))['schema'])} as {media}.</p>"
    rows = [
        (status, _answer(told), told["description"]) for status, told in call["responses"].items()
    ]
    yield "".join(f"<p>Answers <b>{row[0]}</b>: {row[1]}.</p>" for row in rows if row[0] < "400")
    bad = [row for row in rows if row[0] >= "400"]
    yield f"<details><summary>Errors: {', '.join(row[0] for row in bad)}</summary>"
    yield _table(["status", "answer", "reason"], ([*row[:2], _line(row[2])] for row in bad))
    yield "</details>"


def _answer(answer: Node) -> str:
    """Describe the body of an answer."""
    kinds = [
        _kind(content["schema"]) if media.endswith("json") else f"<code>{escape(media)}</code>"
        for media, content in answer.get("content", {}).items()
    ]
    return " or ".join(kinds) or "nothing"


def _message(name: str, schema: Node) -> Iterator[str]:
    yield f"<h3 id='{escape(name)}'><code>{escape(name)}</code></h3>"
    yield _prose(schema.get("description", ""))
    needed = schema.get("required", [])
    fields = schema.get("properties", {})
    if not fields:
        yield f"<p>{_kind(schema)}</p>"
        return
    yield _table(
        ["field", "type", "", "meaning"],
        (
            [f"<code>{escape(field)}</code>", _kind(kind), _need(field in needed, kind),
             _line(kind.get("description", ""))]
            for field, kind in fields.items()
        ),
    )  # fmt: skip


def _kind(schema: Node) -> str:
    """Describe the values that a schema allows, in words and links."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(repr(value))}</code>" for value in schema["enum"])
    kind, values = schema.get("type", "anything"), schema.get("additionalProperties")
    if kind == "array":
        parts = [*schema.get("prefixItems", ()), schema.get("items")]
        inner = ", ".join(_kind(part) for part in parts if part)
        return f"array of {inner}" if inner else "array"
    if kind == "object" and isinstance(values, dict):
        return f"object of {_kind(values)}"
    rules = [f"{sign} {schema[name]:,}" for name, sign in _SIGNS.items() if name in schema]
    rules += [f"<code>{escape(schema['pattern'])}</code>"] if "pattern" in schema else []
    return f"{kind} <span class='soft'>{', '.join(rules)}</span>" if rules else kind


def _need(required: bool, schema: Node) -> str:
    if required:
        return "required"
    given = schema.get("default")
    return "optional" if given in (None, {}, []) else f"default <code>{escape(repr(given))}</code>"


def _prose(text: str) -> str:
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    return "".join(f"<p>{_line(part)}</p>" for part in parts if part)


def _line(text: str) -> str:
    """Escape text, with the code in it marked as such; references to classes become their names."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return re.sub(r"(`+)([^`]+)\1", r"<code>\2</code>", escape(text))


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th scope='col'>{text}</th>" for text in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead>{body}</table></div>"


def _id(call: Node) -> str:
    return f"call-{escape(call['operationId'])}"
