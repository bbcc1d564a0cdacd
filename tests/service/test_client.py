"""The Python clients, the table of endpoints that they come from, and handlers' arguments."""

import asyncio
import inspect
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from serving import ADMIN, DIM, served, until

import longrank
from longrank.service import AsyncClient, Client, messages
from longrank.service.client import CallFailed
from longrank.service.http.application import endpoints
from longrank.service.http.routes import PAGES, ROUTES, Endpoints
from longrank.service.http.service import Reply

ROUND = {"rewards": [1.0, 0.5], "losses": [0.0, -0.1, -0.2]}
IDS = [f"c{i}" for i in range(5)]


@pytest.fixture
def items():
    return np.random.default_rng(0).uniform(-0.5, 0.5, (5, DIM))


@pytest.fixture
def client(http):
    with Client(str(http.base_url), ADMIN, timeout=120.0, retries=50) as client:
        client.create_model("m", dim=DIM, policy="ind", max_budget=5)
        yield client


def test_every_call_goes_through(http, client, items):
    made = client.create_model("other", dim=2, policy="ind")
    assert isinstance(made, messages.ModelCreated)
    key = client.create_key("other")
    assert key.id in [each.id for each in client.list_keys("other").keys]
    assert client.delete_key("other", key.id) is None
    assert [model.name for model in client.models().models] == ["m", "other"]
    decision = client.decide("m", IDS, items, id="x", **ROUND)
    assert decision == client.decide("m", IDS, items.tolist(), id="x", **ROUND)
    single = items.astype(np.float32)
    for name, rows in (("x", items), ("y", single)):  # both arrive exactly
        client.decide("m", IDS, rows, id=name, **ROUND)
        record = http.engine.store.find(http.engine.model("m").number, name)[0].decision()
        assert np.array_equal(record.rows.array(), rows[record.played.order].astype(float))
    assert client.settle("m", "x", tried=1, succeeded=True).learned
    told_again = {"id": "x", "tried": 1, "succeeded": True}
    batch = client.settle_many("m", [told_again, {"id": "z", "tried": 0, "succeeded": False}])
    assert [result.status for result in batch.results] == [200, 404]
    assert client.read("m", "x").outcome == messages.Observed(1, True)
    assert [each.id for each in client.latest("m", limit=5).decisions] == ["y", "x"]
    assert client.model("m").stats.learned == http.engine.model("m").version == 1
    assert client.export("m", "parquet")[:4] == b"PAR1"
    assert client.drop("m", older_than=60).dropped == 0
    client.delete_model("other")
    assert [model.name for model in client.models().models] == ["m"]
    assert (client.health().status, client.ready().status) == ("alive", "ready")
    assert b"longrank_ready 1.0" in client.metrics()


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


def test_an_answer_that_was_lost_on_the_way_is_not_decided_twice(http, client, items, monkeypatch):
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
    with served(proxy) as url, Client(url, ADMIN, timeout=120.0) as through:
        decision = through.decide("m", IDS, items, **ROUND)
    assert decision.id == dropped[0].json()["id"]
    assert client.model("m").stats.decisions == 1


def test_the_async_client_does_the_same_and_both_tell_what_they_cannot_reach(http, items):
    async def run():
        async with AsyncClient(str(http.base_url), ADMIN, timeout=120.0) as client:
            made = await client.create_model("m", dim=DIM, policy="ind", max_budget=5)
            assert made.key
            decisions = await asyncio.gather(
                *(client.decide("m", IDS, items, id=f"d{i}", **ROUND) for i in range(20))
            )
            assert {decision.id for decision in decisions} == {f"d{i}" for i in range(20)}
            assert (await client.settle("m", "d0", tried=1, succeeded=False)).learned
            batch = await client.settle_many("m", [{"id": "d1", "tried": 1, "succeeded": True}])
            assert batch.results[0].status == 200
            assert (await client.read("m", "d0")).status == "settled"
            assert len((await client.latest("m")).decisions) == 20
            assert (await client.model("m")).version == 2
            assert (await client.export("m", "parquet"))[:4] == b"PAR1"
            await client.delete_model("m")
            with pytest.raises(CallFailed):
                await client.read("m", "d0")
        async with AsyncClient("http://127.0.0.1:9", retries=1, timeout=0.5) as client:
            with pytest.raises(CallFailed, match="cannot reach"):
                await client.models()

    asyncio.run(run())
    with Client("http://127.0.0.1:9", retries=1, timeout=0.5) as client:
        with pytest.raises(CallFailed, match="cannot reach") as caught:
            client.models()
        assert caught.value.status == 0


def test_a_handler_takes_what_its_route_says_and_answers_it():
    for route in (*ROUTES, *PAGES):
        ((_, methods),) = endpoints([route])
        _, handler = methods[route.method]
        takes = list(inspect.signature(handler).parameters)
        body = ["body"] * (route.takes is not None) + ["load"] * route.large
        assert takes[0] == "service"
        assert sorted(takes[1:]) == sorted([*route.parameters.__struct_fields__, *body]), route
        hints = get_type_hints(handler)
        assert hints.get("body") == route.takes
        answers = [kind or type(None) for kind in route.answers.values()]
        assert hints["return"] in answers or (hints["return"] is Reply and answers == [bytes])
        assert route in PAGES or route.summary.endswith("."), route
        assert route in PAGES or (route.scope == "open") == (not route.path.startswith("/v1/"))
    assert len({route.name for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_endpoint_is_a_method_of_both_clients(kind):
    client = kind("http://127.0.0.1:9")
    methods = {name for name, value in vars(Endpoints).items() if hasattr(value, "route")}
    assert len(methods) == len(ROUTES)
    for name in methods:
        method = getattr(client, name)
        assert method.__doc__
        assert "self" not in inspect.signature(method).parameters
    asyncio.run(client.aclose()) if kind is AsyncClient else client.close()


def test_arguments_become_a_path_a_query_and_a_body():
    call = Endpoints.latest.call("a b", limit=3)
    assert (call.target, call.body) == ("/v1/models/a%20b/decisions?limit=3", None)
    assert Endpoints.latest.call("m", "41").target.endswith("?cursor=41&limit=50")
    settled = Endpoints.settle.call("m", "x/y", tried=1, succeeded=True)
    assert settled.target == "/v1/models/m/decisions/x%2Fy/outcome"
    assert b"tried" in settled.body
    with pytest.raises(TypeError, match="missing a required argument"):
        Endpoints.read.call("m")


TYPED = """
from typing import assert_type
from longrank.service import AsyncClient, Client, messages

def blocking(client: Client) -> None:
    assert_type(client.decide("m", ["a"], [[0.1]], budget=1), messages.DecisionAnswer)
    assert_type(client.settle("m", "x", tried=1), messages.OutcomeAnswer)
    assert_type(client.models(), messages.ModelList)
    assert_type(client.export("m"), bytes)
    client.latest("m", limit="3")  # type: ignore[arg-type]
    client.read("m")  # type: ignore[call-arg]

async def awaited(client: AsyncClient) -> None:
    assert_type(await client.create_model("m", dim=3), messages.ModelAnswer)
    assert_type((await client.latest("m", limit=3)).next, str | None)
"""


def test_a_type_checker_knows_the_methods_of_both_clients(tmp_path):
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    source = str(Path(longrank.__file__).parents[1])
    settings = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, "--config-file=", str(file)],
        capture_output=True, text=True, env={**os.environ, "MYPYPATH": source},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_client_imports_no_server():
    code = "import sys, longrank.service.client; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "httpx" in loaded
    assert not loaded & {"starlette", "uvicorn", "apsw", "psycopg", "prometheus_client"}


async def app(scope, receive, send):  # noqa: ARG001
    if scope["type"] != "http":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(0)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b"first ", "more_body": True})
    await send({"type": "http.response.body", "body": b"second"})


def test_one_read_gets_a_whole_answer_and_the_connection_lives_on():
    with served(app) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=120) as client:
            for target in ("/", "/slow", "/"):
                client.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                answer = client.recv(10_000)
                assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
                assert answer.endswith(b"6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")
