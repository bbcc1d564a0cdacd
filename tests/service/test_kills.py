"""The real server, killed at random moments under load."""

from __future__ import annotations

import pytest
from killing import check, kill_often
from process import Server
from serving import free_port

from longrank.service.engine.engine import Engine
from longrank.service.store.sqlite import SqliteStore


@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.long)])
def test_a_server_that_is_killed_again_and_again_loses_nothing(kills, tmp_path):
    path = tmp_path / "decisions.db"
    server = Server(str(path), free_port(), "--snapshot-every", "50", "--log-level", "warning")
    try:
        load = kill_often(server, kills, seed=7)
    finally:
        server.kill()
    with Engine(SqliteStore(path)) as engine:
        check(engine, load)
    assert load.acknowledged > 50 * kills
