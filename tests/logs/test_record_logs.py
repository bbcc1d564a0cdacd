"""Logs of records: names and contexts in, the same policies and estimates out."""

import re
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import FORMS, call, written
from typer.testing import CliRunner

from longrank import (
    Blocks,
    InvalidInput,
    Number,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Schema,
    cli,
    packing,
    recommended,
)
from longrank.logs import BadLog, History, check, evaluate, fit, learn_from, record, report, write

PAYOFFS = Payoffs.linear(3, attempt_cost=0.1, give_up=-0.2)
ROUTES = [
    {"id": "adyen", "region": "eu", "fee": 0.1, "tags": ["fast", "3ds"]},
    {"id": "stripe", "region": "us", "fee": 0.2},
    {"id": "worldpay", "fee": None, "vector": [0.5, 1.5]},
    {"id": "checkout", "region": "eu", "fee": 0.4, "tags": []},
]


def chance(seed=0):
    return PlackettLuce(Blocks(), temperature=1.0, rng=seed)


def lived(policy, rounds=40, *, learns=True, seed=0):
    """Let a policy decide about payments; returns the log."""
    rng, rows = np.random.default_rng(seed), []
    for t in range(rounds):
        brand = str(rng.choice(["visa", "amex"]))
        context = {"brand": brand, "amount": float(rng.lognormal()), "new": bool(t % 3)}
        if t % 5 == 0:
            context["note"] = None
        candidates = [ROUTES[i] for i in rng.permutation(4)[: rng.integers(2, 5)]]
        ranking = policy.rank(candidates, PAYOFFS, context=context)
        chances = None
        if isinstance(policy, PlackettLuce | Random):
            chances = policy.propensities(candidates, PAYOFFS, ranking.order, context=context)
        good = [(brand == "visa") == (name in ("adyen", "stripe")) for name in ranking.ids]
        hits = np.flatnonzero(rng.random(len(good)) < np.where(good, 0.8, 0.2))
        outcome = Outcome(int(hits[0]) + 1, True) if len(hits) else Outcome(len(good), False)
        if learns:
            policy.learn(ranking, outcome)
        row = record(
            t, ranking, outcome, PAYOFFS, candidates=candidates, context=context, time=t,
            propensities=chances,
        )  # fmt: skip
        rows.append(row)
    return rows


def state(policy):
    return packing.pack({"learner": policy.learner.saved(), "features": policy.features.saved()})


@pytest.mark.parametrize("form", FORMS)
def test_a_warm_start_from_records_gives_the_state_of_learning_online(form, tmp_path):
    online = recommended()
    rows = lived(online)
    history = History(FORMS[form](rows, tmp_path))
    assert check(history).problems == []
    for learn in (lambda policy: policy.learn_from(history), lambda p: learn_from(p, history)):
        policy = recommended()
        assert learn(policy) == 40
        assert state(policy) == state(online)


def test_a_warm_start_from_arrays_with_a_context_gives_the_state_of_learning_online():
    for dim in (None, 3):
        online, rng, rows = recommended(dim=dim), np.random.default_rng(0), []
        for t in range(30):
            given = {"context": {"brand": "visa"} if t % 3 else None}  # arrays stay arrays
            items, outcome = rng.normal(size=(5, 3)), Outcome(1, t % 2 == 0)
            ranking = online.rank(items, PAYOFFS, **given)
            online.learn(ranking, outcome)
            rows.append(record(t, ranking, outcome, PAYOFFS, items=items, **given))
        policy = recommended(dim=dim)
        assert learn_from(policy, History(rows)) == 30
        assert state(policy) == state(online)


def own_columns(rows):
    """The same log as somebody else would have written it."""
    return [
        {
            "payment": f"p{row['id']}",
            "routes": row["candidates"],
            "chosen": [row["candidates"][i]["id"] for i in row["order"]],
            "tries": row["tried"],
            "paid": row["succeeded"],
            "chance": row["propensity"],
            **{name: row["context"].get(name) for name in ("brand", "amount", "new")},
        }
        for row in rows
    ]


OWN = {"id": "payment", "candidates": "routes", "ids": "chosen", "tried": "tries"}
OWN |= {"succeeded": "paid", "propensity": "chance"}


@pytest.mark.parametrize("form", ["parquet", "jsonl", "pandas", "polars"])
def test_a_frame_with_columns_of_its_own_is_a_log_as_it_is(form, tmp_path):
    online = chance()
    rows = [row | {"time": None} for row in lived(online)]
    data = FORMS[form](own_columns(rows), tmp_path)
    history = History(data, columns=OWN, payoffs=PAYOFFS)
    found = check(history)
    assert (found.problems, found.ignored) == ([], ())
    assert found.fields == ("brand", "amount", "new")
    policy = chance()
    assert learn_from(policy, history) == 40
    assert state(policy) == state(online)
    for row, decision in zip(rows, history.decisions(), strict=True):
        assert decision.order.tolist() == row["order"]
        assert decision.payoffs == PAYOFFS
        assert decision.context == {k: v for k, v in row["context"].items() if k != "note"}
    some = History(data, columns=OWN, context=["brand"])
    assert next(some.decisions()).context.keys() == {"brand"}
    assert check(some).ignored == ("amount", "new")


@pytest.mark.parametrize("form", ["polars", "pyarrow", "parquet"])
def test_structs_are_read_as_they_are_and_equal_ones_are_one_object(form, tmp_path, monkeypatch):
    monkeypatch.setattr("longrank.logs.formats.BATCH", 16)
    rng, names = np.random.default_rng(0), ["a", "b", None]
    rows = [
        {
            "id": t,
            "candidates": [
                {"id": f"r{i}", "fee": rng.choice([0.5, 1.5]), "tag": names[i % 3]}
                for i in range(rng.integers(0, 5))
            ],
            "order": [],
            "tried": 0,
            "succeeded": False,
            "brand": names[t % 3],
        }
        for t in range(40)
    ]
    frame = pl.DataFrame(rows)
    data = {"polars": frame[3:], "pyarrow": frame[3:].to_arrow(), "parquet": tmp_path / "l.parquet"}
    frame[3:].write_parquet(tmp_path / "l.parquet")
    found = list(History(data[form]).decisions())
    assert [decision.candidates for decision in found] == [row["candidates"] for row in rows[3:]]
    assert [d.context for d in found] == [{"brand": row["brand"]} for row in rows[3:]]
    first = [record for decision in found[:16] for record in decision.candidates]
    assert len({id(record) for record in first}) == len({str(record) for record in first})


NUMBERED = {"id": 1, "candidates": [{"id": 2}, {"id": 0}, {"id": 1}], "succeeded": True}


@pytest.mark.parametrize(
    ("played", "order", "warned"),
    [
        ({"order": [0, 1], "tried": 2}, [0, 1], True),
        ({"tried": [2, 1]}, [2, 1], True),
        ({"order": [2], "tried": 1, "candidates": [2, 0, 1]}, [2], True),
        ({"ids": [2, 1], "tried": 2}, [0, 2], False),
        ({"order": [0, 1], "ids": [2, 0], "tried": 2}, [0, 1], False),
        ({"order": [0, 1], "tried": 2, "candidates": [{"id": i} for i in (7, 8)]}, [0, 1], False),
        ({"order": [1, 0], "tried": 2, "candidates": [{"id": i} for i in (0, 1)]}, [1, 0], False),
        ({"order": [1, 0], "tried": 2, "candidates": ["1", "0"]}, [1, 0], False),
        ({"ids": [30, 10], "tried": 2, "candidates": [10, 20, 30]}, [2, 0], False),
        ({"order": [2, 0], "tried": 2, "candidates": [10, 20, 30]}, [2, 0], False),
        ({"ids": [30, 10], "tried": [30], "candidates": [10, 20, 30]}, [2, 0], False),
        ({"order": [2, 0], "tried": [2], "candidates": [10, 20, 30]}, [2, 0], False),
        ({"tried": ["b", "a"], "candidates": ["a", "b"]}, [1, 0], False),
    ],
)
def test_what_was_played_is_named_by_position_or_id_and_doubt_is_told_once(played, order, warned):
    history = History([NUMBERED | played, NUMBERED | played | {"id": 2}])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [each.order.tolist() for each in history.decisions()] == [order] * 2
        assert len(list(history.decisions())) == 2
        decision = next(history.decisions())
    tried, candidates = played["tried"], (NUMBERED | played)["candidates"]
    assert decision.outcome == Outcome(tried if isinstance(tried, int) else len(tried), True)
    assert decision.candidates == [c if isinstance(c, dict) else {"id": c} for c in candidates]
    assert len(caught) == warned
    for each in caught:
        assert re.search(r"row 1: the whole .* are read as positions .* 'ids'", str(each.message))


def test_a_ranking_of_whole_numbers_is_recorded_with_its_ids(tmp_path):
    policy, candidates = recommended(rng=0), [{"id": i} for i in (2, 0, 1)]
    ranking = policy.rank(candidates, PAYOFFS)
    row = record("a", ranking, Outcome(1, True), PAYOFFS, candidates=candidates)
    assert row["ids"] == ranking.ids
    for form in ("jsonl", "csv", "parquet"):
        write(tmp_path / f"log.{form}", [row])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            [decision] = History(tmp_path / f"log.{form}").decisions()
        assert decision.order.tolist() == ranking.order.tolist()


def test_columns_that_are_not_there_or_twice_are_refused():
    rows = own_columns(lived(chance(), 3))
    for wrong, rule in (
        ({"columns": {"payment": "id"}}, "columns must have keys among id"),
        (
            {"columns": {"id": "order_id"}},
            "^columns must name columns of the log, which are payment, .*, got 'order_id'$",
        ),
        ({"context": ["shop"]}, "context must name columns of the log, .*payment, .* 'shop'"),
    ):
        with pytest.raises(InvalidInput, match=rule):
            History(rows, **wrong)
    named = [{"id": row["payment"], **row} for row in rows]  # the log has the format's name as well
    with pytest.raises(InvalidInput, match=r"^columns must name columns of the log, .*'order_id'$"):
        History(named, columns={"id": "order_id"})
    with pytest.raises(InvalidInput, match="not name another column 'id', which the log has"):
        History([row | {"id": 1} for row in rows], columns={"id": "payment"})


MALFORMED = {
    # name: (what the second row has instead, the column, a part of the rule)
    "no list": ({"candidates": 3}, "candidates", "be a list"),
    "no JSON": ({"candidates": "[adyen"}, "candidates", "be a list of records or names, or JSON"),
    "no record": ({"candidates": [{"id": "a"}, 7]}, "candidate 1", "be a dictionary or a name"),
    "no own id": ({"candidates": [{"id": "a"}] * 2}, "candidates", "have unique ids"),
    "no name": ({"candidates": [1.5]}, "candidates", "be texts or whole numbers"),
    "missing": ({"candidates": None}, "candidates", "be present where items are missing"),
    "a context of text": ({"context": "visa"}, "context", "be a dictionary, or JSON text"),
    "a context of lists": ({"context": [1]}, "context", "be a dictionary"),
    "an unknown id": ({"ids": ["paypal"], "order": None}, "ids", "hold ids of the candidates"),
    "an id of lists": ({"ids": [["x"]], "order": None}, "ids", "hold ids of the candidates"),
    "an id of two": (
        {"candidates": [{"id": 1}, {}], "ids": [1], "order": None},  # the second is named 1 as well
        "ids",
        "hold ids that name one candidate",
    ),
    "an id twice": ({"order": ["adyen", "adyen"]}, "order", "hold no candidate twice"),
    "a position beyond": ({"order": [0, 4]}, "order", "indices below 2"),
    "tried something else": ({"tried": [0]}, "tried", "be the first of order"),
    "a number in words": (
        {"candidates": [{"id": "adyen"}, {"id": "stripe", "fee": "high"}]},
        "candidate 1, field 'fee'",
        "be a number, as declared or as in earlier outcomes",
    ),
    "a text as a number": ({"context": {"brand": 7}}, "context, field 'brand'", "be text"),
    "a nested value": (
        {"context": {"card": {"brand": "visa"}}},
        "context, field 'card'",
        "be text, a number, a boolean",
    ),
    "an infinite number": ({"context": {"amount": np.inf}}, "context, field 'amount'", "be finite"),
    "too few costs": ({"costs": [0.1]}, "costs", "be 2, as many as candidates"),
    "a cost below 0": ({"costs": [0.1, -1.0]}, "costs", "be at least 0"),
    "a value in words": ({"success_values": ["a", 0.0]}, "success_values", "numbers"),
    "costs no list": ({"costs": 0.5}, "costs", "be a list"),
    "few bills": ({"outcome_costs": [0.1]}, "outcome_costs", "have 0 numbers, one for each try"),
    "a credit": ({"tried": 1, "outcome_costs": [-0.1]}, "outcome_costs", "be at least 0"),
    "prices twice": (
        {"costs": [0.0] * 2, "candidates": [{"id": "a", "cost": 0.1}, {"id": "b"}]},
        "payoffs",
        "have no costs and values of their",
    ),
    "a price in words": (
        {"candidates": [{"id": "a", "cost": "high"}, {"id": "b"}]},
        "candidate 0, field 'cost'",
        "be a finite number of at least 0: the cost of a try",
    ),
}


def test_malformed_records_are_reported_and_teach_nothing():
    def sound(t):
        routes = [{"id": "adyen", "fee": 0.1}, {"id": "stripe", "fee": 0.2}]
        return {"id": t, "candidates": routes, "order": [1, 0], "tried": 1, "succeeded": True} | {
            "context": {"brand": "visa", "amount": 3.5}
        }

    policy = recommended()
    for values, column, rule in MALFORMED.values():
        rows = [sound(1), {**sound(2), "tried": 0, "succeeded": False, **values}, sound(3)]
        problems = check(History(rows, payoffs=PAYOFFS)).problems
        assert any(p.row == 2 and p.column == column and rule in p.rule for p in problems), problems
        with pytest.raises(BadLog):
            learn_from(policy, History(rows, payoffs=PAYOFFS))
    assert policy.to_bytes() == recommended().to_bytes()


def test_what_a_policy_cannot_take_is_refused_before_it_learns():
    rows = lived(recommended(), 3)
    policy = recommended(schema=Schema({"amount": Number(log=True)}))
    before = policy.to_bytes()
    last = rows[-1] | {"context": {**rows[-1]["context"], "amount": -1.0}}
    with pytest.raises(
        InvalidInput, match="row 3: context, field 'amount' must be above 0 for its"
    ):
        learn_from(policy, [*rows[:-1], last])
    assert policy.to_bytes() == before
    with pytest.raises(InvalidInput, match=r"row 1: candidates must be an array of 2 numbers"):
        learn_from(recommended(dim=2), rows)
    arrays = [{"id": 1, "items": [[0.5], [0.1]], "order": [1], "tried": 1, "succeeded": True}]
    learn_from(policy, rows)
    with pytest.raises(InvalidInput, match=r"row 1: candidates must be records, as those that it"):
        learn_from(policy, arrays)
    ranking, outcome = next(iter(History(rows)))
    assert ranking.ids == [rows[0]["candidates"][i]["id"] for i in rows[0]["order"]]
    with pytest.raises(InvalidInput, match="ranking must have rows to learn from"):
        recommended().learn(ranking, outcome)


def test_a_ranking_of_records_is_recorded_with_its_candidates():
    ranking = recommended().rank(pl.DataFrame({"id": ["a", "b"], "n": [1, 2]}), PAYOFFS)
    frame = pl.DataFrame({"id": ["a", "b"], "n": [1, 2]})
    row = record(1, ranking, Outcome(0, False), PAYOFFS, candidates=frame, context={"x": 1})
    assert row["candidates"] == [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
    assert "features" not in row
    for candidates, rule in ((None, "be given where they are records"), (3, "be records or ids")):
        with pytest.raises(InvalidInput, match=rule):
            record(1, ranking, Outcome(0, False), PAYOFFS, candidates=candidates)


def test_the_policy_that_made_a_log_is_worth_what_it_earned(tmp_path):
    policy = chance()
    lived(policy, 60)
    rows = lived(policy, 240, learns=False, seed=1)
    path = written(tmp_path / "log.parquet", rows)
    found = {e.estimator: e for e in evaluate(path, {"same": policy}, resamples=20)}
    mean = found["mean reward"].value
    for estimator in ("importance sampling", "importance sampling, self-normalised"):
        assert found[estimator].value == pytest.approx(mean, abs=1e-9)
    assert found["doubly robust"].value == pytest.approx(mean, abs=0.05)
    assert found["model"].value == pytest.approx(mean, abs=0.2)


def test_an_outcome_model_of_records_sees_the_context():
    history = History(lived(Random(rng=0), 400, learns=False)).keep()
    model = fit(history)
    tried = sum(decision.outcome.tried for decision in history.decisions())
    assert len(model.predictions.predicted) == len(model.predictions.succeeded) == tried
    gaps = []
    for decision in history.part(200).decisions():
        visa = decision.context["brand"] == "visa"
        ids = [each["id"] for each in decision.candidates]
        good = [visa == (name in ("adyen", "stripe")) for name in ids]
        chances = model.predict(decision)
        if 0 < sum(good) < len(good):
            gaps.append(chances[good].min() - chances[[not one for one in good]].max())
    assert np.mean(np.array(gaps) > 0.0) > 0.95


def test_a_report_and_the_commands_take_records(tmp_path):
    rows = own_columns(lived(chance(), 60))
    path = tmp_path / "log.parquet"
    pl.DataFrame(rows).write_parquet(path)
    history = History(path, columns=OWN, payoffs=PAYOFFS)
    assert report(history, {"x": recommended()}, tmp_path / "page.html").exists()
    columns = ["--columns", ",".join(f"{name}={own}" for name, own in OWN.items())]
    output = call("logs", "check", path, *columns)
    assert "context: brand, amount, new" in output
    assert "bounds │ no" in " ".join(output.split())
    worth = ("--payoffs", "budget=3,attempt_cost=0.1,give_up=-0.2")
    output = call("logs", "check", path, *columns, *worth)
    assert "bounds │ yes" in " ".join(output.split())
    call("logs", "check", path, *columns, "--payoffs", "budget=1,attempt_cost=0.1", code=1)
    policy = ("--policy", "recommended", "--every")
    assert "doubly robust" in call("evaluate", path, *columns, *worth, *policy)
    for words, rule in (
        ((*worth, "--policy", "ind"), "policy must be one for records, such as recommended"),
        (("--payoffs", "3", "--policy", "rand"), "payoffs must be of the form name=value"),
        (("--payoffs", "budget=3", "--policy", "rand"), "have budget and attempt_cost"),
    ):
        error = CliRunner().invoke(cli.app, ["evaluate", str(path), *columns, *words]).exception
        assert isinstance(error, InvalidInput)
        assert rule in str(error)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
    st.lists(st.one_of(st.floats(), st.text(max_size=2)), max_size=2),
    st.dictionaries(st.text(max_size=1), st.none(), max_size=1),
)  # fmt: skip
RECORDS = st.dictionaries(st.sampled_from(["id", "a", "b", "é", ""]), VALUES, max_size=3)
ROWS = st.fixed_dictionaries(
    {
        "candidates": st.one_of(VALUES, st.lists(st.one_of(RECORDS, VALUES), max_size=3)),
        "tried": st.one_of(st.integers(0, 2), st.lists(VALUES, max_size=2)),
        "succeeded": st.booleans(),
    },
    optional={
        "context": st.one_of(VALUES, RECORDS),
        "order": st.lists(st.one_of(st.integers(0, 2), VALUES), max_size=2),
        "ids": st.lists(VALUES, max_size=2),
    },
)


@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:.* are read as positions")
@given(st.lists(ROWS, min_size=1, max_size=3))
def test_whatever_a_log_of_records_holds_it_is_read_or_refused(rows):
    rows = [row | {"id": i} for i, row in enumerate(rows)]
    policy = recommended()
    before = policy.to_bytes()
    problems = check(rows).problems
    try:
        learn_from(policy, rows)
        assert not problems
    except (BadLog, InvalidInput):
        assert policy.to_bytes() == before


FIELDS = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
RECORD = st.dictionaries(st.text(max_size=2), FIELDS, max_size=3)


@settings(max_examples=20, deadline=None)
@given(records=st.lists(RECORD, min_size=1, max_size=3))
def test_any_record_comes_back_from_every_file(records, tmp_path_factory):
    row = {"id": 1, "candidates": records, "order": [0], "tried": 1, "succeeded": True}
    row["context"] = records[0]
    folder = tmp_path_factory.mktemp("files")
    for ending in ("parquet", "csv", "jsonl"):
        path = written(folder / f"log.{ending}", [row])
        for read in History(path).read():
            if not isinstance(read, list):  # fields of two kinds
                [decision] = read
                assert decision.candidates == records
                assert decision.context == records[0]


def test_what_a_schema_declares_holds_for_a_log():
    schema = Schema({"mcc": "category"}, ignore=["trace"])
    contexts = [{"mcc": 5411, "trace": {"any": "thing"}}, {"mcc": "A1", "trace": 3}]
    log = [
        {"id": i, "candidates": ["a", "b"], "ids": ["a"], "tried": 1, "succeeded": True}
        | {"context": context}
        for i, context in enumerate(contexts)
    ]
    online, offline = (recommended(schema=Schema(schema.fields, ignore=["trace"])) for _ in "ab")
    for context in contexts:
        receipt = online.receipt(["a", "b"], PAYOFFS, [0], context=context)
        online.learn(receipt, Outcome(1, True))
    assert learn_from(offline, log) == 2
    assert offline.to_bytes() == online.to_bytes()
    history = History(log, schema=schema, payoffs=PAYOFFS)
    assert check(history).problems == []
    assert fit(history).schema.ignore == {"trace"}
    assert [problem.row for problem in check(log).problems] == [1]
