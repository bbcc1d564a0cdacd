"""The Python clients, against a real service."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from serving import ADMIN, DIM, asked, served, told, until

from longrank.service import AsyncClient, Client, messages
from longrank.service.client import CallFailed

ROUND = {"rewards": [1.0, 0.5], "losses": [0.0, -0.1, -0.2]}
IDS = [f"c{i}" for i in range(5)]


@pytest.fixture
def items():
    return np.random.default_rng(0).uniform(-0.5, 0.5, (5, DIM))


class Awaited:
    """An ``AsyncClient`` whose methods are called like those of a ``Client``."""

    def __init__(self, *args, **settings):
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(*args, **settings)

    def __getattr__(self, name):
        return lambda *args, **more: self._loop.run_until_complete(
            getattr(self._client, name)(*args, **more)
        )

    def __enter__(self):
        self._loop.run_until_complete(self._client.__aenter__())
        return self

    def __exit__(self, *error):
        self._loop.run_until_complete(self._client.__aexit__(*error))
        self._loop.close()


@pytest.fixture(params=[Client, Awaited])
def kind(request):
    return request.param


@pytest.fixture
def client(http, kind):
    with kind(str(http.base_url), ADMIN, retries=2) as client:
        client.create_model("m", dim=DIM, policy="ind", max_budget=5)
        yield client


def test_every_call_goes_through(http, client, items):
    made = client.create_model("other", dim=2, policy="ind")
    assert isinstance(made, messages.ModelCreated)
    assert made.key
    assert [model.name for model in client.models().models] == ["m", "other"]
    decision = client.decide("m", IDS, items, id="x", **ROUND)
    assert decision == client.decide("m", IDS, items.tolist(), id="x", **ROUND)
    assert client.settle("m", "x", tried=1, succeeded=True).learned
    told_again = {"id": "x", "tried": 1, "succeeded": True}
    batch = client.settle_many("m", [told_again, {"id": "y", "tried": 0, "succeeded": False}])
    assert [one.status for one in batch.results] == [200, 404]
    assert client.read("m", "x").outcome == messages.Observed(1, True)
    assert [one.id for one in client.latest("m", limit=5).decisions] == ["x"]
    assert client.model("m").stats.learned == 1
    assert client.export("m", "parquet")[:4] == b"PAR1"
    assert client.drop("m", older_than=60).dropped == 0
    key = client.create_key("m")
    assert isinstance(key, messages.KeyCreated)
    assert key.id in [other.id for other in client.list_keys("m").keys]
    assert client.delete_key("m", key.id) is None
    assert (client.health().status, client.ready().status) == ("alive", "ready")
    assert b"longrank_ready 1.0" in client.metrics()
    client.delete_model("other")
    assert [model.name for model in client.models().models] == ["m"]
    assert http.engine.model("m").version == 1


def test_features_arrive_exactly_in_both_precisions(http, client, items):
    for kind in (np.float64, np.float32):
        given = items.astype(kind)
        decision = client.decide("m", IDS, given, **ROUND)
        entry, _ = http.engine.store.find(http.engine.model("m").number, decision.id)
        record = entry.decision()
        rows = record.rows.array()
        assert np.array_equal(rows, given[record.played.order].astype(float))


def test_a_refusal_is_told_with_its_status_and_not_tried_again(client, items):
    with pytest.raises(CallFailed, match="there is no model 'nobody'") as caught:
        client.decide("nobody", IDS, items)
    assert caught.value.status == 404
    with pytest.raises(CallFailed) as caught:
        client.settle("m", "x/../y", tried=1, succeeded=True)
    assert caught.value.status in (404, 422)


def test_a_busy_service_is_asked_again_with_the_same_id(http, client, items):
    writer = http.engine.store.writer
    writer.max_queued = 0
    shed = http.engine.store.writer.batches
    found = []
    thread = threading.Thread(
        target=lambda: found.append(client.decide("m", IDS, items, id="x", **ROUND))
    )
    thread.start()
    until(lambda: 'call="decide",status="503"' in http.get("/metrics").text)
    writer.max_queued = 100
    thread.join()
    assert found[0].id == "x"
    assert http.engine.store.writer.batches > shed


def test_a_service_that_cannot_be_reached_is_told(kind):
    with kind("http://127.0.0.1:9", retries=1) as client:
        with pytest.raises(CallFailed, match="cannot reach") as caught:
            client.models()
        assert caught.value.status == 0


def test_an_answer_that_was_lost_on_the_way_is_not_decided_twice(
    http, client, items, kind, monkeypatch
):
    """A proxy passes the request on and drops the first answer."""
    dropped = []

    async def proxy(scope, receive, send):
        if scope["type"] != "http":
            return
        body = (await receive())["body"]
        answer = await asyncio.to_thread(
            http.post, scope["path"], content=body, headers={"Content-Type": "application/msgpack"}
        )
        if not dropped:
            dropped.append(answer)
            raise ConnectionAbortedError
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": head})
        await send({"type": "http.response.body", "body": answer.content})

    monkeypatch.setattr("longrank.service.client._RETRIED", (500,))
    with served(proxy) as url, kind(url, ADMIN) as through:
        decision = through.decide("m", IDS, items, **ROUND)
    assert decision.id == dropped[0].json()["id"]
    assert client.model("m").stats.decisions == 1


def test_one_commit_serves_all_that_wait(http):
    http.put("/v1/models/m", json={"policy": "ind", "dim": DIM, "max_budget": 5})
    engine = http.engine
    before = engine.store.writer.batches

    async def run():
        await asyncio.gather(*(engine.aio.decide("m", asked(f"d{i}")) for i in range(100)))
        await asyncio.gather(*(engine.aio.settle("m", f"d{i}", told()) for i in range(100)))

    asyncio.run(run())
    assert engine.store.writer.batches - before <= 4
    assert engine.model("m").version == 100
