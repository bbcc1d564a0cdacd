"""`longrank serve` and `longrank doctor`, as processes."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys

import pytest
from process import MAIN, once
from serving import ADMIN, execute, free_port, make, play, until
from typer.testing import CliRunner

from longrank import cli, service
from longrank.errors import InvalidInput
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreDamaged
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
    assert all(getattr(service, name).__doc__ for name in service.__all__)
    with pytest.raises(AttributeError):
        _ = service.nobody
