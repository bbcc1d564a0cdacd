"""The writer of a store: group commit, a bounded queue, gathering, and who is told what."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest
from drafts import append, decision, snapshot
from serving import until

from longrank.service.errors import Busy, Duplicate, StoreFailed
from longrank.service.store import writer
from longrank.service.store.writer import Append


@pytest.fixture
def model(store):
    return store.create_model("m", b"{}", 1.5, snapshot(0))


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

    threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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


def test_no_more_wait_than_may_and_those_who_do_are_served(store, model):
    store.writer.max_queued = 3
    with held_up(store):
        futures = [store.writer.append(decision(model, f"d{i}")) for i in range(3)]
        assert store.writer.queued == 3
        with pytest.raises(Busy):
            store.writer.append(decision(model, "d3"))
    assert [future.result(120).id for future in futures] == ["d0", "d1", "d2"]
    assert [entry.id for entry in store.after(model, 0)] == ["d0", "d1", "d2"]


def test_entries_of_many_bytes_do_not_all_go_into_one_transaction(store, model, monkeypatch):
    monkeypatch.setattr(writer, "MAX_BYTES", 1)
    before = store.writer.batches
    with held_up(store):
        futures = [store.writer.append(decision(model, name)) for name in "abc"]
    assert [future.result(120).id for future in futures] == ["a", "b", "c"]
    assert store.writer.batches - before == 4  # with the one that held it up


def test_who_cannot_be_told_keeps_nobody_else_from_it(store, model, caplog):
    loop = asyncio.new_event_loop()
    gone = Append(decision(model, "a"), loop.create_future())
    loop.close()
    with held_up(store):
        store.writer.submit([gone])
        future = store.writer.append(decision(model, "b"))
    assert future.result(120).id == "b"
    assert [entry.id for entry in store.after(model, 0)] == ["a", "b"]
    until(lambda: "could not deliver results: event loop closed" in caplog.text)


def test_a_call_that_goes_wrong_leaves_nothing_behind_and_the_next_works(store, model):
    def wrong(session):
        session.execute("UPDATE models SET name = 'half done'")
        raise ZeroDivisionError("a foreign error")

    with pytest.raises(StoreFailed) as caught:
        store.writer.call(wrong)
    assert "foreign" not in str(caught.value)
    append(store, decision(model, "x"))
    assert [row.name for row in store.models()] == ["m"]


def test_a_closed_store_refuses(store, model):
    store.close()
    with pytest.raises(StoreFailed, match="closed"):
        store.writer.append(decision(model, "x"))


# what an event loop appends


def appended(store, model, count):
    """Appends in one turn of a loop; what became of each, and how many went as one."""
    sizes, gathering = [], store.writer._gathering
    submit = gathering._submit

    def submitted(appends):
        sizes.append(len(appends))
        submit(appends)

    async def work():
        futures = [store.writer.append_soon(decision(model, f"d{i}")) for i in range(count)]
        return await asyncio.gather(*futures, return_exceptions=True)

    gathering._submit = submitted
    return asyncio.run(work()), sizes


def test_what_comes_in_a_turn_of_an_event_loop_shares_a_commit(store, model):
    entries, sizes = appended(store, model, 5)
    assert sizes == [5]
    assert entries == store.after(model, 0)


def test_all_that_are_turned_away_are_told_so(store, model):
    store.writer.max_queued = 0
    results, _ = appended(store, model, 3)
    assert [type(result) for result in results] == [Busy] * 3


def test_who_has_gone_keeps_nobody_else_from_being_told(store, model):
    async def work():
        gone, stays = (store.writer.append_soon(decision(model, name)) for name in "ab")
        gone.cancel()
        return await stays

    assert asyncio.run(work()).id == "b"
    assert [entry.id for entry in store.after(model, 0)] == ["a", "b"]
