"""The contract of a store and of its writer, over SQLite and PostgreSQL."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec
import pytest
from serving import execute, until

from longrank.service.errors import Busy, Conflict, Duplicate, StoreDamaged, StoreFailed
from longrank.service.store import sql, writer
from longrank.service.store.records import DECISION, OUTCOME, VERSION, Draft, Snapshot, state_hash
from longrank.service.store.sql import MAX_SNAPSHOTS, EventRow, KeyRow
from longrank.service.store.store import open_store
from longrank.service.store.writer import Append


def decision(model, name, at=10.0, expires=20.0, body=b"body"):
    return Draft(model, DECISION, name, at, expires, body)


def outcome(model, name, at=11.0, body=b"outcome"):
    return Draft(model, OUTCOME, name, at, 0.0, body)


def snapshot(seq, policy=b"policy"):
    stats = msgspec.Raw(msgspec.msgpack.encode([seq]))
    return Snapshot(VERSION, seq, state_hash(policy), policy, stats)


def append(store, draft):
    return store.writer.append(draft).result(120)


DONE = EventRow(1.0, "somebody", "did something", "m", "k")


@pytest.fixture
def model(store):
    return store.create_model("m", b"{}", 1.5, snapshot(0))


def test_what_was_appended_is_found_again_to_the_last_bit_or_refused(store, model, where):
    body = bytes(range(256))
    at, expires = 1794776598.1403723, 0.1 + 0.2
    entry = append(store, Draft(model, DECISION, "x", at, expires, body, "not stored"))
    store.probe()  # changes nothing, but needs a store that writes
    store.close()
    with pytest.raises(StoreFailed):
        store.probe()
    again = open_store(where)
    found, settled = again.find(model, "x")
    again.verify()
    assert (found, settled) == (entry, None)
    assert (found.at, found.expires, found.body) == (at, expires, body)
    execute(again, "UPDATE log SET body = ? WHERE id = 'x'", b"other")
    for read in (again.verify, lambda: again.find(model, "x")):
        with pytest.raises(StoreDamaged):
            read()
    again.close()


def test_an_outcome_needs_its_decision_and_a_decision_its_model(store, model):
    with pytest.raises(Duplicate):
        append(store, outcome(model, "x"))
    with pytest.raises(Duplicate):
        append(store, decision(model + 1, "x"))
    append(store, decision(model, "x"))
    append(store, outcome(model, "x"))
    assert [entry.kind for entry in store.find(model, "x")] == [DECISION, OUTCOME]


def test_lists_go_both_ways_with_their_outcomes(store, model):
    for i in range(5):
        append(store, decision(model, f"d{i}"))
    append(store, outcome(model, "d3"))
    names = [f"d{i}" for i in range(5)]
    newest = store.latest(model, None, 3)
    assert [(e.id, o is not None) for e, o in newest] == [("d4", 0), ("d3", 1), ("d2", 0)]
    assert [e.id for e, _ in store.latest(model, newest[-1][0].seq, 9)] == ["d1", "d0"]
    seqs = {entry.id: entry.seq for entry, _ in store.oldest(model, 0, 9)}
    many = [*names, *(f"nobody{i}" for i in range(700))]  # more than a statement takes
    assert store.numbers(model, many) == seqs
    assert store.numbers(model + 1, names) == store.numbers(model, []) == {}
    oldest = store.oldest(model, 0, 4)
    assert [e.id for e, _ in oldest] == ["d0", "d1", "d2", "d3"]
    assert oldest[3][1].body == b"outcome"


def test_pending_and_overdue_are_told_apart_by_time(store, model):
    for i in range(4):
        append(store, decision(model, f"d{i}", expires=10.0 + i))
    append(store, outcome(model, "d2"))
    assert store.pending(model, 11.0) == 1
    assert store.pending(model, 0.0) == 3
    assert [entry.id for entry in store.overdue(model, 0.0, 12.5)] == ["d0", "d1"]
    assert [entry.id for entry in store.overdue(model, 10.0, 13.0)] == ["d1", "d3"]


def test_dropping_takes_what_is_old_expired_and_in_the_snapshot(store, model):
    entries = [append(store, decision(model, f"d{i}", at=i, expires=i + 5.0)) for i in range(5)]
    append(store, outcome(model, "d0"))
    settled = append(store, outcome(model, "d1"))
    assert store.drop(model, before=3.0, now=100.0, upto=entries[3].seq) == 1  # d2
    assert store.drop(model, before=3.0, now=100.0, upto=settled.seq) == 2
    assert [entry.id for entry in store.after(model, 0)] == ["d3", "d4"]
    assert store.drop(model, before=9.0, now=8.5, upto=settled.seq) == 1  # d4 is not expired
    assert store.models()[0].floor == settled.seq


def test_models_are_listed_changed_and_deleted_with_all_that_is_theirs(store, model):
    with pytest.raises(Conflict):
        store.create_model("m", b"", 0.0, snapshot(0))
    store.update_model(model, b"new")
    (row,) = store.models()
    assert (row.model, row.name, row.created, row.floor, row.spec) == (model, "m", 1.5, 0, b"new")
    seq = append(store, decision(model, "x")).seq
    keys = [KeyRow(bytes([i]) * 32, model, f"k{i}", float(i)) for i in range(2)]
    for key in keys:
        store.add_key(key, DONE)
    assert store.all_keys() == keys
    assert [store.delete_key(model, "k0", DONE) for _ in range(2)] == [True, False]
    assert store.all_keys() == keys[1:]
    store.save_snapshot(model, snapshot(1))
    other = store.create_model("other", b"", 0.0, snapshot(0))
    store.delete_model(model)
    assert ([row.model for row in store.models()], store.all_keys()) == ([other], [])
    assert store.find(model, "x") == (None, None)
    assert list(store.snapshots(model)) == []
    assert append(store, decision(other, "x")).seq > seq  # numbers are never used again
    assert store.create_model("m", b"", 0.0, snapshot(0)) > other


def test_the_newest_few_snapshots_are_kept_and_damaged_ones_are_told(store, model):
    for seq in range(1, MAX_SNAPSHOTS + 3):
        store.save_snapshot(model, snapshot(seq))
    found = list(store.snapshots(model))
    assert [one.seq for one in found] == [5, 4, 3, 0]
    assert found[0] == snapshot(5)
    execute(store, "UPDATE snapshots SET body = ? WHERE seq = 5", b"damaged")
    first, second, *_ = store.snapshots(model)
    assert isinstance(first, StoreDamaged)
    assert second == snapshot(4)


def test_an_older_store_is_migrated_once_or_left_as_it_was_and_a_newer_one_refused(
    store, model, where, monkeypatch
):
    """With revisions made up, as there are none yet."""
    store.close()
    migrated = []

    def add_owner(session):
        migrated.append(list(session.execute("SELECT version FROM format")))
        session.execute("ALTER TABLE models ADD COLUMN owner TEXT")

    def name_owner(session):
        session.execute("UPDATE models SET owner = ?", ("somebody",))

    def owner(store):
        return store._read(lambda session: list(session.execute("SELECT owner FROM models")))

    def fail(session):
        session.execute("UPDATE models SET name = 'half done'")
        raise StoreDamaged("it does not fit")

    monkeypatch.setattr(sql, "MIGRATIONS", [fail])
    with pytest.raises(StoreDamaged, match="does not fit"):
        open_store(where)
    monkeypatch.setattr(sql, "MIGRATIONS", [add_owner, name_owner])
    for _ in range(2):
        again = open_store(where)
        assert owner(again) == [("somebody",)]
        assert [(row.model, row.name) for row in again.models()] == [(model, "m")]
        again.close()
    assert migrated == [[(1,)]]
    monkeypatch.undo()
    with pytest.raises(StoreDamaged, match="version 3; this longrank reads versions up to 1"):
        open_store(where)


def test_what_is_no_store_is_refused(path):
    path.write_bytes(b"this is no database, but it is long enough to be one" * 100)
    with pytest.raises(StoreDamaged, match="damaged"):
        open_store(str(path))
    with pytest.raises(StoreFailed, match="failed"):
        open_store("postgresql:///nobody?host=/nowhere")


def test_the_second_of_its_kind_is_a_duplicate_and_the_rest_of_the_batch_is_not(store, model):
    append(store, decision(model, "x"))
    futures = [store.writer.append(decision(model, name)) for name in ("a", "x", "b", "a", "c")]
    kinds = [type(future.exception(30)) for future in futures]
    assert kinds == [type(None), Duplicate, type(None), Duplicate, type(None)]
    assert [entry.id for entry in store.after(model, 0)] == ["x", "a", "b", "c"]


def test_many_threads_append_and_the_log_has_all_in_order(store, model):
    def client(number):
        for i in range(25):
            append(store, decision(model, f"d{number}-{i}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(client, range(8)))
    entries, after = [], 0
    while found := store.after(model, after, 37):
        entries += found
        after = found[-1].seq
    assert len({entry.id for entry in entries}) == len(entries) == 200
    for number in range(8):
        mine = [entry.id for entry in entries if entry.id.startswith(f"d{number}-")]
        assert mine == [f"d{number}-{i}" for i in range(25)]
    assert store.writer.batches < 200


@contextmanager
def held_up(store):
    """The writer is busy with something else meanwhile."""
    going, done = threading.Event(), threading.Event()

    def work(_):
        going.set()
        assert done.wait(120)

    thread = threading.Thread(target=store.writer.call, args=(work,))
    thread.start()
    try:
        assert going.wait(120)
        yield
    finally:
        done.set()
        thread.join()


def test_no_more_wait_than_may_and_those_who_do_are_served(store, model, monkeypatch):
    """And entries of many bytes do not all go into one transaction."""
    monkeypatch.setattr(writer, "MAX_BYTES", 1)
    before, store.writer.max_queued = store.writer.batches, 3
    with held_up(store):
        futures = [store.writer.append(decision(model, f"d{i}")) for i in range(3)]
        assert store.writer.queued == 3
        with pytest.raises(Busy):
            store.writer.append(decision(model, "d3"))
    assert [future.result(120).id for future in futures] == ["d0", "d1", "d2"]
    assert [entry.id for entry in store.after(model, 0)] == ["d0", "d1", "d2"]
    assert store.writer.batches - before == 4  # with the one that held it up


def test_who_cannot_be_told_keeps_nobody_else_from_it(store, model, caplog):
    loop = asyncio.new_event_loop()
    closed = Append(decision(model, "a"), loop.create_future())
    loop.close()

    async def work():
        gone, stays = (store.writer.append_soon(decision(model, name)) for name in "cd")
        gone.cancel()
        return await stays

    with held_up(store):
        store.writer.submit([closed])
        future = store.writer.append(decision(model, "b"))
    assert (future.result(120).id, asyncio.run(work()).id) == ("b", "d")
    assert [entry.id for entry in store.after(model, 0)] == ["a", "b", "c", "d"]
    until(lambda: "could not deliver results: event loop closed" in caplog.text)


def test_a_call_that_goes_wrong_leaves_nothing_and_the_next_works_until_it_is_closed(store, model):
    def wrong(session):
        session.execute("UPDATE models SET name = 'half done'")
        raise ZeroDivisionError("a foreign error")

    with pytest.raises(StoreFailed) as caught:
        store.writer.call(wrong)
    assert "foreign" not in str(caught.value)
    append(store, decision(model, "x"))
    assert [row.name for row in store.models()] == ["m"]
    store.close()
    with pytest.raises(StoreFailed, match="closed"):
        store.writer.append(decision(model, "y"))


def test_what_comes_in_a_turn_of_an_event_loop_shares_a_commit_or_a_refusal(store, model):
    sizes, gathering = [], store.writer._gathering
    submit = gathering._submit

    def submitted(appends):
        sizes.append(len(appends))
        submit(appends)

    async def work():
        futures = [store.writer.append_soon(decision(model, f"d{i}")) for i in range(5)]
        return await asyncio.gather(*futures, return_exceptions=True)

    gathering._submit = submitted
    entries = asyncio.run(work())
    assert sizes == [5]
    assert entries == store.after(model, 0)
    store.writer.max_queued = 0
    assert [type(result) for result in asyncio.run(work())] == [Busy] * 5
