"""Money: candidates with prices, outcomes with costs, and sums to the last bit."""

import io
import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import ADMIN, DIM, asked, exported, fresh, make, told

from longrank import Outcome, Payoffs
from longrank.errors import InvalidInput
from longrank.service import Client
from longrank.service.errors import Conflict
from longrank.service.messages import BatchItem, DecisionRequest, ModelRequest

PAYOFFS = {"rewards": [5.0, 4.0], "losses": [0.0, -0.5, -1.0]}
ROUTES = [
    {"id": "adyen", "region": "eu", "cost": 0.3, "value": 0.25},
    {"id": "stripe", "region": "us", "cost": 0.1},
    "worldpay",
]
KNOWN = {"adyen": (0.3, 0.25), "stripe": (0.1, 0.0), "worldpay": (0.0, 0.0)}
COSTS, VALUES = [0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 0.7, -0.3, 0.0, 1.1]


def routed(name=None, **more):
    return DecisionRequest(id=name, candidates=ROUTES, **{**PAYOFFS, **more})


def rows_of(engine, name):
    return pq.read_table(io.BytesIO(exported(engine, name))).to_pylist()


def stored(engine, model, name):
    """A decision as it stands in the log, and its payoffs."""
    record = engine.store.find(engine.model(model).number, name)[0].decision()
    return record, Payoffs(record.rewards, record.losses, patience=record.patience)


@pytest.fixture
def records(engine):
    engine.create("r", ModelRequest(max_budget=2, currency="EUR"))
    return engine


# decisions


def test_expected_values_are_those_of_the_prices_also_where_a_policy_ignores_them(records):
    decision = records.decide("r", routed("x"))
    prices = [(choice.cost, choice.value) for choice in decision.sequence]
    assert prices == [KNOWN[choice.id] for choice in decision.sequence]
    costs, values = zip(*KNOWN.values(), strict=True)
    payoffs = Payoffs(PAYOFFS["rewards"], PAYOFFS["losses"], costs, values)
    along = payoffs.along([list(KNOWN).index(choice.id) for choice in decision.sequence])
    expected = along.values([choice.optimistic for choice in decision.sequence])
    assert decision.values == pytest.approx(expected.tolist())
    assert [choice.adds for choice in decision.sequence] == pytest.approx(np.diff(expected))
    records.create("rand", ModelRequest(policy="rand", max_budget=2))
    blind = records.decide("rand", routed("x"))
    paid = [KNOWN[choice.id][0] for choice in blind.sequence]
    assert [choice.cost for choice in blind.sequence] == paid
    assert (blind.sequence[0].adds, blind.loss_bound) == (None, None)
    assert records.settle("rand", "x", told(2, False)).spent == math.fsum(paid)


def test_a_candidate_that_costs_more_than_it_earns_is_not_tried(engine):
    make(engine, "v", policy="recommended")
    dear = asked("x", ids=["a", "b"], features=[[0.5, 0, 0]] * 2, costs=[50.0, 0.01])
    assert [choice.id for choice in engine.decide("v", dear).sequence] == ["b"]
    ranking = stored(engine, "v", "x")[0].ranking
    assert (ranking.costs.tolist(), ranking.success_values.tolist()) == ([0.01], [0.0])


def test_arrays_have_prices_in_candidates_or_beside_ids(engine):
    features = asked().features
    engine.decide("m", asked("x", costs=COSTS, values=VALUES))
    offered = [
        {"id": f"c{i}", "features": row, "cost": COSTS[i], "value": VALUES[i]}
        for i, row in enumerate(features)
    ]
    again = asked("x", ids=None, features=None, candidates=offered)
    assert engine.decide("m", again).id == "x"  # the same request in another form
    with pytest.raises(Conflict):
        engine.decide("m", asked("x", costs=COSTS, values=VALUES[::-1]))
    with pytest.raises(Conflict):
        engine.decide("m", asked("x"))


@pytest.mark.parametrize("has_prices", [True, False])
def test_a_decision_explains_itself_in_money_with_the_learned_patience(records, has_prices):
    candidates = ROUTES if has_prices else list(KNOWN)
    for name in "abc":
        records.decide("r", DecisionRequest(id=name, candidates=candidates, **PAYOFFS))
        records.settle("r", name, told(1, False))  # an early stop
    decision = records.decide("r", DecisionRequest(id="x", candidates=candidates, **PAYOFFS))
    read, (_, paid) = records.read("r", "x"), stored(records, "r", "x")
    assert read.patience < 1.0 == paid.patience  # nobody gave one
    for part in ("this try adds", f"a patience of {read.patience:.4g},", "Sums are in EUR."):
        assert part in read.explanation
    assert ("costs" in read.explanation) == has_prices
    paid = paid.patient(read.patience)
    if has_prices:
        paid = paid.priced(*zip(*(KNOWN[choice.id] for choice in decision.sequence), strict=True))
    values = paid.along(range(2)).values([choice.optimistic for choice in decision.sequence])
    assert decision.values == pytest.approx(values.tolist())


def test_a_bound_on_the_loss_is_shown_where_the_plan_may_not_be_the_best(engine):
    uneven = {"rewards": [9.0, 2.0, 1.9], "losses": [0.0, -0.1, -0.2, -0.3]}
    rng = np.random.default_rng(0)
    bounds = []
    for i, k in enumerate([3, 12, 12]):
        offered = {"ids": [f"c{j}" for j in range(k)], "features": rng.uniform(-0.5, 0.5, (k, DIM))}
        prices = {"costs": rng.uniform(0, 1, k).tolist(), "values": rng.uniform(0, 3, k).tolist()}
        offered["features"] = offered["features"].tolist()
        decision = engine.decide("m", asked(f"x{i}", **offered, **uneven, **prices))
        bounds.append(decision.loss_bound)
        shown = json.loads(msgspec.json.encode(decision))
        assert ("loss_bound" in shown) == (decision.loss_bound != 0.0)
        told_so = "No other plan is worth more" in engine.read("m", f"x{i}").explanation
        assert told_so == bool(decision.loss_bound)
    assert bounds[0] == 0.0 < max(bounds)


def test_patience_comes_from_the_request_or_from_the_model(engine):
    make(engine, "p", patience=0.5)
    assert engine.describe(engine.model("p")).patience == 0.5
    for name, more, expected in (("a", {}, 0.5), ("b", {"patience": 0.9}, 0.9)):
        decision = engine.decide("p", asked(name, **more))
        _, payoffs = stored(engine, "p", name)
        assert payoffs.patience == expected
        p = [choice.optimistic for choice in decision.sequence]
        assert decision.values == pytest.approx(payoffs.values(p).tolist())
    with pytest.raises(InvalidInput, match="patience must be"):
        engine.decide("p", asked(patience=0.0))


def test_prices_that_cannot_be_are_refused(records):
    for more, words in (
        ({"costs": [0.1] * 4}, "costs must have 5 numbers"),
        ({"costs": [-0.1] * 5}, "costs must be at least 0"),
        ({"values": [math.inf] * 5}, "values must"),
        ({"costs": [0.0, 2e12, 0.0, 0.0, 0.0]}, r"costs\[1\] must have .* at most 1e.12, got 2"),
        ({"values": [-2e12] * 5}, r"values\[0\] must have"),
    ):
        with pytest.raises(InvalidInput, match=words):
            records.decide("m", asked(**more))
    for candidate, words in (
        ({"cost": -1}, "candidate 1, field 'cost' must be a finite number of at least 0"),
        ({"cost": "much"}, "candidate 1, field 'cost'"),
        ({"value": 1e13}, "candidate 1, field 'value' must have"),
        ({"cost": 1e13}, "candidate 1, field 'cost' must have"),
    ):
        offered = [{"id": "a"}, {"id": "b", **candidate}]
        with pytest.raises(InvalidInput, match=words):
            records.decide("r", DecisionRequest(candidates=offered))
    with pytest.raises(InvalidInput, match="costs must be given along with ids"):
        records.decide("r", routed(costs=[1.0, 2.0, 3.0]))


def test_a_declared_field_of_that_name_is_a_feature_and_no_price(engine):
    schema = {"fields": {"value": "category", "cost": "number"}}
    request = msgspec.convert({"schema": schema}, ModelRequest)
    engine.create("d", request)
    offered = [{"id": "a", "value": "high", "cost": 1e15}, {"id": "b", "value": "low"}]
    decision = engine.decide("d", DecisionRequest(id="x", candidates=offered))
    assert all(one.cost is None for one in decision.sequence)


# outcomes


def test_what_the_tries_really_cost_counts_in_place_of_the_plan(engine):
    make(engine, "v", max_budget=3)
    for name in "abc":
        engine.decide("v", asked(name, costs=COSTS, values=VALUES))
    record, payoffs = stored(engine, "v", "a")
    planned, worth = record.ranking.costs.tolist(), record.ranking.success_values.tolist()
    assert len(planned) > 1
    answer = engine.settle("v", "a", told(2, True))
    assert answer.spent == math.fsum(planned[:2])
    assert answer.reward == math.fsum([0.5, worth[1], -planned[0], -planned[1]])
    expected = record.ranking.reward(payoffs, Outcome(2, True))
    assert answer.reward == pytest.approx(expected, rel=1e-15)
    answer = engine.settle("v", "b", told(2, False, costs=[0.25, 1]))
    assert (answer.spent, answer.reward) == (1.25, math.fsum([-0.2, -1.25]))
    assert answer.outcome.costs == [0.25, 1.0]
    assert engine.settle("v", "b", told(2, False, costs=[0.25, 1.0])).repeated
    for other in ({}, {"costs": [0.25, 1.5]}):
        with pytest.raises(Conflict):
            engine.settle("v", "b", told(2, False, **other))
    for costs, words in (
        ([0.1], "costs must have 2 numbers"),
        ([0.1, -1.0], r"costs\[1\] must be at least 0"),
        ([math.nan, 0.0], r"costs\[0\] must"),
        ([0.0, 1e13], r"costs\[1\] must .* at most 1e"),
    ):
        with pytest.raises(InvalidInput, match=words):
            engine.settle("v", "c", told(2, False, costs=costs))
    (item,) = engine.settle_many("v", [BatchItem(id="c", tried=1, succeeded=True, costs=[0.125])])
    assert item.spent == 0.125
    assert engine.read("v", "c").outcome.costs == [0.125]
    assert engine.latest("v").decisions[0].outcome.costs == [0.125]
    engine.decide("m", asked("x"))  # without a plan
    answer = engine.settle("m", "x", told(1, True, costs=[0.4]))
    assert (answer.reward, answer.spent, engine.model("m").stats.spent) == (0.6, 0.4, 0.4)


def test_a_policy_learns_from_real_costs_without_those_of_failures_left_out(engine, monkeypatch):
    seen = []
    model = engine.model("m")
    learn = type(model.policy).learn
    monkeypatch.setattr(
        type(model.policy), "learn", lambda self, *pair: (seen.append(pair), learn(self, *pair))
    )
    for name in "ab":
        assert len(engine.decide("m", asked(name, costs=[0.0] * 5)).sequence) == 3
    engine.settle("m", "a", told(3, False, costs=[1.0, 2.0, 3.0]))
    engine.settle("m", "b", told(3, False, costs=[1.0, 2.0, 3.0], not_attributable=[2]))
    assert [outcome.costs for _, outcome in seen] == [(1.0, 2.0, 3.0), (1.0, 3.0)]
    assert [len(ranking.costs) for ranking, _ in seen] == [3, 2]


# the log


@pytest.mark.parametrize(
    ("policy", "dim", "mode"),
    [
        ("recommended", None, "online"), ("plackett-luce", None, "shadow"),
        ("rand", None, "online"), ("recommended", DIM, "shadow"),
        ("plackett-luce", DIM, "online"), ("dep", DIM, "online"),
    ],
)  # fmt: skip
def test_every_policy_is_replayed_with_prices(engine, policy, dim, mode):
    topics = {"topics": np.eye(DIM).tolist()} if policy == "dep" else {}
    request = ModelRequest(dim=dim, policy=policy, settings=topics, max_budget=3, mode=mode)
    model, _ = engine.create("p", request)
    prices = {"costs": COSTS, "values": VALUES}
    for i in range(8):
        rows = np.abs(asked(seed=i).features).tolist()
        request = asked(f"d{i}", features=rows, baseline=["c3", "c1"], **prices)
        if dim is None:
            priced = zip(request.ids, COSTS, VALUES, strict=True)
            offered = [{"id": name, "cost": cost, "value": value} for name, cost, value in priced]
            request = DecisionRequest(id=f"d{i}", candidates=offered, baseline=["c3", "c1"])
        decision = engine.decide("p", request)
        paid = [COSTS[int(choice.id[1])] for choice in decision.sequence]
        assert [choice.cost for choice in decision.sequence] == paid
        for choice in decision.proposal.sequence if mode == "shadow" else ():
            assert choice.cost == COSTS[int(choice.id[1])]
        settled = engine.settle("p", decision.id, told(len(paid), i % 2 == 0 and bool(paid)))
        assert settled.spent == math.fsum(paid)
        assert engine.decide("p", request) == decision  # from the log
    assert fresh(engine, "p").snapshot() == model.snapshot()
    chances = [row["propensity"] for row in rows_of(engine, "p")]
    if policy in ("plackett-luce", "eps", "rand") and mode == "online":
        assert all(0.0 < chance <= 1.0 for chance in chances)


# sums


def play(engine, name, rounds):
    """Rounds with prices, real costs, sums that do not fit into a float, and missing outcomes."""
    rng = np.random.default_rng(0)
    for i in range(rounds):
        prices = {}
        if rng.random() < 0.8:
            prices["costs"] = np.round(rng.uniform(0, 0.5, 5), 2).tolist()
            prices["values"] = np.round(rng.normal(0, 10.0 ** rng.integers(-3, 9), 5), 2).tolist()
        decision = engine.decide(name, asked(f"d{i}", seed=i, **prices))
        tried = int(rng.integers(0, len(decision.sequence) + 1))
        more = {}
        if rng.random() < 0.5:
            more["costs"] = np.round(rng.uniform(0, 10.0 ** rng.integers(-6, 6), tried), 6).tolist()
        if rng.random() < 0.9:
            succeeded = bool(tried and rng.random() < 0.5)
            engine.settle(name, decision.id, told(tried, succeeded, **more))


@pytest.mark.parametrize("keep", [True, False])
def test_sums_are_those_of_the_export_and_of_a_replay_to_the_last_bit(engine, reopen, keep):
    """And every row can be recomputed from its parts: exactly, rounded once."""
    make(engine, "v", store_candidates=keep)
    play(engine, "v", 150)
    stats = engine.describe(engine.model("v")).stats
    exported = rows_of(engine, "v")
    rows = [row for row in exported if row["tried"] is not None]
    assert len(rows) == stats.outcomes
    assert stats.total_reward == math.fsum(row["reward"] for row in rows)
    assert stats.total_spent == math.fsum(row["spent"] for row in rows)
    assert float(sum(Fraction(row["reward"]) for row in rows)) == stats.total_reward
    assert stats.total_reward != sum(row["reward"] for row in rows)  # a plain sum has lost cents
    assert stats.mean_spent == stats.total_spent / stats.outcomes
    for row in exported:
        if row["planned_costs"] is not None:
            assert row["planned_costs"] == [row["costs"][i] for i in row["order"]]
            assert row["planned_values"] == [row["success_values"][i] for i in row["order"]]
            assert keep or len(row["costs"]) == max(row["order"], default=-1) + 1
    for row in rows:
        tried, costs = row["tried"], row["outcome_costs"]
        if costs is None:
            costs = (row["planned_costs"] or [0.0] * tried)[:tried]
        assert row["spent"] == float(sum(map(Fraction, costs)))
        earned = Fraction(row["losses"][tried])
        if row["succeeded"]:
            earned = Fraction(row["rewards"][tried - 1])
            earned += Fraction(row["planned_values"][tried - 1] if row["planned_values"] else 0)
        assert row["reward"] == float(earned - sum(map(Fraction, costs)))
    assert fresh(engine, "v").snapshot() == engine.model("v").snapshot()
    stats = engine.model("v").stats
    engine.close()
    assert reopen().model("v").stats == stats


def test_outcomes_that_count_expected_costs_are_counted_and_told(records, reopen):
    """Those of a candidate that has no cost, once costs were learned, unless the outcome tells."""
    offered = {"candidates": ["large", {"id": "small", "cost": 0.5}], **PAYOFFS}
    first = records.decide("r", DecisionRequest(id="a", **offered))
    assert not records.settle("r", "a", told(1, True)).estimated  # nothing is expected yet
    tried = len(first.sequence)
    for i in range(3):
        name = records.decide("r", DecisionRequest(id=f"b{i}", **offered)).id
        assert not records.settle("r", name, told(tried, False, costs=[0.25] * tried)).estimated
    last = records.decide("r", DecisionRequest(id="c", **offered))
    where = [one.id for one in last.sequence].index("large")
    assert last.sequence[where].cost not in (0.0, 0.25)
    assert records.settle("r", "c", told(where + 1, True)).estimated
    known = DecisionRequest(id="d", candidates=[{"id": "large", "cost": 0.3}], **PAYOFFS)
    records.decide("r", known)
    assert not records.settle("r", "d", told(1, True)).estimated
    stats = records.describe(records.model("r")).stats
    assert (stats.outcomes, stats.estimated) == (6, 1)
    assert [row["id"] for row in rows_of(records, "r") if row["estimated"]] == ["c"]
    assert records.read("r", "c").outcome_record.estimated
    records.close()
    assert reopen().model("r").stats.estimated == 1


def test_records_are_exported_with_their_prices(records):
    records.create("s", ModelRequest(max_budget=2, store_candidates=True))
    records.decide("s", routed("x"))
    records.settle("s", "x", told(1, True, costs=[0.07]))
    (row,) = rows_of(records, "s")
    assert json.loads(row["candidates"])[0]["cost"] == 0.3
    assert row["costs"] is None  # they are fields of the candidates
    assert len(row["planned_costs"]) == len(row["order"])
    assert row["outcome_costs"] == [0.07]
    assert row["spent"] == 0.07
    table = pq.read_table(io.BytesIO(exported(records, "r")))
    assert table.schema.metadata[b"currency"] == b"EUR"


# over HTTP


def test_the_api_and_the_client_take_and_give_prices(http):
    url = "/v1/models/r/decisions"
    assert http.put("/v1/models/r", json={"max_budget": 2, "currency": "EUR"}).status_code == 201
    body = {"id": "x", "candidates": ROUTES, **PAYOFFS, "patience": 0.9}
    decided = http.post(url, json=body).json()
    assert {"cost", "value", "adds"} <= set(decided["sequence"][0])
    tried = len(decided["sequence"])
    told_so = {"tried": tried, "succeeded": False, "costs": [0.5] * tried}
    settled = http.put(f"{url}/x/outcome", json=told_so).json()
    model = http.get("/v1/models/r").json()
    assert settled["spent"] == model["stats"]["total_spent"] == 0.5 * tried
    assert settled["reward"] == model["stats"]["total_reward"]
    assert f'longrank_model_spent{{model="r"}} {0.5 * tried}' in http.get("/metrics").text
    changed = http.put("/v1/models/r", json={"max_budget": 2, "currency": "USD"})
    assert (changed.status_code, changed.json()["currency"]) == (200, "USD")
    assert http.put("/v1/models/r", json={"max_budget": 2, "currency": "x" * 13}).status_code == 422
    wrong = {"tried": 1, "succeeded": True, "costs": [-1.0]}
    assert http.put(f"{url}/x/outcome", json=wrong).json()["parameter"] == "costs[0]"
    http.put("/v1/models/plain", json={"max_budget": 2})
    plain = http.post("/v1/models/plain/decisions", json={"candidates": ["a", "b"]}).json()
    assert "cost" not in plain["sequence"][0]
    assert "loss_bound" not in plain
    with Client(str(http.base_url), ADMIN, timeout=120.0) as client:
        client.create_model("v", dim=DIM, currency="EUR", patience=0.9)
        items, costs = np.full((3, DIM), 0.3), np.array([0.1, 0.2, 0.3])
        prices = {"costs": costs, "values": [0.0, 1.0, 2.0]}
        decision = client.decide("v", ["a", "b", "c"], items, **prices, patience=0.8, budget=2)
        assert [choice.cost for choice in decision.sequence] == [
            costs["abc".index(choice.id)] for choice in decision.sequence
        ]
        answer = client.settle("v", decision.id, tried=1, succeeded=True, costs=[0.15])
        assert (answer.spent, answer.outcome.costs) == (0.15, [0.15])
        assert (client.read("v", decision.id).patience, client.model("v").currency) == (0.8, "EUR")
