"""Log lines: JSON, with request ids, and without keys or features."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from process import Server, Wire
from serving import ADMIN, DIM, free_port, service

from longrank.service.engine.model import Model
from longrank.service.http.logs import Access, JsonLines


def test_no_log_line_holds_a_key_or_a_feature_and_all_are_json(tmp_path):
    log = tmp_path / "log"
    server = Server(str(tmp_path / "d.db"), free_port(), "--log-level", "debug", log=log)
    secret = 0.123456789
    try:
        server.start().ready()
        wire = Wire(server.port)
        _, made = wire.call("PUT", "/v1/models/m", {"policy": "ind", "dim": DIM})
        for row in ([secret] * DIM, [secret * 9] * DIM, [secret], [[secret]], [str(secret)]):
            wire.call("POST", "/v1/models/m/decisions", {"ids": ["a"], "features": [row]})
        wire.call("GET", f"/v1/models/m?key={made['key']}")
        for key in (made["key"], ADMIN):
            wire.call("GET", f"/v1/{key}%20")
            wire.call("GET", f"/v1/models/{key}")
            wire.call("PUT", f"/v1/models/m/decisions/{key}/outcome", {"tried": 0})
        wire.call(
            "PUT", "/v1/models/n", {"policy": "ind", "dim": 1, "settings": {"rate": "0.1234"}}
        )
        wire.close()
        server.stop()
    finally:
        server.kill()
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    others = [line for line in text.splitlines() if not line.startswith("{")]
    assert all(line.startswith("longrank") for line in others)  # where it listens, that it compiles
    requests = [line for line in lines if line["message"] == "request"]
    assert len(requests) >= 14
    assert all(line["request_id"] for line in requests)
    for hidden in (ADMIN, made["key"], "0.1234", "1.1111"):
        assert hidden not in text


def test_a_log_line_says_where_an_error_was_and_not_with_what():
    stream = io.StringIO()
    try:
        raise ValueError("a secret that a foreign library quotes")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    line = json.loads(JsonLines().format(record))
    assert (line["error"], line["message"]) == ("ValueError", "failed")
    assert "secret" not in json.dumps(line)
    Access(stream)("GET", "/healthz", 200, 0.0012, "r1")
    assert json.loads(stream.getvalue())["ms"] == 1.2


@pytest.mark.parametrize("part", ["rank", "settle"])
def test_an_error_of_the_service_is_logged_without_what_was_sent(path, lines, monkeypatch, part):
    """In the event loop while ranking, and in the writer's thread while learning."""
    secret = 0.123456789

    def broken(self, *args):  # noqa: ARG001
        try:
            raise KeyError(f"a foreign error that quotes {secret}")
        except KeyError as error:
            raise ValueError(f"and another that quotes {secret} and {ADMIN}") from error

    monkeypatch.setattr(Model, part, broken)
    with service(path, access=Access(lines)) as client:
        client.put("/v1/models/m", json={"policy": "ind", "dim": DIM})
        body = {"id": "x", "ids": ["a"], "features": [[secret] * DIM]}
        decided = client.post("/v1/models/m/decisions", json=body)
        told = {"tried": 1, "succeeded": True}
        settled = client.put("/v1/models/m/decisions/x/outcome", json=told)
    failed = decided if part == "rank" else settled
    assert failed.status_code == (500 if part == "rank" else 503)
    assert failed.headers["content-type"] == "application/problem+json"
    text = lines.getvalue()
    logged = [json.loads(line) for line in text.splitlines()]
    errors = [line for line in logged if line.get("error") == "ValueError"]
    assert errors
    assert all(line["where"][-1].startswith("broken:") for line in errors)
    for hidden in (str(secret), ADMIN, "quotes"):
        assert hidden not in text
        assert hidden not in failed.text
