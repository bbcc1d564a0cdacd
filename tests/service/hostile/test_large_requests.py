"""One client with large requests: others are served, and it is told to wait."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import contextmanager

import httpx
import msgspec
import pytest
from serving import ADMIN, DIM, asked, served, until, until_ready

from longrank.service import messages
from longrank.service.app import build
from longrank.service.client import _pause
from longrank.service.engine import candidates
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.http import pace
from longrank.service.http.limits import Limits, Quota
from longrank.service.http.problems import Refused
from longrank.service.http.workers import SWITCH, Lane, Workers
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())
KEY = {"Authorization": f"Bearer {ADMIN}"}
MODEL = {"policy": "ind", "dim": DIM, "max_budget": 5}


@contextmanager
def serving(path, clock, **limits):
    """A client of a service with two models, ``slow`` and ``m``."""
    app = build(Engine(SqliteStore(path), clock=clock), admin=ADMIN, **limits)
    with served(app) as url, httpx.Client(base_url=url, headers=KEY, timeout=60.0) as client:
        until_ready(client)
        for name in ("slow", "m"):
            client.put(f"/v1/models/{name}", json=MODEL)
        yield client


@pytest.fixture
def gate(monkeypatch):
    """Holds up the ranking of the model ``slow`` until it is opened."""
    gate, rank, entered = threading.Event(), Model.rank, threading.Event()

    def slowly(model, *args, **more):
        if model.name == "slow":
            entered.set()
            assert gate.wait(60)
        return rank(model, *args, **more)

    monkeypatch.setattr(Model, "rank", slowly)
    gate.entered = entered
    yield gate
    gate.set()


@contextmanager
def deciding(client, gate, count=1):
    """Decisions of the slow model, the first of them under way; the list gets their answers."""
    answers = []

    def decide():
        url, body = f"{client.base_url}/v1/models/slow/decisions", ROUND
        answers.append(httpx.post(url, json=body, headers=KEY, timeout=60.0).status_code)

    threads = [threading.Thread(target=decide) for _ in range(count)]
    try:
        threads[0].start()
        assert gate.entered.wait(60)
        for thread in threads[1:]:
            thread.start()
        yield answers
    finally:
        gate.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def test_a_decision_that_takes_long_holds_up_neither_health_nor_other_models(path, clock, gate):
    with serving(path, clock) as client, deciding(client, gate) as answers:
        assert client.get("/healthz").status_code == 200
        assert client.post("/v1/models/m/decisions", json=ROUND).status_code == 201
        assert answers == []
    assert answers == [201]


def test_the_event_loop_makes_decisions_itself_once_they_are_known_to_be_quick(
    path, clock, monkeypatch
):
    threads, rank = [], Model.rank

    def noting(model, *args, **more):
        threads.append(threading.current_thread().name)
        return rank(model, *args, **more)

    monkeypatch.setattr(Model, "rank", noting)
    with serving(path, clock) as client:

        def in_loop():
            assert client.post("/v1/models/m/decisions", json=ROUND).status_code == 201
            return not threads[-1].startswith("longrank-worker")

        assert not in_loop()  # it may have to compile
        until(in_loop)


def test_what_waited_for_the_processor_is_told_from_what_used_it(engine, monkeypatch):
    now, used, model = [0.0], [0.0], engine.model("m")
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(pace.time, "thread_time", lambda: used[0])

    def work(wall, processor):
        now[0] += wall
        used[0] += processor

    found = pace.Pace(1e9)
    shape = found.shape(model, asked(), 100)
    assert not found.is_quick(model, shape)  # nobody knows yet
    found.timed(shape, work, 0.1, 0.0001)
    for _ in range(4):
        assert found.is_quick(model, shape)
        found.quickly(shape, work, 0.1, 0.0001)  # it waits
    for _ in range(2):
        assert found.is_quick(model, shape)
        found.quickly(shape, work, 0.1, 0.1)  # it is slow
    assert not found.is_quick(model, shape)


def test_a_large_body_is_decoded_outside_of_the_event_loop(path, clock, monkeypatch):
    from longrank.service.http import body

    threads, decode = [], body.decode

    def noting(*args):
        threads.append(threading.current_thread().name)
        return decode(*args)

    monkeypatch.setattr(body, "decode", noting)
    with serving(path, clock) as client:
        threads.clear()
        outcomes = [{"id": f"x{i}", "tried": 0, "succeeded": False} for i in range(3000)]
        answer = client.post("/v1/models/m/outcomes", json={"outcomes": outcomes})
        assert [one["status"] for one in answer.json()["results"]] == [404] * 3000
    assert [name.startswith("longrank-worker") for name in threads] == [True]


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
@pytest.mark.parametrize("nested", [False, True])
def test_many_lists_of_a_long_text_and_a_number_are_refused(path, clock, codec, nested):
    lists = [["x" * (32 << 10), 1] for _ in range(40)]
    body = {"candidates": lists} if nested else {f"field{i}": one for i, one in enumerate(lists)}
    media = f"application/{codec.__name__.rpartition('.')[2]}"
    with serving(path, clock) as client:
        refused = client.post(
            "/v1/models/m/decisions",
            content=codec.encode(body),
            headers={"Content-Type": media},
        )
        assert refused.status_code == 422
        assert client.get("/healthz").status_code == 200


def test_more_work_than_the_limit_is_refused_by_name(path, clock):
    with serving(path, clock, max_work=100) as client:
        body = {**ROUND, "budget": 3}
        few = {**body, "ids": body["ids"][:2], "features": body["features"][:2]}
        assert client.post("/v1/models/m/decisions", json=few).status_code == 201
        many = {"ids": [f"c{i}" for i in range(20)], "features": [[0.1] * DIM] * 20}
        refused = client.post("/v1/models/m/decisions", json=many)
        assert (refused.status_code, refused.json()["parameter"]) == (422, "candidates")
        assert "max_work of 100" in refused.json()["detail"]


def test_a_drawing_policy_counts_for_more_work_than_a_compiled_one(path, clock):
    settings = {"policy": "plackett-luce", "dim": DIM, "max_budget": 1000}
    many = {"ids": [f"c{i}" for i in range(1000)], "features": [[0.1] * DIM] * 1000}
    with serving(path, clock) as client:
        assert client.put("/v1/models/pl", json=settings).status_code == 201
        refused = client.post("/v1/models/pl/decisions", json=many)
        assert (refused.status_code, "max_work" in refused.json()["detail"]) == (422, True)


def test_a_key_with_too_many_requests_in_progress_is_told_to_wait(path, clock, gate):
    with serving(path, clock, max_per_key=2) as client, deciding(client, gate, 2):
        until(lambda: b"in_flight 3.0" in client.get("/metrics").content)
        refused = client.get("/v1/models")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        other = client.post("/v1/models/m/keys")
        assert other.status_code == 429
        assert client.get("/healthz").status_code == 200


def test_too_many_large_decisions_of_a_key_wait_for_a_model(path, clock, gate):
    with (
        serving(path, clock, max_workers=1, max_large=1) as client,
        deciding(client, gate, 2),
    ):
        until(lambda: b"longrank_large_waiting 1.0" in client.get("/metrics").content)
        refused = client.post("/v1/models/slow/decisions", json=ROUND)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


def test_a_rate_is_a_bucket_of_one_second():
    now = [0.0]
    quota = Quota(Limits(max_rate=2.0), lambda: now[0])
    for _ in range(2):
        quota.enter(b"a")
    with pytest.raises(Refused) as refused:
        quota.enter(b"a")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    quota.enter(b"b")
    now[0] += 0.5
    quota.enter(b"a")
    with pytest.raises(Refused):
        quota.enter(b"a")


def test_a_slow_rate_says_how_long_to_wait():
    quota = Quota(Limits(max_rate=0.1), lambda: 0.0)
    quota.enter(b"a")
    with pytest.raises(Refused) as refused:
        quota.enter(b"a")
    assert refused.value.headers == {"Retry-After": "10"}


def test_the_clients_wait_for_as_long_as_they_are_told_to():
    seconds = _pause(0, 2, httpx.Response(429, headers={"Retry-After": "2"}))
    assert seconds is not None
    assert 1.0 <= seconds <= 2.0


def test_a_rate_holds_for_each_key(path, clock):
    with serving(path, clock) as client:
        key = client.post("/v1/models/m/keys").json()["key"]
    with (
        served(build(Engine(SqliteStore(path), clock=clock), admin=ADMIN, max_rate=0.001)) as url,
        httpx.Client(base_url=url, timeout=60.0) as client,
    ):
        until_ready(client)
        for one in (key, ADMIN):
            headers = {"Authorization": f"Bearer {one}"}
            codes = [client.get("/v1/models/m", headers=headers).status_code for _ in range(2)]
            assert codes == [200, 429]


def test_lanes_have_their_turn_one_after_the_other():
    workers, gate, order = Workers(1, 10), threading.Event(), []

    async def main():
        first = asyncio.ensure_future(workers.run(Lane(b"z", ""), lambda: gate.wait(60)))
        await asyncio.sleep(0)
        rest = [
            workers.run(Lane(key, ""), lambda key=key: order.append(key))
            for key in (b"a", b"a", b"a", b"b", b"c", b"b")
        ]
        rest = [asyncio.ensure_future(one) for one in rest]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *rest)

    asyncio.run(main())
    workers.close()
    assert order == [b"a", b"b", b"c", b"a", b"b", b"a"]


def test_a_lane_leaves_a_thread_to_the_others_and_the_loop_its_turn():
    workers, gate = Workers(2, 10), threading.Event()
    before = sys.getswitchinterval()

    async def main():
        slow = [asyncio.ensure_future(workers.run(Lane(b"a", ""), gate.wait)) for _ in range(3)]
        found = await asyncio.wait_for(workers.run(Lane(b"b", ""), sys.getswitchinterval), 60)
        gate.set()
        await asyncio.gather(*slow)
        return found

    assert asyncio.run(main()) == pytest.approx(SWITCH)
    until(lambda: sys.getswitchinterval() == before)
    workers.close()


def test_an_error_in_a_thread_is_the_callers():
    workers = Workers(1, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(workers.run(Lane(b"a", ""), lambda: 1 // 0))
    workers.close()


def test_what_nobody_waits_for_any_more_is_closed():
    workers, gate = Workers(1, 1), threading.Event()

    async def nothing():
        """What a decision would go on with."""

    def work():
        gate.wait(60)
        return nothing()

    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(workers.run(Lane(b"a", ""), work), 0.01)
        gate.set()
        await workers.run(Lane(b"a", ""), lambda: None)

    asyncio.run(main())  # and warns of no coroutine that was never awaited
    workers.close()


def test_many_candidates_are_packed_and_compared_in_pieces(monkeypatch):
    records = [{"id": f"c{i}", "x": i} for i in range(23)]
    request = messages.DecisionRequest(candidates=records)
    whole = candidates.read_records(request, None)
    monkeypatch.setattr(candidates, "TOGETHER", 5)
    assert candidates.read_records(request, None) == whole
    assert candidates.are_distinct(whole.ids)
    assert not candidates.are_distinct([*whole.ids, "c22"])
    assert candidates.are_distinct([])
