"""The pages on warm starts and on shadow mode with a real service, with what doctest skips."""

import doctest
from pathlib import Path

import pytest
from process import Server
from serving import ADMIN, free_port

from longrank import Payoffs
from longrank.service import Client

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
ADDRESS = "http://127.0.0.1:8000"


def follow(name: str, address: str) -> dict:
    """Run the examples of a page, also those that are marked to be skipped; return its names."""
    page = HOW_TO / name
    text, names = page.read_text(), {"admin_key": ADMIN}
    assert ADDRESS in text
    text = text.replace(ADDRESS, address).replace("timeout=0.2", "timeout=120")  # a busy machine
    test = doctest.DocTestParser().get_doctest(text, names, name, str(page), 0)
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    done = doctest.DocTestRunner().run(test, clear_globs=False)
    assert done.attempted > 10
    assert done.failed == 0
    return test.globs


@pytest.fixture
def address(tmp_path):
    server = Server(str(tmp_path / "desk.db"), free_port()).start().ready()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def test_a_replayed_log_leaves_the_estimates_of_learning_from_it(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the page saves a file
    names = follow("warm-start.md", address)
    routes, context = ["adyen", "stripe"], {"brand": "amex"}
    ranking = names["policy"].rank(routes, Payoffs.vanilla(2), context=context)
    with Client(address, ADMIN, timeout=120.0) as client:
        names["replay"](client, "desk", names["history"])  # once more: nothing is learned twice
        model = client.model("desk")
        assert model.stats.learned == 3
        assert (model.ttl, model.currency) == (7 * 86400, "EUR")  # as before it went live
        decision = client.decide("desk", candidates=routes, context=context)
    learned = dict(zip(ranking.ids, ranking.estimates.tolist(), strict=True))
    assert {one.id: one.estimate for one in decision.sequence} == pytest.approx(learned, rel=1e-12)


def test_the_same_code_plays_the_list_in_shadow_mode_and_the_models_own_when_live(address):
    names = follow("shadow.md", address)
    ask, admin, patient = names["sequence"], names["admin"], names["reports"]
    assert admin.model("desk").stats.learned == 1
    payment = {"brand": "visa", "amount": 120.0}
    assert ask(patient, "order-2", payment) == (names["OLD_LIST"], True)
    admin.create_model("desk", mode="online", **names["fields"])
    assert ask(patient, "order-3", payment)[1]
    played = admin.read("desk", "order-3")
    assert (played.mode, played.proposal) == ("online", None)
    for client in (names["nobody"], names["checkout"], patient, admin):
        client.close()
