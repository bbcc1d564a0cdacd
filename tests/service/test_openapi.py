"""The OpenAPI document, the page at /docs and docs/service.md: complete, and what is done."""

import base64
import hashlib
import re
from collections import Counter
from html import unescape
from pathlib import Path

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from serving import ADMIN, DIM, asked, make, play
from test_console import errors

from longrank.service import messages
from longrank.service.http.docs import render
from longrank.service.http.openapi import tree
from longrank.service.http.routes import PAGES, ROUTES, Endpoints
from markup import Markup

NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
SOME = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_call_is_in_the_document_with_its_messages():
    document = tree()
    assert document["openapi"].startswith("3.1")
    paths = document["paths"].items()
    found = {(method.upper(), path) for path, calls in paths for method in calls}
    assert found == {(call.method, call.path) for call in ROUTES}
    for call in ROUTES:
        operation = document["paths"][call.path][call.method.lower()]
        assert operation["summary"]
        assert set(map(str, call.answers)) <= set(operation["responses"])


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_whatever_is_sent_there_is_no_5xx_and_no_undocumented_answer(http, mode):
    schema = schemathesis.openapi.from_dict(tree())
    checks = CHECKS.get_by_names(NAMES)
    answers: Counter[int] = Counter()
    deleted: list[str] = []

    def prepare():
        """The models, of arrays and of records, and the decisions that the calls are about."""
        http.put("/v1/models/m", json={"policy": "ind", "dim": DIM, "max_budget": 5})
        http.post("/v1/models/m/decisions", json={**msgspec.to_builtins(asked()), "id": "x"})
        http.put("/v1/models/r", json={})
        http.post("/v1/models/r/decisions", json={"candidates": ["a", "b"], "id": "x"})

    def check(case):
        turn = sum(answers.values()) % 3
        if "name" in (case.path_parameters or {}) and turn:
            case.path_parameters["name"] = "mr"[turn - 1]
        key = {"Authorization": f"Bearer {ADMIN}"}
        response = case.call(base_url=str(http.base_url), headers=key)
        answers[response.status_code] += 1
        case.validate_response(response, checks=checks)
        if case.operation.label == "DELETE /v1/models/{name}" and response.status_code == 204:
            deleted.append(case.path_parameters["name"])
            prepare()  # the calls after it need the model

    prepare()
    for found in schema.get_all_operations():
        operation = found.ok()
        try:
            SOME(given(operation.as_strategy(generation_mode=mode))(check))()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # a call that takes nothing has no wrong form
    assert sum(answers.values()) > 150
    assert len(answers) >= 4
    assert "m" in deleted or mode is GenerationMode.NEGATIVE


PAGE = render().body.decode()


def test_every_call_parameter_message_and_field_is_in_it():
    document = tree()
    plain = unescape(re.sub(r"<[^>]+>", "", PAGE))
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            assert f"{method.upper()} {path}" in plain
            assert call["summary"].replace("`", "") in plain
            section = PAGE.partition(f'<h3 id="call-{call["operationId"]}">')[2].partition("<h3")[0]
            for parameter in call["parameters"]:
                assert f"<code>{parameter['name']}</code>" in section
            for status in call["responses"]:
                assert status in section
            assert call["description"] in unescape(section)
    for name, schema in document["components"]["schemas"].items():
        section = PAGE.partition(f'<h3 id="{name}">')[2].partition("<h3")[0]
        assert section, name
        for field in schema.get("properties", {}):
            assert f"<code>{field}</code>" in section, (name, field)


def test_it_is_well_formed_its_links_lead_somewhere_and_nothing_is_loaded():
    page = Markup(PAGE)
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = set(page.values("href", "src"))
    assert {link[1:] for link in links if link[0] == "#"} <= set(ids)
    assert {link for link in links if link[0] != "#"} == {"/", "/openapi.json", "data:,"}
    assert page.values("style", "onclick") == []


@pytest.mark.browser
def test_a_browser_shows_it_with_its_own_style_and_nothing_else_without_complaint(browser, http):
    answer = http.get("/docs")
    policy = answer.headers["content-security-policy"]
    style = re.search(r"<style>(.*)</style>", answer.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    for width in (390, 1300):
        browser.set_window_size(width, 900)
        browser.get(f"{http.base_url}/docs")
        style = "return getComputedStyle(document.querySelector('th')).fontWeight"
        assert browser.execute_script(style) == "600"
        room = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(room) <= 0
        assert errors(browser) == []


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
    names = set(re.findall(r"^# TYPE (\S+) ", http.get("/metrics").text, re.MULTILINE))
    assert len(names) >= 12
    documented = code((DOCS / "operations.md").read_text())
    assert names == {one for one in documented if re.fullmatch(r"(longrank|process)_\w+", one)}


def test_every_status_is_documented():
    paths = tree()["paths"].values()
    found = {status for path in paths for one in path.values() for status in one["responses"]}
    rows = [line.split("|")[1] for line in TEXT.splitlines() if re.match(r"\| [45]\d\d", line)]
    assert {status for status in found if status >= "400"} <= set(re.findall(r"\d+", str(rows)))
