"""`longrank serve`, `doctor` and `backup`, what they log, and what no line of theirs shows."""

import gc
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from process import MAIN, Server, Wire
from serving import ADMIN, DIM, MODEL, asked, execute, free_port, make, play, service, told, until
from typer.testing import CliRunner

from longrank import cli
from longrank import service as package
from longrank.errors import InvalidInput
from longrank.service import backup as backups
from longrank.service.backup import backup
from longrank.service.doctor import examine
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import StoreDamaged, StoreFailed
from longrank.service.http.logs import Access, JsonLines
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.store import hide_password, open_store, plain_address


@pytest.fixture
def command(root_logger):  # noqa: ARG001
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
    server, keys = Server(str(tmp_path / "d.db"), free_port()), []
    for _ in range(2):
        plain = {name: value for name, value in os.environ.items() if name != "LONGRANK_ADMIN_KEY"}
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "serve", f"--port={server.port}", "--store", server.store],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=plain,
        )  # fmt: skip
        server.process = process
        try:
            server.ready()
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
    assert (code, "fsync" in output, "1 decision, 1 learned" in output) == (0, True, True)
    filled()
    code, output = doctor(path)
    assert (code, "damaged" in output) == (1, True)
    code, output = doctor("/proc/decisions.db")
    assert (code, "cannot write" in output) == (1, True)


def test_the_names_of_the_service_are_there():
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


@pytest.fixture
def learned(engine):
    """An engine that has decided and learned something, some of it in the write-ahead log only."""
    play(engine)
    return engine


def test_a_backup_of_a_store_in_use_holds_all_and_starts(learned, path, folder, clock):
    target = folder / "backup.db"
    findings = list(backup(str(path), target))
    assert all(finding.good for finding in findings)
    assert [finding.what for finding in findings] == ["store", "model m", "backup"]
    expected = learned.model("m").snapshot()
    learned.decide("m", asked("later"))  # the service goes on
    with Engine(SqliteStore(target), clock=clock) as restored:
        assert restored.model("m").snapshot() == expected
        assert restored.decide("m", asked("d3", seed=3)).id == "d3"
    assert not [file.name for file in folder.iterdir() if ".part" in file.name]


def test_a_backup_is_consistent_while_others_write(learned, path, folder, clock, monkeypatch):
    writing, stop = [], threading.Event()

    def write():
        while not stop.is_set():
            writing.append(1)
            learned.decide("m", asked(f"w{len(writing)}"))
            learned.settle("m", f"w{len(writing)}", told())

    copy = backups._copy

    def meanwhile(*args):
        thread = threading.Thread(target=write)
        thread.start()
        try:
            until(lambda: len(writing) >= 3)
            copy(*args)
        finally:
            stop.set()
            thread.join()

    monkeypatch.setattr(backups, "_copy", meanwhile)
    target = folder / "backup.db"
    assert all(finding.good for finding in backup(str(path), target))
    with Engine(SqliteStore(target), clock=clock) as restored:
        assert restored.model("m").stats.outcomes >= 22


def test_of_a_damaged_store_no_backup_is_made(learned, path, folder):
    execute(learned.store, "UPDATE log SET at = 1.0 WHERE seq = 3")
    learned.close()
    target = folder / "backup.db"
    *_, last = backup(str(path), target)
    assert (last.what, last.good) == ("backup", False)
    assert not target.exists()
    done = CliRunner().invoke(cli.app, ["backup", str(target), "--store", str(path)])
    assert done.exit_code == 1
    assert "log entry 3 is damaged" in done.output


def test_a_backup_is_never_written_over(learned, path, folder):
    target = folder / "backup.db"
    target.write_bytes(b"precious")
    with pytest.raises(InvalidInput, match="out must be a file that does not exist yet"):
        list(backup(str(path), target))
    assert target.read_bytes() == b"precious"
    learned.decide("m", asked("still-alive"))
    with pytest.raises(InvalidInput, match="pg_dump") as error:  # a database has its own tools
        list(backup("postgresql://me:secret@host/db", folder / "other.db"))
    assert "secret" not in str(error.value)


ADDRESSES = [
    "postgresql://me:s3cret@127.0.0.1:1/db",
    "postgresql://me:s3cret/s3cret@127.0.0.1:1/db",  # not encoded: half of it looks like a port
    "postgresql://me:s3cret@s3cret@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=me&password=s3cret",
    "postgresql://127.0.0.1:s3cret/db?password=s3cret",
    "postgresql://me:%733cret@127.0.0.1:1/db?nonsense=1",
    "postgresl://me:s3cret@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 password=s3cret",
    "host=127.0.0.1 port=1 password = 's3cret'",
]


@pytest.mark.usefixtures("root_logger")
def test_no_error_and_no_line_shows_the_password_of_a_store():
    for address in ADDRESSES:
        with pytest.raises(StoreFailed) as refused:
            open_store(address)
        assert "s3cret" not in str(refused.value), address
        assert refused.value.__cause__ is None or "s3cret" not in str(refused.value.__cause__)
        assert "s3cret" not in "".join(finding.detail for finding in examine(address))
        assert "s3cret" not in hide_password(address, address)
        answer = CliRunner().invoke(cli.app, ["serve", "--port", "0", "--store", address])
        assert "s3cret" not in answer.output + str(answer.exception), address


def test_an_address_is_shown_without_user_password_and_options():
    shown = "postgresql://host:5432/db"
    assert plain_address("postgresql://me:a@b@host:5432/db?password=c&sslmode=require") == shown
    assert plain_address("postgresql://host:5432/db") == shown
    assert plain_address("some/where.db") == "some/where.db"


def test_warnings_and_odd_text_are_lines_of_json(lines, root_logger):
    del root_logger.handlers[1:]  # pytest's come after ours, and cannot report odd text
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # catch_warnings has put another function in its place
        _ = np.array([1e308]) * 10.0
    logging.getLogger("longrank").warning("a name that is not UTF-8: \udcff")
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "overflow encountered" in logged[0]["message"]
    assert logged[-1]["message"].endswith("\\udcff")
