"""`longrank serve` and `longrank doctor`, as processes, and what they log."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys

import pytest
from process import MAIN, Server, Wire, once
from serving import ADMIN, DIM, MODEL, execute, free_port, make, play, service, until
from typer.testing import CliRunner

from longrank import cli
from longrank import service as package
from longrank.errors import InvalidInput
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import StoreDamaged
from longrank.service.http.logs import Access, JsonLines
from longrank.service.store.sqlite import SqliteStore


@pytest.fixture
def command(logging_restored):  # noqa: ARG001
    """Runs a command in this process, and puts back what it sets for a process of its own."""
    collecting = gc.get_threshold()
    yield lambda *args: CliRunner().invoke(cli.app, args, env={"LONGRANK_ADMIN_KEY": ADMIN})
    gc.set_threshold(*collecting)
    gc.unfreeze()


@pytest.fixture
def filled(path):
    """A store with a decision and its outcome; what it returns damages it."""
    with Engine(SqliteStore(path)) as engine:
        make(engine, "m")
        play(engine, count=1)

    def damage():
        store = SqliteStore(path)
        execute(store, "UPDATE log SET at = 1.0")
        store.close()

    return damage


def test_the_administrators_key_is_printed_once(tmp_path):
    path, port = str(tmp_path / "d.db"), free_port()
    keys = []
    for _ in range(2):
        plain = {name: value for name, value in os.environ.items() if name != "LONGRANK_ADMIN_KEY"}
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "serve", "--port", str(port), "--store", path],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=plain,
        )  # fmt: skip
        try:

            def up(port=port) -> bool:
                try:
                    return once(port, "GET", "/readyz")[0] == 200
                except OSError:
                    return False

            until(up)
        finally:
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=120)
        keys += [line.split()[-1] for line in output.splitlines() if "shown only now" in line]
    assert len(keys) == 1
    assert keys[0].startswith("lr_")
    assert keys[0].encode() not in (tmp_path / "d.db").read_bytes()


def test_what_cannot_be_served_is_refused_in_one_sentence(path, command, filled):
    store = str(path)
    refused = command("serve", "--no-auth", "--host", "0.0.0.0", "--store", store)
    assert isinstance(refused.exception, InvalidInput)
    assert "loopback" in str(refused.exception)
    refused = command("serve", "--log-level", "loud", "--store", store)
    assert refused.exit_code == 2
    assert "'loud' is not one of" in refused.output
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = command("serve", "--port", port, "--store", store)
    assert "cannot listen" in str(refused.exception)
    filled()
    refused = command("serve", "--port", str(free_port()), "--store", store)
    assert isinstance(refused.exception, StoreDamaged)
    assert "log entry 1 is damaged" in str(refused.exception)


def test_the_doctor_measures_the_disk_and_reads_the_store(path, folder, command, filled):
    def doctor(store):
        done = command("doctor", "--store", str(store))
        return done.exit_code, done.stdout

    code, output = doctor(folder / "new.db")
    assert (code, "does not exist yet" in output) == (0, True)
    with Engine(SqliteStore(path)):
        code, output = doctor(path)
        assert (code, "is in use" in output) == (0, True)
    code, output = doctor(path)
    assert (code, "fsync" in output, "1 decisions, 1 learned" in output) == (0, True, True)
    filled()
    code, output = doctor(path)
    assert (code, "damaged" in output) == (1, True)
    code, output = doctor("/proc/decisions.db")
    assert (code, "cannot write" in output) == (1, True)


def test_the_commands_and_names_of_the_service_are_there(command):
    for name in ("serve", "doctor"):
        assert "--store" in command(name, "--help").stdout
    assert all(getattr(package, name).__doc__ for name in package.__all__)
    with pytest.raises(AttributeError):
        _ = package.nobody


def test_no_log_line_holds_a_key_or_a_feature_and_all_are_json(tmp_path):
    log = tmp_path / "log"
    server = Server(str(tmp_path / "d.db"), free_port(), "--log-level", "debug", log=log)
    secret = 0.123456789
    try:
        server.start().ready()
        wire = Wire(server.port)
        _, made = wire.call("PUT", "/v1/models/m", MODEL)
        for row in ([secret] * DIM, [secret * 9] * DIM, [secret], [[secret]], [str(secret)]):
            wire.call("POST", "/v1/models/m/decisions", {"ids": ["a"], "features": [row]})
        wire.call("GET", f"/v1/models/m?key={made['key']}")
        for key in (made["key"], ADMIN):
            wire.call("GET", f"/v1/{key}%20")
            wire.call("GET", f"/v1/models/{key}")
            wire.call("PUT", f"/v1/models/m/decisions/{key}/outcome", {"tried": 0})
        wire.call("PUT", "/v1/models/n", {**MODEL, "settings": {"rate": "0.1234"}})
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
        client.put("/v1/models/m", json=MODEL)
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
