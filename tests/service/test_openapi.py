"""The OpenAPI document: complete, and what the service does is what it says."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from serving import ADMIN, DIM, asked

from longrank.service.http.openapi import tree
from longrank.service.http.routes import ROUTES

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
    found = {
        (method.upper(), path) for path, calls in document["paths"].items() for method in calls
    }
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
