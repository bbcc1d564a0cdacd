"""`longrank serve` and `longrank doctor`, as processes."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys

import msgspec
import pytest
from process import MAIN, once
from serving import ADMIN, DIM, asked, free_port, told, until
from typer.testing import CliRunner

from longrank import cli
from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreDamaged
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())


@pytest.fixture
def command(root_logger):  # noqa: ARG001
    """Runs a command in this process, and puts back what it sets for a process of its own."""
    collecting = gc.get_threshold()
    yield lambda *args: CliRunner().invoke(cli.app, args, env={"LONGRANK_ADMIN_KEY": ADMIN})
    gc.set_threshold(*collecting)
    gc.unfreeze()


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


def test_no_auth_binds_to_loopback_only(tmp_path, command):
    store = str(tmp_path / "d.db")
    refused = command("serve", "--no-auth", "--host", "0.0.0.0", "--store", store)
    assert isinstance(refused.exception, InvalidInput)
    assert "loopback" in str(refused.exception)
    refused = command("serve", "--log-level", "loud", "--store", store)
    assert refused.exit_code == 2
    assert "'loud' is not one of" in refused.output


def test_a_damaged_store_is_refused_in_one_sentence(tmp_path, command):
    path = tmp_path / "d.db"
    with Engine(SqliteStore(path)) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind"))
        engine.decide("m", asked("x"))
        change = "UPDATE log SET at = 1.0"
        engine.store.writer.call(lambda session: session.execute(change))
    refused = command("serve", "--port", str(free_port()), "--store", str(path))
    assert isinstance(refused.exception, StoreDamaged)
    assert "log entry 1 is damaged" in str(refused.exception)


def test_a_port_that_is_taken_is_told(tmp_path, command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = command("serve", "--port", port, "--store", str(tmp_path / "b.db"))
    assert "cannot listen" in str(refused.exception)


def test_the_doctor_measures_the_disk_and_reads_the_store(tmp_path, command):
    path = tmp_path / "d.db"
    first = command("doctor", "--store", str(path))
    assert (first.exit_code, "does not exist yet" in first.stdout) == (0, True)
    with Engine(SqliteStore(path)) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind"))
        engine.decide("m", asked("x"))
        engine.settle("m", "x", told())
        busy = command("doctor", "--store", str(path))
        assert (busy.exit_code, "is in use" in busy.stdout) == (0, True)
    well = command("doctor", "--store", str(path))
    assert well.exit_code == 0, well.stdout
    assert "fsync" in well.stdout
    assert "1 decisions, 1 learned" in well.stdout
    change = "UPDATE log SET at = 1.0"
    store = SqliteStore(path)
    store.writer.call(lambda session: session.execute(change))
    store.close()
    ill = command("doctor", "--store", str(path))
    assert (ill.exit_code, "damaged" in ill.stdout) == (1, True)


def test_the_doctor_tells_where_it_cannot_write(command):
    ill = command("doctor", "--store", "/proc/decisions.db")
    assert (ill.exit_code, "cannot write" in ill.stdout) == (1, True)
