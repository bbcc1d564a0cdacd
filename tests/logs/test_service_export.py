"""What the service exports is a history: nothing is wrong with it, and it teaches the same."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import Clock, exported
from small_world import call

from longrank import Payoffs, named
from longrank.logs import COLUMNS, History, check, evaluate, learn_from
from longrank.service import Engine, open_store
from longrank.service.messages import BatchItem, DecisionRequest, ModelRequest

DIM, SIZE, BUDGET, ROUNDS = 3, 6, 4, 300
IDS = [f"route-{i}" for i in range(SIZE)]
TRUTH = np.array([2.0, -1.0, 0.5])
MODELS = {
    "recommended": {"policy": "recommended"},
    "chance": {"policy": "eps", "settings": {"epsilon": 0.4, "rate": 5.0}},
    "shadow": {"policy": "ind", "mode": "shadow", "settings": {"rate": 5.0}},
}


def happened(sequence, items, rng):
    """What a small world does with a sequence, and what it says about the failures."""
    scores = items[[IDS.index(one.id) for one in sequence]] @ TRUTH
    hits = np.flatnonzero(rng.random(len(scores)) < 1.0 / (1.0 + np.exp(-scores)))
    told = {"tried": len(scores), "succeeded": False}
    if hits.size:
        told = {"tried": int(hits[0]) + 1, "succeeded": True}
    elif rng.random() < 0.3:
        told["tried"] = int(rng.integers(0, len(scores) + 1))  # somebody stopped early
    failures = told["tried"] - told["succeeded"]
    kind = rng.random()
    if kind < 0.15:
        return told | {"attributable": False}
    if kind < 0.4 and failures:
        return told | {"not_attributable": [int(rng.integers(1, failures + 1))]}
    return told


@pytest.fixture(scope="module", params=MODELS)
def lived(request, tmp_path_factory):
    """A model that has decided and learned, its export, and the budgets that were asked for.

    A tenth of the outcomes never come, a tenth too late, the others in another order than the
    decisions; and the clock is set back once.
    """
    folder, clock = tmp_path_factory.mktemp("service"), Clock()
    rng = np.random.default_rng(7)
    waiting, budgets = [], []
    with Engine(open_store(str(folder / "decisions.db")), clock=clock) as engine:
        settings = {"dim": DIM, "max_budget": BUDGET, "ttl": 1000.0, "store_candidates": True}
        with pytest.MonkeyPatch.context() as patch:  # the same chances in every run
            patch.setattr("longrank.service.engine.catalog.secrets.randbits", lambda bits: bits)
            model, _ = engine.create("m", ModelRequest(**settings | MODELS[request.param]))

        def settle(outcomes):
            answers = engine.settle_many("m", outcomes)
            assert not [one for one in answers if isinstance(one, Exception)]

        for t in range(ROUNDS):
            clock.now += -5.0 if t == 100 else 1.0
            items = rng.uniform(-0.57, 0.57, (SIZE, DIM))
            budgets.append(int(rng.integers(1, BUDGET + 1)))
            decision = engine.decide(
                "m",
                DecisionRequest(
                    id=f"d{t}",
                    ids=IDS,
                    features=items.tolist(),
                    budget=budgets[-1],
                    rewards=[1.0, 0.8, 0.6, 0.4],
                    losses=[0.0, -0.1, -0.2, -0.3, -0.4],
                    baseline=[IDS[i] for i in rng.permutation(SIZE)[: budgets[-1]]],
                ),
            )
            if rng.random() < 0.9:
                told = happened(decision.sequence, items, rng)
                waiting.append(BatchItem(id=decision.id, **told))
            if t % 20 == 19:
                rng.shuffle(waiting)
                settle(waiting[8:])
                del waiting[8:]
        clock.now += 2000.0
        settle(waiting)
        path = folder / "export.parquet"
        path.write_bytes(exported(engine, "m"))
        yield request.param, model, path, budgets


def fresh(name):
    request = MODELS[name]
    more = {"rng": 0} if name == "chance" else {}
    settings = request.get("settings", {}) | more
    return named(request["policy"], dim=DIM, max_budget=BUDGET, **settings)


def test_the_export_has_every_column_of_the_format_and_nothing_is_wrong_with_it(lived):
    _, _, path, budgets = lived
    assert set(COLUMNS) <= set(pq.read_schema(path).names)
    call("logs", "check", path)
    checked = check(History(path))
    assert checked.problems == []
    assert 200 < checked.decisions < ROUNDS  # the others have no outcome
    rows = pq.read_table(path).to_pylist()
    assert [row["budget"] for row in rows] == budgets
    times = [row["time"] for row in rows]
    assert times == sorted(times)
    assert [row["created"] for row in rows] != times  # the clock was set back
    # as untidy as it must be for the tests below
    rows = [row for row in rows if row["tried"] is not None]
    turns = [row["outcome_seq"] for row in rows]
    assert turns != sorted(turns)
    assert sum(not row["learned"] for row in rows) > 10
    assert sum(bool(row["not_attributable"]) and row["learned"] for row in rows) > 10
    assert sum(row["tried"] < len(row["order"]) and not row["succeeded"] for row in rows) > 2


def test_a_warm_start_from_the_export_gives_the_state_of_the_service(lived):
    name, model, path, _ = lived
    policy = fresh(name)
    assert learn_from(policy, path) == model.stats.learned
    assert model.stats.learned > 150
    wanted, found = model.policy.learner.state(), policy.learner.state()
    assert found.keys() == wanted.keys()
    if name == "recommended":  # rows grow: late outcomes are learned by what is known by then
        items = np.random.default_rng(1).uniform(-0.57, 0.57, (200, DIM))
        chances = [
            each.learner.belief().score(each.features.rows(each.features.encode(items, None)))[0]
            for each in (model.policy, policy)
        ]
        assert policy.learner.dim == model.policy.learner.dim
        assert np.corrcoef(chances)[0, 1] > 0.9
        return
    for part, value in wanted.items():
        assert np.array_equal(found[part], value), part


def test_the_export_of_a_policy_that_draws_says_how_likely_its_sequences_were(lived):
    name, _, path, _ = lived
    early = [row for row in pq.read_table(path).to_pylist() if row["policy_version"] == 0]
    assert len(early) == 20
    for row in early:
        if name != "chance":
            assert row["propensity"] is row["prefix_propensities"] is None
            continue
        payoffs = Payoffs(row["rewards"], row["losses"])
        chances = fresh(name).propensities(row["items"], payoffs, row["order"], row["budget"])
        assert [*row["prefix_propensities"], row["propensity"]] == chances.tolist()


def test_a_policy_is_judged_on_the_export(lived):
    name, _, path, _ = lived
    history = History(path)
    policy = fresh(name)
    learn_from(policy, history.part(0, 100))
    settings = {"resamples": 50, "missing": "at random"}  # some outcomes never came
    found = {e.estimator: e for e in evaluate(history.part(100), {"x": policy}, **settings)}
    assert not found["bounds"].refused
    assert found["bounds"].low < found["bounds"].high
    for estimator in ("importance sampling", "doubly robust"):
        if name == "chance":
            assert found[estimator].low <= found[estimator].value <= found[estimator].high
            assert found[estimator].low < found[estimator].high
        else:
            assert "have no propensity" in found[estimator].refused
