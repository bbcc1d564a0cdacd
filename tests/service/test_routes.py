"""The table of endpoints, and what is derived from it: handlers' arguments, clients' methods."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from serving import served

import longrank
from longrank.service import AsyncClient, Client
from longrank.service.http.application import endpoints
from longrank.service.http.routes import PAGES, ROUTES, Endpoints
from longrank.service.http.service import Reply


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


def test_an_endpoint_has_a_name_a_summary_and_a_scope():
    for route in ROUTES:
        assert route.summary.endswith("."), route
        assert (route.scope == "open") == (not route.path.startswith("/v1/")), route
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
        await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b"first ", "more_body": True})
    await send({"type": "http.response.body", "body": b"second"})


@pytest.mark.parametrize("asked", ["/", "/slow"])
def test_one_read_gets_a_whole_answer_and_the_connection_lives_on(asked):
    with served(app) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=120) as client:
            for _ in range(3):
                client.sendall(f"GET {asked} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                answer = client.recv(10_000)
                assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
                assert answer.endswith(b"6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")
