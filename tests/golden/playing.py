"""How golden files are made and continued: rounds, what a policy knows, calls to a service."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import lzma
import pkgutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import httpx
import numpy as np
from payments import PAID, seen

import longrank as lr

ADMIN = "the-administrators-key-of-the-golden-files"
SETTINGS = (
    "exploration", "probing", "foresight", "given_up", "epsilon", "temperature", "scale", "exact",
    "optimistic", "tail",
)  # fmt: skip
LEARNED = (
    "dim", "updates", "max_budget", "penalty", "forgetting", "radius", "rate", "columns", "used",
    "replaced",
)  # fmt: skip
View = int | list[str]  # what a policy sees of a round: so many numbers, or fields of records


def payoffs_of(dealt: dict[str, Any]) -> lr.Payoffs:
    return lr.Payoffs(dealt["rewards"], dealt["losses"])


def view_of(expected: dict[str, Any]) -> View:
    """What the policy of an expectation sees."""
    return expected["fields"] if "fields" in expected else expected["width"]


def ranked(policy: Any, dealt: dict[str, Any], view: View) -> lr.Ranking:
    """Rank a round; its items are made longer where the policy wants longer ones."""
    if isinstance(view, list):
        records, context = seen(dealt, view)
        return policy.rank(records, payoffs_of(dealt), dealt["budget"], context=context)
    items = np.array(dealt["items"])
    items = np.pad(items, ((0, 0), (0, view - items.shape[1])))
    return policy.rank(items, payoffs_of(dealt), dealt["budget"])


def happened(dealt: dict[str, Any], length: int, view: View) -> lr.Outcome:
    """What becomes of a ranking of this length."""
    tried = int(dealt["share"] * (length + 1))
    told = {"costs": dealt[PAID][:tried]} if isinstance(view, list) and PAID in view else {}
    return lr.Outcome(tried, bool(tried and dealt["lucky"]), **told)


def content(policy: Any) -> dict[str, Any]:
    """All that a policy knows, as JSON in which no bit is lost."""
    found: dict[str, Any] = {"kind": type(policy).__name__}
    found |= {name: getattr(policy, name) for name in SETTINGS if hasattr(policy, name)}
    for name in ("patience", "costs"):
        if getattr(policy, name, None) is not None:
            found[name] = getattr(policy, name).state()
    if getattr(policy, "rng", None) is not None:
        found["rng"] = plain(policy.rng.bit_generator.state)
    if hasattr(policy, "learner"):
        learner = policy.learner
        found |= {"features": repr(policy.features), "learner": type(learner).__name__}
        found |= {"link": learner.link.name}
        found |= {name: getattr(learner, name) for name in LEARNED if hasattr(learner, name)}
        if getattr(learner, "sparse", False):
            schema = policy.schema
            found |= {"schema": schema.describe(), "crossed": schema.crosses()}
        else:
            found |= {"weights": learner.weights, "inverse": learner.inverse}
    return plain(found)


def knowledge(policy: Any, view: View, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The same, and what a policy over records believes of the candidates of some rounds."""
    if isinstance(view, int):
        return content(policy)
    return content(policy) | {"scores": scores(policy, [seen(each, view) for each in rounds])}


def scores(policy: Any, offers: list[tuple[list[Any], dict[str, Any] | None]]) -> Any:
    """Means and widths of records, with their context, where the policy learns."""
    if not hasattr(policy, "learner"):
        return []
    features = policy.features
    rows = (features.rows(features.encode(own, None, context=shared)) for own, shared in offers)
    return plain([policy.learner.score(each) for each in rows])


def told_costs(outcome: Any) -> list[float] | None:
    """What the tries really cost, where the outcome says so."""
    return list(outcome.costs) if getattr(outcome, "costs", None) else None


def history_content(path: Path) -> dict[str, Any]:
    """All that a log says, and what a policy learns from it."""
    from longrank.logs import History

    history = History(path)
    decisions = [
        {
            "id": one.id,
            "order": one.order,
            "outcome": [
                part
                for part in (one.outcome.tried, one.outcome.succeeded, told_costs(one.outcome))
                if part is not None
            ],
            "items": one.items,
            "features": one.features,
            "rewards": None if one.payoffs is None else one.payoffs.rewards,
            "losses": None if one.payoffs is None else one.payoffs.losses,
            "budget": one.budget,
            "propensity": one.propensity,
            "time": one.time,
            "learned": one.learned,
        }
        for one in history.decisions()
    ]
    [dim] = {receipt.dim for receipt, _ in history if len(receipt)}
    if dim == 0:
        return records_content(history, decisions)
    policy = lr.UCB(lr.OnlineNewton(dim, max_budget=10), exploration=0.1)
    for receipt, outcome in history:
        policy.learn(receipt, outcome)
    return {"decisions": plain(decisions), "learned": content(policy)}


def records_content(history: Any, decisions: list[dict[str, Any]]) -> dict[str, Any]:
    """The same of a log of records."""
    learner = lr.SparseLaplace()
    policy = lr.Thompson(learner, scale=0.2, rng=0, optimistic=True, probing=True)
    for receipt, outcome in history.pairs(policy):
        policy.learn(receipt, outcome)
    offers = [(one.candidates, one.context) for one in history.decisions()]
    for told, (candidates, context) in zip(decisions, offers, strict=True):
        told |= {"candidates": candidates, "context": context}
    learned = content(policy) | {"scores": scores(policy, offers)}
    return {"decisions": plain(decisions), "learned": learned}


def plain(node: Any) -> Any:
    """The same as lists, dictionaries, numbers and text; infinity as text."""
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, np.ndarray | np.generic):
        return plain(node.tolist())
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    return repr(node) if node in (float("inf"), float("-inf")) else node


def keys(node: Any) -> Any:
    """The layout of a tree: the names in it, and the versions."""
    if isinstance(node, dict):
        if set(node) == {"array"}:
            return "array"
        return {name: node[name] if name == "version" else keys(node[name]) for name in node}
    return "value"


def packed_layout(data: bytes) -> Any:
    """The layout of a policy or a receipt."""
    version, header, _ = data.split(b"\n", 2)
    return version.decode(), keys(json.loads(header))


class Step(NamedTuple):
    """A call to the service, and what it answered."""

    method: str
    path: str
    body: Any = None
    status: int = 0
    answer: Any = None


def unpack(folder: Path, target: Path) -> Path:
    """Put a golden SQLite store where it can be opened; returns its path."""
    for file in folder.glob("decisions.db*.xz"):
        (target / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return target / "decisions.db"


def application(engine: Any) -> Any:
    """The ASGI application over an engine, wherever this version keeps what makes it."""
    import longrank.service

    for found in pkgutil.walk_packages(longrank.service.__path__, "longrank.service."):
        module = importlib.import_module(found.name)
        for made in vars(module).values():
            if isinstance(made, FunctionType) and made.__module__ == module.__name__:
                known = list(inspect.signature(made).parameters)
                if known[:1] == ["engine"] and {"admin", "auth", "show_key"} <= set(known):
                    return made(engine, admin=ADMIN)
    raise LookupError("no function of longrank.service makes an application from an engine")


@contextmanager
def serving(where: str, now: float) -> Iterator[tuple[Callable[..., Step], Any]]:
    """A service in this process at a fixed time: a function that calls it, and its engine."""
    from longrank.service import Engine, open_store

    engine = Engine(open_store(where), clock=lambda: now)
    app = application(engine)
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        events: asyncio.Queue[Any] = asyncio.Queue()
        said: asyncio.Queue[Any] = asyncio.Queue()
        living = loop.create_task(app({"type": "lifespan"}, events.get, said.put))
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://golden", timeout=60.0
        )

        def ask(step: Step, key: str = ADMIN) -> Step:
            async def send() -> httpx.Response:
                return await client.request(
                    step.method,
                    step.path,
                    content=None if step.body is None else json.dumps(step.body).encode(),
                    headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
                )

            writes = step.method != "GET" and "/decisions" in step.path
            behind = writes and not engine.store.exclusive  # applied a tenth of a second later
            before = applied(step) if behind else 0
            response = runner.run(send())
            while behind and response.is_success and applied(step) == before:
                time.sleep(0.01)
            if response.headers.get("content-type", "").startswith("application/json"):
                return step._replace(status=response.status_code, answer=response.json())
            return step._replace(status=response.status_code, answer=response.content)

        def applied(step: Step) -> int:
            """How many entries of the log the model of a call has followed."""
            stats = ask(Step("GET", "/".join(step.path.split("/")[:4]))).answer["stats"]
            return int(stats["decisions"] + stats["outcomes"])

        async def turn(kind: str) -> None:
            await events.put({"type": f"lifespan.{kind}"})
            answer = await said.get()
            assert answer["type"] == f"lifespan.{kind}.complete", answer

        async def ready() -> None:
            await turn("startup")
            for _ in range(600):
                if (await client.get("/readyz")).status_code == 200:
                    return
                await asyncio.sleep(0.05)
            raise TimeoutError("the service did not become ready")

        try:
            runner.run(ready())
            yield ask, engine
        finally:
            runner.run(client.aclose())
            runner.run(turn("shutdown"))
            living.cancel()
