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
from serving import ADMIN, DIM, asked, make, service, until

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
KEY = {"Authorization": f"Bearer {ADMIN}"}
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
    client.put("/v1/models/m", json={"policy": "ind", "dim": DIM, "max_budget": 5})
    outcomes = [{"id": f"x{i}", "tried": 0, "succeeded": False} for i in range(3000)]
    answer = client.post("/v1/models/m/outcomes", json={"outcomes": outcomes})
    assert [result["status"] for result in answer.json()["results"]] == [404] * 3000
    assert threads[0] is not threads[1]


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
@pytest.mark.parametrize("nested", [False, True])
def test_many_lists_of_a_long_text_and_a_number_are_refused(client, codec, nested):
    lists = [["x" * (32 << 10), 1] for _ in range(40)]
    fields = {"candidates": lists} if nested else {f"field{i}": one for i, one in enumerate(lists)}
    media = f"application/{codec.__name__.rpartition('.')[2]}"
    head = {"Content-Type": media}
    refused = client.post(DECISIONS, content=codec.encode(fields), headers=head)
    assert refused.status_code == 422
    assert client.get("/healthz").status_code == 200


OUTCOMES = [{"id": f"x{i}", "tried": 1, "succeeded": True} for i in range(10_001)]


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
@pytest.mark.parametrize(
    ("change", "parameter", "rule"),
    [
        ({"tried": -1}, "outcomes[4321].tried", "must be at least 0"),
        ({"nobody": 1}, "outcomes[4321].nobody", "is not a field"),
        (None, "outcomes", "must have at most 10000 elements, got 10001"),
    ],
)
def test_an_error_names_the_element_of_a_long_list(client, codec, change, parameter, rule):
    outcomes = OUTCOMES[:5000] if change else OUTCOMES
    outcomes = [one | change if i == 4321 and change else one for i, one in enumerate(outcomes)]
    head = {"Content-Type": f"application/{codec.__name__.rpartition('.')[2]}"}
    content = codec.encode({"outcomes": outcomes})
    refused = client.post("/v1/models/m/outcomes", content=content, headers=head)
    assert (refused.status_code, refused.json()["parameter"]) == (422, parameter)
    assert rule in refused.json()["detail"]
    malformed = codec.encode({"outcomes": OUTCOMES[:5000]})[:-1]
    refused = client.post("/v1/models/m/outcomes", content=malformed, headers=head)
    assert refused.status_code == 400


def test_a_drawing_policy_counts_for_more_work_than_a_compiled_one(client):
    make(client.engine, "pl", policy="plackett-luce", max_budget=1000)
    many = {"ids": [f"c{i}" for i in range(1000)], "features": [[0.1] * DIM] * 1000}
    refused = client.post("/v1/models/pl/decisions", json=many)
    assert (refused.status_code, "max_work" in refused.json()["detail"]) == (422, True)


def test_more_work_than_the_limit_is_refused_by_name(path):
    with service(path, models=("m",), max_work=100) as client:
        body = {**ROUND, "budget": 3}
        few = {**body, "ids": body["ids"][:2], "features": body["features"][:2]}
        assert client.post(DECISIONS, json=few).status_code == 201
        many = {"ids": [f"c{i}" for i in range(20)], "features": [[0.1] * DIM] * 20}
        refused = client.post(DECISIONS, json=many)
        assert (refused.status_code, refused.json()["parameter"]) == (422, "candidates")
        assert "max_work of 100" in refused.json()["detail"]


def test_a_key_with_too_many_requests_is_told_to_wait(path, gate):
    with (
        service(path, models=("slow",), max_per_key=2) as client,
        deciding(client, gate, ROUND, ROUND),
    ):
        until(lambda: b"in_flight 3.0" in client.get("/metrics").content)
        refused = client.get("/v1/models")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert client.get("/healthz").status_code == 200


def test_too_many_large_decisions_of_a_key_wait_for_a_model(path, gate):
    with (
        service(path, models=("slow",), max_workers=1, max_large=1) as client,
        deciding(client, gate, ROUND, ROUND),
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
    slow = Quota(Limits(max_rate=0.1), lambda: 0.0)
    slow.enter(b"a")
    with pytest.raises(Refused) as refused:
        slow.enter(b"a")
    assert refused.value.headers == {"Retry-After": "10"}


def test_the_clients_wait_for_as_long_as_they_are_told_to():
    seconds = _pause(0, 2, httpx.Response(429, headers={"Retry-After": "2"}))
    assert seconds is not None
    assert 1.0 <= seconds <= 2.0


def test_a_rate_holds_for_each_key(path):
    with service(path, models=("m",), max_rate=0.001) as client:
        made = client.post("/v1/models/m/keys").json()["key"]
        assert client.get("/v1/models/m").status_code == 429
        mine = {"Authorization": f"Bearer {made}"}
        codes = [client.get("/v1/models/m", headers=mine).status_code for _ in range(2)]
        assert codes == [200, 429]


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
        gate.set()
        await asyncio.gather(*slow)

    asyncio.run(main())
    assert sys.getswitchinterval() == before


def test_an_error_in_a_thread_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Workers(1, 1).run(Turn(b"a", ""), lambda: 1 // 0))


def test_many_candidates_are_packed_and_compared_in_pieces(monkeypatch):
    records = [{"id": f"c{i}", "x": i} for i in range(23)]
    request = messages.DecisionRequest(candidates=records)
    whole = decide.read_records(request, None)
    monkeypatch.setattr(decide, "TOGETHER", 5)
    assert decide.read_records(request, None) == whole
    twice = messages.DecisionRequest(candidates=[*records, {"id": "c22"}])
    with pytest.raises(InvalidInput, match="c22"):
        decide.read_records(twice, None)
