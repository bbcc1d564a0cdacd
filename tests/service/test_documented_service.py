"""docs/service.md: every endpoint, parameter, field, client method and status is there.

The metrics are in docs/operations.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from serving import make, play

from longrank.service import messages
from longrank.service.http.openapi import tree
from longrank.service.http.routes import PAGES, ROUTES, Endpoints

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "service.md").read_text()


def code(text):
    return set(re.findall(r"`([^`\n]+)`", text))


CODE = code(TEXT)


def test_every_endpoint_is_documented_with_who_may_call_it():
    for route in (*ROUTES, *PAGES):
        assert f"{route.method} {route.path}" in CODE
        who = {"admin": "administrator", "model": "model", "open": "none"}[route.scope]
        rows = [line for line in TEXT.splitlines() if f"`{route.method} {route.path}`" in line]
        assert rows[0].split("|")[2].strip() == who, route
        for parameter in (*route.query, *route.headers):
            assert parameter in TEXT


def test_every_field_of_a_request_and_every_method_of_the_client_is_documented():
    for message in (messages.ModelRequest, messages.DecisionRequest, messages.OutcomeRequest):
        assert {field.name for field in msgspec.structs.fields(message)} <= CODE
    methods = {name for name, value in vars(Endpoints).items() if hasattr(value, "route")}
    assert methods <= {name for part in CODE for name in re.findall(r"^(\w+)\(", part)}


def test_every_metric_is_documented(http):
    make(http.engine, "m")
    play(http.engine, count=1)
    types = re.findall(r"^# TYPE (\S+) (\w+)$", http.get("/metrics").text, re.MULTILINE)
    names = {name for name, _ in types if not name.endswith("_created")}
    assert len(names) >= 12
    documented = code((DOCS / "operations.md").read_text())
    assert names == {one for one in documented if re.fullmatch(r"(longrank|process)_\w+", one)}


def test_every_status_is_documented():
    paths = tree()["paths"].values()
    found = {status for path in paths for one in path.values() for status in one["responses"]}
    rows = [line.split("|")[1] for line in TEXT.splitlines() if re.match(r"\| [45]\d\d", line)]
    assert {status for status in found if status >= "400"} <= set(re.findall(r"\d+", str(rows)))
