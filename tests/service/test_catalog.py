"""Models: made, changed, deleted, apart from each other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from serving import DIM, asked, make, told

from longrank.errors import InvalidInput
from longrank.service.engine.apply import replay
from longrank.service.errors import Conflict, Unknown

OUTSIDE = """
from longrank import UCB, Ridge

class Careful(UCB):
    def __init__(self, *, dim):
        super().__init__(Ridge(dim), exploration=0.1)

class Halved(Ridge):
    pass

def halved(*, dim):
    return UCB(Halved(dim), exploration=0.1)
"""
POINTS = """
[longrank.policies]
by-name-only = outside_models:Careful
halved = outside_models:halved
absent = nothing_of_this_name:thing
"""


def test_a_policy_that_could_not_be_loaded_again_makes_no_model(engine, reopen, install_package):
    install_package("outside_models", OUTSIDE, POINTS)
    for policy, reason in (
        ("by-name-only", "unknown policy 'Careful'"),
        ("halved", "unknown learner 'Halved'"),
        ("absent", "nothing_of_this_name"),
    ):
        with pytest.raises(InvalidInput, match=f"policy must .*{policy!r}.*{reason}") as caught:
            make(engine, "bad", policy=policy)
        assert caught.value.parameter == "policy"
    assert [row.name for row in engine.store.models()] == ["m"]
    engine.close()
    assert [model.name for model in reopen().models()] == ["m"]


def test_a_coverage_model_takes_its_topics_as_a_matrix(engine):
    for settings in ({}, {"topics": "x"}):
        with pytest.raises(InvalidInput):
            make(engine, "dep", policy="dep", dim=2, settings=settings)
    make(engine, "dep", policy="dep", dim=2, settings={"topics": [[1, 0], [0, 1], [0.5, 0.5]]})
    request = asked("x", features=np.abs(np.array(asked().features)).tolist())
    assert engine.decide("dep", request).sequence
    assert engine.settle("dep", "x", told()).learned


def test_the_same_model_again_is_no_conflict_but_another_is(engine):
    given = {"settings": {"exploration": 0.3}}
    model = make(engine, "p", **given)
    assert make(engine, "p", **given) is model
    assert make(engine, "p", mode="frozen", **given).spec.request.mode == "frozen"
    for other in (
        {"policy": "c-ucb1"},
        {"dim": DIM + 1},
        {"max_budget": 6},
        {"settings": {"exploration": 0.2}},
        {"settings": {}},
    ):
        with pytest.raises(Conflict, match=f"another {next(iter(other))}"):
            make(engine, "p", **given | other)


def test_a_model_that_many_make_at_once_is_one(engine):
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: make(engine, "race"), range(8)))
    assert len({id(model) for model in models}) == 1
    assert len(engine.models()) == 2


def test_a_model_that_is_deleted_while_it_is_being_loaded_is_gone(engine, monkeypatch):
    make(engine, "gone")
    rows = engine.store.models()
    engine.delete("gone")
    answers = [rows]
    read = engine.store.models
    monkeypatch.setattr(engine.store, "models", lambda: answers.pop() if answers else read())
    engine.follow()
    assert not answers
    assert [model.name for model in engine.models()] == ["m"]
    with pytest.raises(Unknown, match="no model 'gone'"):
        replay(engine.store, next(row for row in rows if row.name == "gone"))


def test_a_deleted_model_is_gone_its_name_is_free_and_models_are_apart(engine, reopen):
    make(engine, "other")
    for name in ("m", "other"):
        engine.decide(name, asked("x"))
    engine.settle("other", "x", told())
    assert (engine.model("m").version, engine.model("other").version) == (0, 1)
    engine.delete("m")
    with pytest.raises(Unknown):
        engine.decide("m", asked("y"))
    make(engine, "m", dim=2)
    assert engine.latest("m").decisions == []
    assert engine.read("other", "x").status == "settled"
    engine.close()
    assert reopen().model("m").spec.request.dim == 2
