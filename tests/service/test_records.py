"""Records: models without dim, whose candidates have named fields and share a context."""

import hashlib
import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import count
from uuid import UUID

import msgspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import ADMIN, DIM, asked, exported, fresh, told

from longrank import Number, Outcome, Payoffs, Schema, recommended
from longrank.errors import InvalidInput
from longrank.logs import check, learn_from
from longrank.packing import pack
from longrank.policies import from_bytes
from longrank.service import Client, Engine, messages
from longrank.service.client import CallFailed
from longrank.service.engine import decide
from longrank.service.engine.model import generator
from longrank.service.errors import Conflict, Unknown
from longrank.service.messages import DecisionRequest, ModelRequest, OutcomeRequest
from longrank.service.store.store import open_store

ROUTES = [{"id": "adyen", "region": "eu"}, {"id": "stripe", "region": "us", "fee": 0.3}, "worldpay"]
VISA = {"brand": "visa", "amount": 120.0}
PAYOFFS = {"rewards": [1.0, 0.9], "losses": [0.0, -0.1, -0.2]}
DECISIONS = "/v1/models/m/decisions"


def routed(name: str | None = None, **more) -> DecisionRequest:
    return DecisionRequest(id=name, **{"candidates": ROUTES, "context": VISA, **PAYOFFS, **more})


def payment(i: int) -> DecisionRequest:
    """A round whose fields come and go, with amounts of any size."""
    rng = np.random.default_rng(i)
    context = {"brand": str(rng.choice(["visa", "mc", "amex"])), "amount": float(rng.pareto(1.2))}
    if i > 20:
        context["tags"] = [f"t{n}" for n in rng.integers(9, size=2)]
    routes = [{"id": f"r{n}", "region": f"g{n % 3}"} for n in rng.permutation(9)[:5]]
    if i > 10:
        routes[0]["fee"] = float(rng.random())
    return routed(f"p{i}", candidates=routes, context=context)


def play(engine: Engine, rounds: range, model: str = "m") -> None:
    """Play rounds, and report their outcomes four rounds later."""
    lengths = {}
    for i in rounds:
        lengths[i] = len(engine.decide(model, payment(i)).sequence)
        if i - 4 in lengths and lengths[i - 4]:
            engine.settle(model, f"p{i - 4}", told(1, i % 3 == 0))


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """The seed of every model."""
    monkeypatch.setattr("longrank.service.engine.catalog.secrets.randbits", lambda _: 7)


@pytest.fixture
def engine(path, clock):
    with Engine(open_store(str(path)), clock=clock) as engine:
        engine.create("m", ModelRequest())
        yield engine


def names(answer) -> list[str]:
    return [choice.id for choice in answer.sequence]


# deciding and learning


def test_the_answer_names_candidates_and_what_spoke_for_and_against_them(engine):
    for i in range(40):
        answer = engine.decide("m", routed(f"d{i}"))
        if answer.sequence:
            engine.settle("m", f"d{i}", told(1, names(answer)[0] == "stripe"))
    answer = engine.decide("m", routed("last"))
    assert names(answer)[0] == "stripe"
    first = answer.sequence[0]
    assert first.estimate > 0.7
    assert {"id=stripe", "brand=visa"} <= {reason.field for reason in first.reasons}
    assert sum(reason.log_odds for reason in first.reasons) > 0
    read = engine.read("m", "last")
    assert read.sequence == answer.sequence
    assert read.context == VISA
    assert "stripe" in read.explanation
    assert "brand=visa" in read.explanation


def test_a_plain_name_is_a_record_with_an_id_and_one_without_is_named_by_its_position(engine):
    answer = engine.decide("m", routed("x", candidates=["a", "b"]))
    assert engine.decide("m", routed("x", candidates=[{"id": "a"}, {"id": "b"}])) == answer
    for other in (["a", "c"], VISA), (["a", "b"], {"brand": "mc"}):
        with pytest.raises(Conflict):
            engine.decide("m", routed("x", candidates=other[0], context=other[1]))
    unnamed = engine.decide("m", routed(candidates=[{"region": "eu"}, {"id": 7}]))
    assert set(names(unnamed)) <= {"0", "7"}
    assert names(unnamed)


def test_attempts_and_what_is_not_attributable_may_be_told_by_name(engine):
    def settled(name, **outcome):
        return engine.settle("m", name, OutcomeRequest(**outcome))

    for name in "xz":
        first, second = sequence = names(engine.decide("m", routed(name)))
    done = settled("z", tried=sequence, succeeded=False, not_attributable=[second])
    assert (done.outcome.tried, done.not_attributable, done.learned) == (2, [2], True)
    assert settled("z", tried=2, succeeded=False, not_attributable=[2]).repeated
    first, second = names(engine.read("m", "x"))
    for parameter, outcome in (
        ("tried must name the first candidates", {"tried": [second], "succeeded": False}),
        ("not_attrib", {"tried": [first], "succeeded": False, "not_attributable": ["nobody"]}),
        ("not_attrib", {"tried": [first], "succeeded": True, "not_attributable": [first]}),
    ):
        with pytest.raises(InvalidInput, match=parameter):
            settled("x", **outcome)
    assert settled("x", tried=[first], succeeded=True).outcome == messages.Observed(1, True)


def test_in_shadow_mode_the_baseline_is_learned_from_and_the_proposal_has_reasons(engine):
    engine.create("m", ModelRequest(mode="shadow"))
    for i in range(20):
        answer = engine.decide("m", routed(f"d{i}", baseline=["worldpay", "adyen"]))
        assert names(answer) == ["worldpay", "adyen"]
        assert engine.settle("m", f"d{i}", told(1, True)).learned
    later = engine.decide("m", routed("y", baseline=["worldpay", "adyen"]))
    assert later.proposal.sequence[0].id == "worldpay"
    assert later.proposal.sequence[0].reasons
    assert fresh(engine).state_hash() == engine.model("m").state_hash()


@pytest.mark.parametrize(
    ("where", "policy"),
    [
        ("sqlite", "recommended"), ("sqlite", "thompson"), ("sqlite", "plackett-luce"),
        pytest.param("postgres", "recommended", marks=pytest.mark.postgres),
    ],
    indirect=["where"],
)  # fmt: skip
def test_every_state_is_that_of_the_library_and_of_a_replay(where, clock, policy):
    """Bit for bit: in both stores, after a restart, from snapshots and from the beginning."""
    with Engine(open_store(where), clock=clock, snapshot_every=7) as engine:
        engine.create("m", ModelRequest(policy=policy, max_budget=5))
        own = from_bytes(engine.model("m").snapshot().policy)
        seed = engine.model("m").spec.seed
        play(engine, range(30))
        engine.follow()
        hashes = [engine.model("m").state_hash(), fresh(engine).state_hash()]
        rows = engine.store.oldest(engine.model("m").number, 0, 100)
    receipts = {}
    for entry in sorted((entry for row in rows for entry in row if entry), key=lambda e: e.seq):
        receipt = receipts.get(entry.id)
        if receipt is None:
            request = payment(int(entry.id[1:]))
            receipts[entry.id] = receipt = own.propose(
                request.candidates,
                Payoffs(request.rewards, request.losses),
                context=request.context,
                rng=generator(seed, entry.id),
            )
            own.record_decision(receipt)
            if engine.store.exclusive:
                assert entry.decision().ranking.order.tolist() == receipt.order.tolist()
        elif entry.outcome().learn:
            outcome = entry.outcome()
            own.learn(receipt, Outcome(outcome.tried, outcome.succeeded))
    if engine.store.exclusive:  # otherwise a process may rank from a state that is a moment old
        hashes.append(hashlib.sha256(own.to_bytes()).hexdigest())
    with Engine(open_store(where), clock=clock) as engine:
        hashes.append(engine.model("m").state_hash())
        play(engine, range(30, 36))
    assert len(set(hashes)) == 1


@pytest.mark.parametrize(
    "contexts",
    [
        ({"x": 3.0}, {"x": "three"}),
        ({"y": [1.0, 2.0]}, {"y": [1.0, 2.0, 3.0]}),
        ({"z": ["a"]}, {"z": "a"}),
        ({f"f0_{j}": 1.0 for j in range(200)}, {f"f1_{j}": 1.0 for j in range(200)}),
    ],
    ids=["kind", "length", "tags", "too many"],
)
def test_an_outcome_that_comes_later_cannot_stop_a_model(engine, contexts):
    """Two decisions wait that disagree about a field: the first that is learned from is right."""
    for i, context in enumerate(contexts):
        engine.decide("m", routed(f"d{i}", context=context))
    for i in range(2):
        assert engine.settle("m", f"d{i}", told(1, True)).learned
    model, (first, second) = engine.model("m"), contexts
    assert model.version == 2
    assert engine.decide("m", routed(context=first)).sequence
    if len(first) > 1:  # only the fields that fit are used
        assert engine.decide("m", routed(context={**second, "new": 1})).sequence
        assert ("context", "new") in engine.schema(model).left_out
    else:
        with pytest.raises(InvalidInput, match="must"):
            engine.decide("m", routed(context={**second, "new": 1}))
    assert engine.broken is None


def test_threads_may_decide_at_the_same_time(engine):
    """Though what a schema remembers of records is full at times, and begun anew."""

    def offered(i):
        return [f"c{i}-{j}" for j in range(1000)]

    def decide(i):
        return engine.decide("m", routed(f"t{i}", candidates=offered(i)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(decide, range(40)))
    model, payoffs = engine.model("m"), Payoffs(**PAYOFFS)
    for i in range(40):
        record = engine.store.find(model.number, f"t{i}")[0].decision()
        alone = model.policy.receipt(offered(i), payoffs, record.played.order, context=VISA)
        assert record.ranking.features == alone.features


# models and their schema


DECLARED = {
    "fields": {"amount": {"kind": "number", "log": True}, "mcc": "category"},
    "cross": [["id", "brand"], ["id", "amount"], ["region", "mcc"]],
    "ignore": ["trace"],
}


@pytest.mark.filterwarnings("ignore:the schema crosses")
def test_the_schema_is_readable_as_it_was_declared_and_as_it_was_inferred(http):
    made = http.put("/v1/models/m", json={"schema": DECLARED})
    assert (made.status_code, made.json()["dim"]) == (201, 0)
    assert http.put("/v1/models/m", json={"schema": DECLARED}).status_code == 200
    assert http.put("/v1/models/m", json={}).status_code == 409
    before = http.get("/v1/models/m/schema").json()
    assert (before["fields"], before["columns"]["used"]) == ([], 0)
    assert before["declared"]["amount"] == {"kind": "number", "log": True}
    body = msgspec.to_builtins(routed("x"))
    body["context"] |= {"mcc": 5411, "trace": {"any": ["thing"]}}
    assert http.post(DECISIONS, json=body).status_code == 201
    told = {"tried": 1, "succeeded": True}
    assert http.put(f"{DECISIONS}/x/outcome", json=told).status_code == 200
    after = http.get("/v1/models/m/schema").json()
    fields = {(field["side"], field["name"]): field for field in after["fields"]}
    assert fields["candidate", "id"]["kind"] == fields["context", "mcc"]["kind"] == "category"
    assert ("context", "trace") not in fields
    amount = fields["context", "amount"]
    assert (amount["low"], amount["median"], amount["high"]) == (120.0, 120.0, 120.0)
    assert {tuple(pair) for pair in after["crossed"]} == set(map(tuple, DECLARED["cross"]))
    assert (after["ignored"], after["not_crossed"], after["idle"]) == (["trace"], 0, [])
    assert 0 < after["columns"]["used"] <= after["columns"]["limit"] == 1 << 18
    assert after["columns"]["replaced"] == 0
    assert http.get(f"{DECISIONS}/x").json()["context"]["trace"] == {"any": ["thing"]}
    http.put("/v1/models/c", json={"schema": {"cross": [["id", "brand"]]}})
    http.post("/v1/models/c/decisions", json=msgspec.to_builtins(routed("x")))
    http.put("/v1/models/c/decisions/x/outcome", json=told)
    assert http.get("/v1/models/c/schema").json()["idle"] == ["amount"]  # it changes nothing


REFUSED = [
    ({"policy": "ind"}, "dim"),
    ({"policy": "oracle", "settings": {"weights": [0.1]}}, "dim"),
    ({"dim": 3, "schema": {}}, "schema"),
    ({"policy": "rand", "schema": {}}, "schema"),
    ({"settings": {"schema": {}}}, "settings"),
    ({"schema": {"fields": {"a": "nothing"}}}, "schema.fields.a"),
    ({"schema": {"fields": {"a": {"kind": "text", "log": True}}}}, "schema.fields.a.log"),
    ({"schema": {"fields": {"a": {"kind": "text", "more": 1}}}}, "schema.fields[...].more"),
    ({"schema": {"cross": [["a"]]}}, "schema.cross[0]"),
    ({"schema": {"ignore": "trace"}}, "schema.ignore"),
    ({"schema": {"fields": {f"f{i}": "text" for i in range(300)}}}, "schema.fields"),
]


def test_a_model_that_cannot_be_is_refused(http):
    for wanted, parameter in REFUSED:
        answer = http.put("/v1/models/m", json=wanted)
        assert (answer.status_code, answer.json()["parameter"]) == (422, parameter)
    assert http.get("/v1/models").json()["models"] == []


def test_models_with_dim_go_on_beside_those_without(engine):
    engine.create("v", ModelRequest(dim=DIM))
    assert engine.decide("v", asked("x")).sequence[0].reasons == []
    with pytest.raises(InvalidInput, match="context must be left out"):
        engine.decide("v", asked(context=VISA))
    with pytest.raises(InvalidInput, match=r"candidates\[0\].*3 features"):
        engine.decide("v", routed(context=None))
    with pytest.raises(InvalidInput, match="this model takes records: send `candidates`"):
        engine.decide("m", asked())
    with pytest.raises(InvalidInput, match="candidate 0 must be an object or a name"):
        engine.decide("m", routed(candidates=[messages.Candidate("a", [0.1])]))
    engine.create("r", ModelRequest(policy="rand"))  # it does not learn, but names candidates
    answer = engine.decide("r", routed("x"))
    assert names(answer)[0] in engine.read("r", "x").explanation
    assert engine.settle("r", "x", told()).learned
    for name in "vr":
        with pytest.raises(Unknown, match="has no schema"):
            engine.schema(engine.model(name))


# what is stored


def test_a_decision_takes_little_room_and_no_more_than_is_allowed(engine, monkeypatch):
    fields = {f"f{i}": f"value-{i}" for i in range(12)}
    context = {f"c{i}": float(i) for i in range(8)}
    candidates = [{"id": f"route-{i}", **fields} for i in range(100)]
    engine.decide("m", routed("x", candidates=candidates, context=context))
    body = engine.store.find(engine.model("m").number, "x")[0].body
    assert len(body) < 2500
    monkeypatch.setattr(decide, "MAX_ROWS", 500)
    with pytest.raises(InvalidInput, match="rows of at most 500 bytes"):
        engine.decide("m", routed("y", candidates=candidates, context=context))


def test_an_export_has_the_context_and_all_candidates_where_they_are_stored(engine, monkeypatch):
    for keep in (False, True):
        name = f"export-{keep}"
        engine.create(name, ModelRequest(store_candidates=keep))
        engine.decide(name, routed("x"))
        engine.settle(name, "x", told())
        (row,) = pq.read_table(io.BytesIO(exported(engine, name))).to_pylist()
        assert json.loads(row["context"]) == VISA
        assert (row["features"], row["items"], row["learned"]) == (None, None, True)
        offered = [{"id": each} if isinstance(each, str) else each for each in ROUTES]
        assert (row["candidates"] and json.loads(row["candidates"])) == (offered if keep else None)
        assert row["sequence"] == [["adyen", "stripe", "worldpay"][i] for i in row["order"]]
        with monkeypatch.context() as patch:  # JSON Lines need no pyarrow
            patch.setitem(sys.modules, "pyarrow", None)
            patch.setitem(sys.modules, "pyarrow.parquet", None)
            (line,) = map(json.loads, exported(engine, name, "jsonl").splitlines())
        assert (line["id"], line["context"], line["candidates"]) == (
            *("x", VISA), offered if keep else None,
        )  # fmt: skip


def test_an_export_is_a_log_that_teaches_what_the_model_learned(engine, folder):
    model, _ = engine.create("log", ModelRequest(policy="plackett-luce", store_candidates=True))
    first = model.snapshot().policy
    for i in range(30):
        if engine.decide("log", payment(i)).sequence:
            engine.settle("log", f"p{i}", told(1, i % 3 == 0))
    for format in ("parquet", "jsonl"):
        log, learner = folder / f"log.{format}", from_bytes(first)
        log.write_bytes(exported(engine, "log", format))
        checked = check(log)
        assert checked.problems == []
        assert {each.name for each in checked.abilities if not each.possible} <= {"replay"}
        assert learn_from(learner, log) == model.stats.learned
        for part in ("learner", "features"):
            assert pack(learner.state()[part]) == pack(model.policy.state()[part])


# what is refused

LONG = "x" * 5000
HOSTILE = {
    "nested": ({"id": "a", "x": {"y": 1}}, "candidates[1].x"),
    "a mixed list": ({"id": "a", "x": [1, "b"]}, "candidates[1].x"),
    "a large number": ({"id": "a", "x": 10**400}, "candidates[1].x"),
    "a long text": ({"id": "a", "x": LONG}, "candidates[1].x"),
    "large numbers in a list": ({"id": "a", "x": [1e300, 1e300]}, "candidates[1].x"),
    "a long name": ({"id": "a", LONG: 1}, "the name of a field"),
    "a long id": ({"id": "a" * 300}, "candidates[1].id"),
    "an id that is a list": ({"id": ["a"]}, "candidates[1].id"),
    "an id that is a large number": ({"id": 10**30}, "candidates[1].id"),
    "the same id": ({"id": "known"}, "candidates"),
    "the id that another shows": ({"id": 0}, "candidates"),
    "a number": (7, "candidates[1]"),
}


def test_nothing_that_is_sent_is_answered_with_a_5xx_or_changes_anything(http):
    http.put("/v1/models/m", json={})
    before = http.get("/v1/models/m").json()
    for what, (candidate, parameter) in HOSTILE.items():
        offered = [{"id": "known"}, candidate, {"id": "0"}]
        answer = http.post(DECISIONS, json={"candidates": offered})
        assert (answer.status_code, answer.json()["parameter"]) == (422, parameter), what
        if parameter == "candidates[1].x":
            answer = http.post(DECISIONS, json={"candidates": ["a"], "context": candidate})
            assert (answer.status_code, answer.json()["parameter"]) == (422, "context.x"), what
    deep = b'{"candidates":[{"id":"a","x":%s}]}'
    kind = {"Content-Type": "application/json"}
    for depth in (500, 990, 5000):
        content = deep % (b"[" * depth + b"]" * depth)
        answer = http.post(DECISIONS, content=content, headers=kind)
        assert answer.status_code in (400, 422), depth
    for literal in (b"NaN", b"1e999", b"-Infinity", b"1" * 5000, b'"\\ud800"', b'"\xff"'):
        answer = http.post(DECISIONS, content=deep % literal, headers=kind)
        assert 400 <= answer.status_code < 500, literal
    for body in ({"candidates": ["a"], "context": [1]}, {"context": {}}, {"candidates": {"a": 1}}):
        assert http.post(DECISIONS, json=body).status_code == 422
    odd = {"candidates": [{"id": "a", "x": msgspec.msgpack.Ext(5, b"odd")}]}
    head = {"Content-Type": "application/msgpack"}
    content = msgspec.msgpack.encode(odd)
    assert http.post(DECISIONS, content=content, headers=head).status_code == 422
    after = http.get("/v1/models/m").json()
    assert (before["state_hash"], 0) == (after["state_hash"], after["stats"]["decisions"])


KEYS = st.sampled_from(["id", "a", "b", ""]) | st.text(max_size=4)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**63, 2**64, 10**400, -(10**30), 1e308, -0.0])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=4)


def test_any_json_is_answered_or_refused_and_what_is_refused_changes_nothing(engine):
    decoder, model = msgspec.json.Decoder(DecisionRequest), engine.model("m")
    numbers, answered = count(), []

    @given(st.lists(RECORDS | st.text(max_size=3), max_size=4), RECORDS)
    @settings(max_examples=150, derandomize=True, deadline=None, database=None)
    def any_json(candidates, context):
        body = {"id": f"d{next(numbers)}", "candidates": candidates, "context": context}
        before = model.policy.to_bytes(), model.stats.decisions
        try:
            answer = engine.decide("m", decoder.decode(json.dumps(body)))
        except (InvalidInput, msgspec.ValidationError):
            assert before == (model.policy.to_bytes(), model.stats.decisions)
            return
        msgspec.json.encode(answer)
        answered.append(answer)
        if answer.sequence:
            assert engine.settle("m", answer.id, told(1, len(answered) % 2 == 0)).learned

    any_json()
    assert len(answered) > 20
    assert fresh(engine).state_hash() == model.state_hash()


def test_few_candidates_may_have_many_fields_and_extremes_but_all_together_not_too_many(engine):
    wide = {f"f{i}": [f"t{j}" for j in range(60)] for i in range(200)}
    assert engine.decide("m", routed(candidates=[{"id": "a", **wide}, {"id": "b"}])).sequence
    engine.create("other", ModelRequest())
    many = [{"id": "a", **wide}, *(f"c{i}" for i in range(400))]
    with pytest.raises(InvalidInput, match="values together"):
        engine.decide("other", routed(candidates=many))
    extremes = {"a": 1e308, "b": -5e-324, "c": 2**64, "d": True, "e": None, "": "", "id": "x"}
    odd = {"id": "\u2028\U0001f600", "x\x1fy": "\x00"}
    answer = engine.decide("other", routed("x", candidates=[odd, {}], context=extremes))
    assert engine.settle("other", "x", told(len(answer.sequence), False)).learned
    assert engine.read("other", "x").context == extremes
    assert fresh(engine, "other").state_hash() == engine.model("other").state_hash()


# the client


def test_the_client_sends_records_names_frames_and_the_declaration_of_a_schema(http):
    frame = pd.DataFrame({"id": ["a", "b"], "fee": [1.0, np.nan], "n": [1, 2]})
    exact = {"amount": Decimal("3.00"), "tip": Decimal("0.50")}
    with Client(str(http.base_url), ADMIN, timeout=120.0, retries=0) as client:
        schema = Schema({"amount": Number(log=True), "mcc": "category"}, ignore=["trace"])
        assert client.create_model("m", schema=schema).key
        sent = client.schema("m")
        declared = {name: (field.kind, field.log) for name, field in sent.declared.items()}
        assert declared == {"amount": ("number", True), "mcc": ("category", False)}
        assert sent.ignored == ["trace"]
        for wrong, parameter in (({"schema": {"fields": 3}}, "schema.fields"), ({"d": 3}, "d")):
            with pytest.raises(InvalidInput) as refused:
                client.create_model("n", **wrong)
            assert refused.value.parameter == parameter
        answer = client.decide("m", candidates=ROUTES, context=VISA, **PAYOFFS)
        assert set(names(answer)) <= {"adyen", "stripe", "worldpay"}
        assert client.settle("m", answer.id, tried=names(answer), succeeded=True).learned
        amount = {"amount": np.float64(3.0)}
        assert client.decide("m", candidates=frame, context=amount, **PAYOFFS).sequence
        answer = client.decide("m", candidates=["a"], context=exact, **PAYOFFS)
        assert client.settle("m", answer.id, tried=1, succeeded=True).learned
        kinds = {field.name: field.kind for field in client.schema("m").fields}
        assert kinds["tip"] == "number"
        assert set(kinds) >= {"id", "brand", "amount"}
        rule = (
            r"^context\.amount must be a number, as declared or as in earlier outcomes, got 'much'"
        )
        before = client.model("m").state_hash
        with pytest.raises(CallFailed, match=rule) as caught:
            client.decide("m", candidates=["a"], context={"amount": "much"})
        assert (caught.value.status, client.model("m").state_hash) == (422, before)
        with pytest.raises(InvalidInput, match="candidates must be a list of dictionaries"):
            client.decide("m", candidates=np.ones((2, 2)))


ODD = {
    "datetime": datetime(2026, 1, 2, tzinfo=UTC), "date": date(2026, 1, 2), "time": time(1),
    "duration": timedelta(1), "timestamp": pd.Timestamp("2026-01-02"),
    "numpy's": np.datetime64("2026-01-02"), "uuid": UUID(int=1), "bytes": b"x",
    "nested": {"a": 1}, "dates": [date(2026, 1, 2)], "decimal": Decimal("1.5"),
    "fraction": Fraction(1, 2), "set": {"a", "b"}, "tuple": (1, 2.5), "missing": pd.NaT,
    "array": np.ones(2), "whole": np.int64(3),
}  # fmt: skip


def test_the_client_takes_and_refuses_what_the_library_does(http):
    def decide_and_settle(candidates, context):
        answer = client.decide(model, candidates=candidates, context=context, **PAYOFFS)
        client.settle(model, answer.id, tried=1, succeeded=True)  # so that it does not give up

    def rank_and_learn(candidates, context):
        ranking = policy.rank(candidates, Payoffs(**PAYOFFS), context=context)
        policy.learn(ranking, Outcome(1, True))

    def refusal(call, *args):
        try:
            call(*args)
        except InvalidInput as error:
            return str(error)
        return None

    def fields(described):
        return {(field["side"], field["name"], field["kind"]) for field in described}

    with Client(str(http.base_url), ADMIN, timeout=120.0, retries=0) as client:
        for i, what in enumerate(ODD):
            model, policy, odd = f"m{i}", recommended(), {"x": ODD[what]}
            client.create_model(model)
            for round_ in (([{"id": "a"}, odd], {}), (["a"], odd)):
                assert refusal(decide_and_settle, *round_) == refusal(rank_and_learn, *round_), what
            shared = [field for field in policy.schema.describe() if field["side"] == "context"]
            known = map(msgspec.to_builtins, client.schema(model).fields)
            assert fields(known) >= fields(shared), what
        with pytest.raises(InvalidInput, match="whole numbers of at most 64 bits"):
            client.decide("m0", candidates=["a"], context={"n": 2**70})
