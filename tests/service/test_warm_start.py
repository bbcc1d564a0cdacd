"""The page on warm starts with a real service: what doctest skips there is run here."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from process import Server
from serving import ADMIN, free_port

from longrank import Payoffs
from longrank.service import Client

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "warm-start.md"
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture
def address(tmp_path):
    server = Server(str(tmp_path / "desk.db"), free_port()).start().ready()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def follow(text: str) -> dict:
    """Run the examples of a page, also those that are marked to be skipped; return its names."""
    names = {"admin_key": ADMIN}
    test = doctest.DocTestParser().get_doctest(text, names, PAGE.name, str(PAGE), 0)
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    done = doctest.DocTestRunner().run(test, clear_globs=False)
    assert done.attempted > 10
    assert done.failed == 0
    return test.globs


def test_a_replayed_log_leaves_the_estimates_of_learning_from_it(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the page saves a file
    text = PAGE.read_text()
    assert ADDRESS in text
    names = follow(text.replace(ADDRESS, address))
    routes, context = ["adyen", "stripe"], {"brand": "amex"}
    ranking = names["policy"].rank(routes, Payoffs.vanilla(2), context=context)
    with Client(address, ADMIN) as client:
        names["replay"](client, "desk", names["history"])  # once more: nothing is learned twice
        assert client.model("desk").stats.learned == 3
        decision = client.decide("desk", candidates=routes, context=context)
    learned = dict(zip(ranking.ids, ranking.estimates.tolist(), strict=True))
    assert {one.id: one.estimate for one in decision.sequence} == pytest.approx(learned, rel=1e-12)
