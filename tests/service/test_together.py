"""Appends of an event loop: which of them share a commit."""

from __future__ import annotations

import asyncio

import pytest
from drafts import decision, snapshot

from longrank.service.errors import Busy
from longrank.service.store.writer import MAX_GATHERED


@pytest.fixture
def model(store):
    return store.create_model("m", b"{}", 1.5, snapshot(0))


def appended(store, model, count):
    """Appends one in each turn of a loop; what became of each, and how many went as one."""
    sizes, submit = [], store.writer.submit

    def submitted(appends):
        sizes.append(len(appends))
        submit(appends)

    async def work():
        futures = []
        for i in range(count):
            futures.append(store.writer.append_soon(decision(model, f"d{i}")))
            await asyncio.sleep(0)
        return await asyncio.gather(*futures, return_exceptions=True)

    store.writer.submit = submitted
    return asyncio.run(work()), sizes


def test_what_comes_turn_after_turn_shares_a_commit(store, model):
    entries, sizes = appended(store, model, 5)
    assert [entry.id for entry in entries] == [f"d{i}" for i in range(5)]
    assert sizes == [5]


def test_nobody_waits_for_ever_though_more_and_more_come(store, model):
    entries, sizes = appended(store, model, 2 * MAX_GATHERED + 1)
    assert entries == store.after(model, 0)
    assert sizes == [MAX_GATHERED, MAX_GATHERED, 1]


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
