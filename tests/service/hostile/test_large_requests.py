"""One client with large requests: others are served, and it is told to wait."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import msgspec
import pytest
from serving import ADMIN, DIM, MODEL, asked, bearer, make, service, until

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.client import _pause
from longrank.service.engine import decide
from longrank.service.engine.model import Model
from longrank.service.http import body, decisions, workers
from longrank.service.http.application import Quota
from longrank.service.http.limits import Limits
from longrank.service.http.problems import Refused
from longrank.service.http.workers import Turn, Workers

ROUND = msgspec.to_builtins(asked())
KEY = bearer(ADMIN)
DECISIONS = "/v1/models/m/decisions"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a service with two models, ``slow`` and ``m``."""
    path = tmp_path_factory.mktemp("large") / "decisions.db"
    with service(path, models=("slow", "m")) as client:
        yield client


@pytest.fixture
def gate(monkeypatch):
    """Holds up the ranking of the model ``slow`` until it is opened."""
    gate, rank, entered = threading.Event(), Model.rank, threading.Event()

    def slowly(model, *args, **more):
        if model.name == "slow":
            entered.set()
            assert gate.wait(120)
        return rank(model, *args, **more)

    monkeypatch.setattr(Model, "rank", slowly)
    gate.entered = entered
    yield gate
    gate.set()


@contextmanager
def deciding(client, gate, *rounds):
    """Decisions of the slow model, the first of them under way; the list gets their answers."""
    answers = []

    def decide(body):
        url = f"{client.base_url}/v1/models/slow/decisions"
        answers.append(httpx.post(url, json=body, headers=KEY, timeout=120.0).status_code)

    threads = [threading.Thread(target=decide, args=(body,)) for body in rounds or (ROUND,)]
    try:
        threads[0].start()
        assert gate.entered.wait(120)
        for thread in threads[1:]:
            thread.start()
        yield answers
    finally:
        gate.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def test_a_decision_that_takes_long_holds_up_neither_health_nor_other_models(client, gate):
    with deciding(client, gate) as answers:
        assert client.get("/healthz").status_code == 200
        assert client.post(DECISIONS, json=ROUND).status_code == 201
        assert answers == []
    assert answers == [201]


def test_a_quick_decision_does_not_wait_in_the_event_loop_for_a_thread(client, gate, monkeypatch):
    monkeypatch.setattr(decisions, "MAX_INLINE", 60.0)
    gate.set()
    assert client.post("/v1/models/slow/decisions", json=ROUND).status_code == 201  # now known
    gate.clear()
    gate.entered.clear()
    with deciding(client, gate, {**ROUND, "budget": 1}, ROUND) as answers:
        until(lambda: b"longrank_in_flight 3.0" in client.get("/metrics").content)
        assert client.get("/healthz").status_code == 200
    assert answers == [201, 201]


def noted(monkeypatch, place, name):
    """The threads that call a function."""
    threads, function = [], getattr(place, name)

    def noting(*args, **more):
        threads.append(threading.current_thread())
        return function(*args, **more)

    monkeypatch.setattr(place, name, noting)
    return threads


def test_the_event_loop_makes_decisions_itself_once_they_are_known_to_be_quick(client, monkeypatch):
    small = {**ROUND, "ids": ["a"], "features": ROUND["features"][:1], "budget": 1}
    monkeypatch.setattr(decisions, "MAX_INLINE", 60.0)
    ranking, answering = noted(monkeypatch, Model, "rank"), noted(monkeypatch, body, "decode")
    for _ in range(2):
        assert client.post(DECISIONS, json=small).status_code == 201
    assert ranking[0] is not answering[0]  # nobody knows how long it takes
    assert ranking[1] is answering[1] is answering[0]


def test_a_slow_decision_sends_those_like_it_to_a_thread_for_a_while():
    shape, seconds, after = (1,), {}, []

    def work():
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass

    decisions._timed(work, shape, seconds)
    while not after or after[-1] > decisions.MAX_INLINE:
        decisions._timed(lambda: None, shape, seconds)
        after.append(seconds[shape])
    assert 1 < len(after) < 20


def test_a_large_body_is_decoded_outside_of_the_event_loop(client, monkeypatch):
    threads = noted(monkeypatch, body, "decode")
    client.put("/v1/models/m", json=MODEL)
    outcomes = [{"id": f"x{i}", "tried": 0, "succeeded": False} for i in range(3000)]
    answer = client.post("/v1/models/m/outcomes", json={"outcomes": outcomes})
    assert [result["status"] for result in answer.json()["results"]] == [404] * 3000
    assert threads[0] is not threads[1]


LISTS = [["x" * (32 << 10), 1] for _ in range(40)]
OUTCOMES = [{"id": f"x{i}", "tried": 1, "succeeded": True} for i in range(10_001)]


def outcomes(**change):
    """Many outcomes, one of which is wrong."""
    return [one | change if i == 4321 else one for i, one in enumerate(OUTCOMES[:5000])]


LARGE = [
    ("decisions", {"candidates": LISTS}, "candidates[0]", "must"),
    ("decisions", {f"field{i}": each for i, each in enumerate(LISTS)}, "field0", "is not a field"),
    ("outcomes", {"outcomes": outcomes(tried=-1)}, "outcomes[4321].tried", "must be at least 0"),
    ("outcomes", {"outcomes": outcomes(nobody=1)}, "outcomes[4321].nobody", "is not a field"),
    ("outcomes", {"outcomes": OUTCOMES}, "outcomes", "must have at most 10000 elements, got 10001"),
]


@pytest.mark.parametrize("media", ["json", "msgpack"])
def test_an_error_of_a_large_body_names_the_element_and_one_that_ends_early_is_malformed(
    client, media
):
    head = {"Content-Type": f"application/{media}"}
    for call, fields, parameter, rule in LARGE:
        content = getattr(msgspec, media).encode(fields)
        refused = client.post(f"/v1/models/m/{call}", content=content, headers=head)
        assert (refused.status_code, refused.json()["parameter"]) == (422, parameter)
        assert rule in refused.json()["detail"]
    malformed = getattr(msgspec, media).encode({"outcomes": OUTCOMES[:5000]})[:-1]
    refused = client.post("/v1/models/m/outcomes", content=malformed, headers=head)
    assert (refused.status_code, client.get("/healthz").status_code) == (400, 200)


def test_more_work_than_the_limit_is_refused_by_name_and_drawing_counts_for_more(path):
    for settings, model, count in (
        ({}, {"policy": "plackett-luce", "max_budget": 1000}, 1000),
        ({"max_work": 100}, {}, 20),
    ):
        with service(path, **settings) as client:
            make(client.engine, "m", **model)
            body = {**ROUND, "ids": ROUND["ids"][:2], "features": ROUND["features"][:2]}
            assert client.post(DECISIONS, json=body).status_code == 201
            many = {"ids": [f"c{i}" for i in range(count)], "features": [[0.1] * DIM] * count}
            refused = client.post(DECISIONS, json=many)
            assert (refused.status_code, refused.json()["parameter"]) == (422, "candidates")
            assert "max_work" in refused.json()["detail"]
            client.engine.delete("m")


@pytest.mark.parametrize(
    ("limits", "waiting"),
    [
        ({"max_per_key": 2}, b"longrank_in_flight 3.0"),
        ({"max_workers": 1, "max_large": 1}, b"longrank_large_waiting 1.0"),
    ],
)
def test_a_key_with_too_much_under_way_is_told_to_wait(path, gate, limits, waiting):
    with service(path, models=("slow",), **limits) as client, deciding(client, gate, ROUND, ROUND):
        until(lambda: waiting in client.get("/metrics").content)
        refused = client.post("/v1/models/slow/decisions", json=ROUND)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert client.get("/healthz").status_code == 200


def test_a_rate_is_a_bucket_of_one_second():
    now = [0.0]
    for rate, burst, seconds in ((2.0, 2, "1"), (0.1, 1, "10")):
        quota = Quota(Limits(max_rate=rate), lambda: now[0])
        for _ in range(burst):
            quota.enter(b"a")
        with pytest.raises(Refused) as refused:
            quota.enter(b"a")
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": seconds})
        quota.enter(b"b")
        now[0] += 1.0 / rate
        quota.enter(b"a")


def test_a_rate_holds_for_each_key_and_the_clients_wait_for_as_long_as_they_are_told_to(path):
    with service(path, models=("m",), max_rate=0.001) as client:
        made = client.post("/v1/models/m/keys").json()["key"]
        assert client.get("/v1/models/m").status_code == 429
        mine = bearer(made)
        codes = [client.get("/v1/models/m", headers=mine).status_code for _ in range(2)]
        assert codes == [200, 429]
    seconds = _pause(0, 2, httpx.Response(429, headers={"Retry-After": "2"}))
    assert seconds is not None
    assert 1.0 <= seconds <= 2.0


def test_turns_come_one_after_the_other():
    found, gate, order = Workers(1, 10), threading.Event(), []

    async def main():
        first = asyncio.ensure_future(found.run(Turn(b"z", ""), lambda: gate.wait(120)))
        await asyncio.sleep(0)
        rest = [
            asyncio.ensure_future(found.run(Turn(key, ""), lambda key=key: order.append(key)))
            for key in (b"a", b"a", b"a", b"b", b"c", b"b")
        ]
        while found.waiting < len(rest):
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *rest)

    asyncio.run(main())
    assert order == [b"a", b"b", b"c", b"a", b"b", b"a"]


def test_a_turn_leaves_a_thread_to_the_others_and_the_loop_its_turn():
    found, gate, before = Workers(2, 10), threading.Event(), sys.getswitchinterval()

    async def main():
        slow = [asyncio.ensure_future(found.run(Turn(b"a", ""), gate.wait)) for _ in range(3)]
        interval = await asyncio.wait_for(found.run(Turn(b"b", ""), sys.getswitchinterval), 120)
        assert interval == pytest.approx(workers.SWITCH)
        with pytest.raises(ZeroDivisionError):  # an error in a thread is the caller's
            await found.run(Turn(b"c", ""), lambda: 1 // 0)
        gate.set()
        await asyncio.gather(*slow)

    asyncio.run(main())
    assert sys.getswitchinterval() == before


def test_many_candidates_are_packed_and_compared_in_pieces(monkeypatch):
    records = [{"id": f"c{i}", "x": i} for i in range(23)]
    request = messages.DecisionRequest(candidates=records)
    whole = decide.read_records(request, None)
    monkeypatch.setattr(decide, "TOGETHER", 5)
    assert decide.read_records(request, None) == whole
    twice = messages.DecisionRequest(candidates=[*records, {"id": "c22"}])
    with pytest.raises(InvalidInput, match="c22"):
        decide.read_records(twice, None)
