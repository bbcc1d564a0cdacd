"""Keys: what is revoked anywhere is refused everywhere within a second, and stays so."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from serving import ADMIN, DIM, make, until

from longrank.errors import InvalidInput
from longrank.service.app import build
from longrank.service.engine import keys as engine_keys
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys, digest
from longrank.service.errors import NotReady
from longrank.service.store.postgres import PostgresStore
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep


def refused(keys, key):
    try:
        return keys.known(digest(key)) is None
    except NotReady:  # a busy machine
        return False


@pytest.mark.postgres
def test_a_key_revoked_at_one_process_is_refused_by_the_others_within_a_second(database, clock):
    with Engine(PostgresStore(database), clock=clock) as here:
        model = make(here, "m")
        with Engine(PostgresStore(database), clock=clock) as there:
            mine, others = (Keys(engine.store, None, clock) for engine in (here, there))
            row, key = mine.make(model.number)
            others.load()
            assert others.known(digest(key)) == model.number
            upkeep = Upkeep(there, others)
            upkeep.start()
            try:
                mine.remove(model.number, row.id)
                until(lambda: refused(others, key))
            finally:
                upkeep.stop()


@pytest.mark.postgres
def test_a_process_that_was_stopped_trusts_no_key_that_it_read_before(database, clock, monkeypatch):
    with Engine(PostgresStore(database), clock=clock) as engine:
        model = make(engine, "m")
        keys = Keys(engine.store, ADMIN, clock)
        _, key = keys.make(model.number)
        keys.load()
        assert keys.known(digest(key)) == model.number
        monkeypatch.setattr(engine_keys, "MAX_AGE", 0.0)
        with pytest.raises(NotReady, match="keys cannot be read"):
            keys.known(digest(key))
        assert keys.known(digest(ADMIN)) == engine_keys.ADMIN  # nobody can revoke it


def test_two_revocations_at_once_bring_neither_key_back(engine, clock, monkeypatch):
    keys = Keys(engine.store, ADMIN, clock)
    number = engine.model("m").number
    (first, _), (second, key) = (keys.make(number) for _ in range(2))
    read, lock, calls = engine.store.all_keys, keys._lock, []
    revoked, over_or_waiting = threading.Event(), threading.Event()

    def slowly():
        calls.append(1)
        rows = read()
        if len(calls) == 1:  # the other revocation is faster, unless it has to wait
            revoked.set()
            assert over_or_waiting.wait(120)
        return rows

    def revoke():
        revoked.wait(120)
        keys.remove(number, second.id)
        over_or_waiting.set()

    @contextmanager
    def locked():
        if not lock.acquire(blocking=False):
            over_or_waiting.set()
            lock.acquire()
        yield
        lock.release()

    monkeypatch.setattr(Keys, "_lock", property(lambda _: locked(), lambda *_: None), raising=False)
    monkeypatch.setattr(engine.store, "all_keys", slowly)
    other = threading.Thread(target=revoke)
    other.start()
    keys.remove(number, first.id)
    other.join()
    assert keys.known(digest(key)) is None
    assert keys.of(number) == []


def test_an_administrators_key_that_was_not_stored_is_made_again(engine, clock, monkeypatch):
    keys = Keys(engine.store, None, clock)
    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "add_key", None)
        with pytest.raises(TypeError):
            keys.make_admin()
    assert keys.known(digest(keys.make_admin())) == engine_keys.ADMIN


def test_a_key_opens_nothing_after_it_has_expired(engine, clock, reopen):
    number = engine.model("m").number
    keys = Keys(engine.store, ADMIN, clock)
    row, key = keys.make(number, ttl=60)
    assert row.expires == clock.now + 60
    assert keys.known(digest(key)) == number
    clock.now += 60
    assert keys.known(digest(key)) is None
    engine.close()
    again = Keys(reopen().store, ADMIN, clock)
    again.load()
    assert again.known(digest(key)) is None


def test_a_key_is_replaced_without_a_gap_and_who_did_it_is_known(http, clock):
    old = http.put("/v1/models/m", json={"policy": "ind", "dim": DIM}).json()["key"]
    (before,) = http.get("/v1/models/m/keys").json()["keys"]
    params = {"replaces": before["id"], "grace": 60, "ttl": 3600}
    new = http.post("/v1/models/m/keys", params=params).json()
    assert new["expires"] == clock.now + 3600

    def opens(key):
        return http.get("/v1/models/m", headers={"Authorization": f"Bearer {key}"}).status_code

    assert (opens(old), opens(new["key"])) == (200, 200)
    clock.now += 60
    assert (opens(old), opens(new["key"])) == (401, 200)
    assert http.delete(f"/v1/models/m/keys/{new['id']}").status_code == 204
    assert opens(new["key"]) == 401
    done = [
        (each["who"], each["what"], each["model"], each["detail"])
        for each in http.get("/v1/events").json()["events"]
    ]
    assert done[0] == ("administrator", "revoked key", "m", new["id"])
    assert set(done[1:]) == {
        ("administrator", "replaced key", "m", before["id"]),
        ("administrator", "created key", "m", before["id"]),
        ("administrator", "created key", "m", new["id"]),
    }
    assert http.post("/v1/models/m/keys", params={"replaces": "nobody"}).status_code == 404


def test_a_short_administrators_key_is_refused(path):
    with Engine(SqliteStore(path)) as engine:
        with pytest.raises(InvalidInput, match="LONGRANK_ADMIN_KEY must have at least 16") as error:
            build(engine, admin="short-secret")
        assert "short-secret" not in str(error.value)
