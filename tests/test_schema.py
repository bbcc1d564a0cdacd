"""Schema: how records and their context become rows."""

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from longrank import (
    Category,
    Embedding,
    InvalidInput,
    Number,
    Outcome,
    Payoffs,
    Random,
    Schema,
    Tags,
    Text,
    recommended,
)
from longrank.kernels.sparse import entry
from longrank.packing import pack, unpack
from longrank.schema import MAX_EMBEDDING, as_records, fold

PAYOFFS = Payoffs.vanilla(3)


def columns(schema, candidates, context=None):
    """Of every candidate what its row comes to: {key: number}, without zeros."""
    rows = schema.encode(candidates, context)
    keys, numbers, context = rows.arrays()
    left, right = rows.plan[:2]
    if rows.items is not None:  # the dense block has the constant
        left, right = np.append(left, 0), np.append(right, -1)
    atoms = list(zip(keys, numbers, strict=True))
    crossed = [[entry(p, left, right, *own, context) for p in range(len(left))] for own in atoms]
    dense = [(slot.name, i) for slot in rows.layout.dense for i in range(slot.numbers)]
    for row, own in zip(crossed, () if rows.items is None else rows.items, strict=False):
        row.extend(zip(dense, own, strict=True))
    return [{key: float(x) for key, x in row if x != 0.0} for row in crossed]


def column(schema, value, name="field", context=None):
    return columns(schema, [{name: value}], context)[0]


def observed(schema, candidates, context=None):
    schema.observe(schema.encode(candidates, context))
    return schema


def kinds(schema):
    return {(each["side"], each["name"]): each["kind"] for each in schema.describe()}


# -- kinds ----------------------------------------------------------------------------------------

INFERRED = {
    "category": ["visa", "", True, False, np.bool_(True), np.str_("x"), "\ud800"],
    "number": [1, 2.5, -3, 0, np.float32(1.5), np.int8(3), Decimal("1.5"), Fraction(1, 3), 10**300],
    "embedding": [[1.0, 2.0], (1, 2), np.ones(3), [True, False], [Decimal(1)]],
    "tags": [["a"], ("a", "b"), {"a", "b"}, frozenset("ab"), np.array(["a"]), ["a", "a"]],
}


@pytest.mark.parametrize("kind", INFERRED)
def test_the_kind_of_a_field_is_inferred(kind):
    for value in INFERRED[kind]:
        schema = observed(Schema(), [{"own": value}], {"shared": value})
        assert kinds(schema) == {("candidate", "own"): kind, ("context", "shared"): kind}


MISSING = [None, math.nan, np.float64("nan"), np.float32("nan"), pd.NA, pd.NaT, []]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_what_is_missing_has_no_kind_yet_and_later_a_column_of_its_own(value):
    schema = observed(Schema(), [{"id": "a", "own": value}], {"shared": value})
    assert kinds(schema) == {("candidate", "id"): "category"}
    firsts = (["a"], [1.0, 2.0]) if isinstance(value, list) else ("visa", 3.5, ["a"], [1.0, 2.0])
    for first in firsts:
        schema = observed(Schema(), [{"field": first}])
        missing = column(schema, value)
        assert missing == columns(schema, [{}])[0] == column(schema, None)
        assert first != 3.5 or missing == column(schema, Decimal("nan"))
        assert len(missing) == (3 if first == [1.0, 2.0] else 2)  # with the constant
        assert missing != column(schema, first)
        assert missing != column(schema, 0.0 if first == 3.5 else first)
    declared = observed(Schema({"f": "embedding"}), [{"f": value}, {"f": [1.0, 2.0, 2.0]}])
    assert "f: embedding of 3, declared" in str(declared)


def test_the_id_is_always_a_category_and_a_category_of_numbers_has_a_column_for_each():
    schema = observed(Schema(), [{"id": 3}, {"id": "3"}, {"id": True}, {"id": 2.5}], {"id": 7})
    assert set(kinds(schema).values()) == {"category"}
    rows = columns(schema, [{"id": 3}, {"id": 3.0}, {"id": "3"}, {"id": np.int64(3)}])
    assert rows[0] == rows[1] == rows[3] != rows[2]
    schema = observed(Schema({"mcc": "category"}), [{"mcc": 5411}])
    codes = [frozenset(column(schema, x, "mcc")) for x in (5411, 5412, "5411", 0.1, 0.2)]
    assert len(set(codes)) == 5


def test_true_is_one_and_nothing_else():
    for schema in (Schema(), Schema({"field": "category"})):
        observed(schema, [{"field": True}])
        one = column(schema, True)
        for value in (1, 1.0, np.True_, np.int8(1), Decimal(1)):
            assert column(schema, value) == one
        for value in (False, 0, 0.0, -0.0):
            assert column(schema, value) == column(schema, False) != one
        assert column(schema, "True") not in (one, column(schema, "1"))
        assert column(schema, "1") != one
    schema = observed(Schema(), [{"field": 0.5}, {"field": 7.0}])
    assert column(schema, True) == column(schema, 1.0)


def test_a_text_is_its_words_whatever_their_case_and_order():
    schema = observed(Schema({"note": "text"}), [{"note": "x"}])
    one, other = (column(schema, note, "note") for note in ("Pay LATER, pay", "later... pay"))
    assert one == other
    assert sorted(one.values()) == pytest.approx([math.sqrt(0.5)] * 2 + [1.0])
    assert column(schema, "?!", "note") == column(schema, None, "note") != one
    assert len(column(schema, " ".join(map(str, range(100))), "note")) == 65


def test_tags_are_a_set():
    schema = observed(Schema(), [{"field": ["x"]}])
    one = column(schema, ["a", "b", "a"])
    assert one == column(schema, ("b", "a")) == column(schema, {"a", "b"})
    assert one != column(schema, ["a"])
    assert len(column(schema, [str(i) for i in range(64)])) == 65


def test_an_embedding_is_scaled_by_the_norms_before_it():
    schema = Schema()
    first = schema.encode([{"field": [3.0, 4.0]}], {})
    np.testing.assert_allclose(first.numbers[0, 1:], [0.6, 0.8])
    assert first.raw.tolist() == [[5.0]]
    schema.observe(first)
    observed(schema, [{"field": [0.0, 15.0]}, {"field": None}, {"field": [10.0, 0.0]}])
    rows = schema.encode([{"field": [3.0, 4.0]}, {"field": [0.0, 0.0]}, {"field": [1e90, 0]}], {})
    np.testing.assert_allclose(rows.numbers[:, 1:], [[0.3, 0.4], [0.0, 0.0], [10.0, 0.0]])


@pytest.mark.parametrize("at", [0, 1, 9, 500, 1000])
def test_one_enormous_embedding_does_not_silence_its_field(at):
    vectors = np.random.default_rng(1).normal(size=(1001, 4))
    usual, schema = Schema(), Schema()
    for vector in np.delete(vectors, at, axis=0):
        observed(usual, [{"field": vector}])
    vectors[at] *= 1e12
    for vector in vectors:
        rows = schema.encode([{"field": vector}], {})
        assert np.linalg.norm(rows.numbers[0, 1:]) <= 10.0 + 1e-9
        schema.observe(rows)
    one, other = (each.encode([{"field": [1.0] * 4}], {}).numbers[0, 1] for each in (usual, schema))
    assert other == pytest.approx(one, rel=0.05)


@pytest.mark.parametrize("enormous", [1e12, 1e300, 1e-300])
def test_one_enormous_number_does_not_silence_its_field(enormous):
    numbers = np.random.default_rng(1).lognormal(size=100)
    for kind in ("number", Number(log=True)):
        spreads = []
        for seen in (numbers, np.insert(numbers, 50, enormous)):
            schema = Schema({"field": kind})
            for number in seen:
                observed(schema, [{"field": number}])
            small, large = schema.encode([{"field": 0.5}, {"field": 2.0}], {}).numbers[:, 1]
            spreads.append(large - small)
        assert spreads[1] > 0.5 * spreads[0] > 0.0


def test_a_long_embedding_is_folded_and_keeps_inner_products_in_the_mean():
    rng = np.random.default_rng(1)
    one = rng.normal(size=2000)
    other = one + 0.1 * rng.normal(size=2000)
    found = fold(one) @ fold(other) / (one @ other)
    assert 0.8 < found < 1.2
    rows = Schema().encode([{"field": one}, {"field": other.tolist()}], {})
    assert rows.layout.candidate[0].width == MAX_EMBEDDING


# -- refusals -------------------------------------------------------------------------------------

FIRST = {"text": "eu", "flag": True, "number": 2.5, "vector": [1.0, 2.0], "tags": ["a", "b"]}
KNOWN = "as declared or as in earlier outcomes"
REFUSED = [
    ("number", "12", f"be a number, {KNOWN}, got '12'"),
    ("number", [1.0], rf"be a number, {KNOWN}, got \[1\.0\]"),
    ("number", [1.0, 2.0], rf"be a number, {KNOWN}, got \[1\.0, 2\.0\]"),
    ("number", bytearray(b"ab"), f"be a number, {KNOWN}, got bytearray.*"),
    ("number", {"a": 1}, rf"be a number, {KNOWN}, got \{{'a': 1\}}"),
    ("number", np.complex128(1j), f"be a number, {KNOWN}, got .*"),
    ("number", np.timedelta64(1, "s"), f"be a number, {KNOWN}, got .*"),
    ("number", math.inf, "be finite, got inf"),
    ("number", 10**400, r"be within the range of a float, got 10+\.\.\."),
    ("number", 10**5000, "be within the range of a float, got a very large int"),
    ("text", 5, f"be text or a boolean, {KNOWN}, got 5"),
    ("text", 0.5, rf"be text or a boolean, {KNOWN}, got 0\.5"),
    ("text", ["a"], rf"be text or a boolean, {KNOWN}, got \['a'\]"),
    ("text", b"eu", f"be text or a boolean, {KNOWN}, got b'eu'"),
    ("text", Decimal("snan"), f"be text or a boolean, {KNOWN}, got .*"),
    ("flag", 2, f"be text or a boolean, {KNOWN}, got 2"),
    ("vector", [1.0], "have 2 numbers, got 1"),
    ("vector", [1.0, 2.0, 3.0], "have 2 numbers, got 3"),
    ("vector", ["a", "b"], f"be a list of numbers, {KNOWN}, got .*"),
    ("vector", [1.0, math.nan], r"hold numbers of at most 1e\+100, got \[1\.0, nan\]"),
    ("vector", [1e200, 1.0], r"hold numbers of at most 1e\+100, got \[1e\+200, 1\.0\]"),
    ("vector", 1.0, rf"be a list of numbers, {KNOWN}, got 1\.0"),
    ("tags", ["a", 1], rf"be a list of text, {KNOWN}, got \['a', 1\]"),
    ("tags", "a", f"be a list of text, {KNOWN}, got 'a'"),
    ("tags", [f"{i}" for i in range(65)], "hold at most 64 tags, got 65"),
    ("new", {"a": 1}, r"be text, a number, a boolean, a list of numbers or of text, or None.*"),
    ("new", b"x", r"be text, a number, a boolean, a list of numbers or of text, or None, got .*"),
    ("new", [[1.0]], r"be text, a number, a boolean, a list of numbers or of text, or None.*"),
    ("new", {1.0}, r"be text, a number, a boolean, a list of numbers or of text, or None, got .*"),
    ("new", 1j, r"be text, a number, a boolean, a list of numbers or of text, or None, got 1j"),
]


@pytest.mark.parametrize("side", ["candidate", "context"])
def test_another_type_is_refused_in_one_sentence_and_changes_nothing(side):
    policy = recommended()
    ranking = policy.rank([{"id": "a"} | FIRST, {"id": "b"}], PAYOFFS, context=dict(FIRST))
    policy.learn(ranking, Outcome(1, True))
    before = policy.to_bytes()
    for name, value, message in REFUSED:
        where = "candidate 1" if side == "candidate" else "context"
        candidates = [{"id": "a"}, {"id": "b"} | ({name: value} if side == "candidate" else {})]
        context = {name: value} if side == "context" else None
        with pytest.raises(InvalidInput, match=rf"^{where}, field '{name}' must {message}$"):
            policy.rank(candidates, PAYOFFS, context=context)
        assert policy.to_bytes() == before
    policy.rank([{"id": "a"} | FIRST], PAYOFFS, context=FIRST)


def test_a_declared_category_and_the_id_take_numbers_and_a_logarithm_none_of_nothing():
    policy = recommended(schema=Schema({"mcc": "category", "fee": Number(log=True)}))
    records = [{"id": 1, "mcc": 5411}, {"id": 2, "mcc": 5812}, {"id": "1", "mcc": "5411"}]
    for _ in range(2):
        policy.learn(policy.rank(records, PAYOFFS), Outcome(1, True))
    assert set(kinds(policy.schema).values()) == {"category"}
    assert len({column for row in columns(policy.schema, records) for column in row}) == 7
    for name in ("mcc", "id"):
        for value in ([5411], math.inf, b"x"):
            with pytest.raises(InvalidInput, match=rf"field '{name}' must be text, a number or a"):
                policy.rank([{"id": "a", name: value}], PAYOFFS)
    for fee in (0.0, -1.0):
        with pytest.raises(InvalidInput, match=r"^candidate 1, field 'fee' must be above 0 for"):
            policy.rank([{"id": "a"}, {"fee": fee}], PAYOFFS)


# -- crosses --------------------------------------------------------------------------------------

CANDIDATES = [{"id": "a", "region": "eu"}, {"id": "b", "region": "us"}]
CONTEXT = {"brand": "visa", "country": "DE"}


def test_another_context_moves_only_the_crosses_and_an_ignored_field_nothing():
    schema = Schema()
    one = columns(schema, CANDIDATES, CONTEXT)
    other = columns(schema, CANDIDATES, CONTEXT | {"brand": "amex"})
    without = columns(schema, CANDIDATES)
    for i in (0, 1):
        shared = one[i].keys() & other[i].keys()
        assert without[i].keys() < shared < one[i].keys()
    assert one[0].keys() & one[1].keys() <= columns(schema, [{}], CONTEXT)[0].keys()
    schema = Schema(ignore=["trace", "brand"])
    odd = [each | {"trace": object()} for each in CANDIDATES]
    assert columns(schema, odd, CONTEXT) == columns(Schema(), CANDIDATES, {"country": "DE"})
    assert "trace" not in {each["name"] for each in observed(schema, odd, CONTEXT).describe()}


def test_declared_crosses_take_the_place_of_the_default_in_either_order_each_once():
    rows = Schema().encode([{"region": "eu", "id": "a"}], CONTEXT)
    pairs = [(one, other) for one in ("id", "region") for other in ("brand", "country")]
    assert [pair for pair in Schema().crosses(rows.layout) if pair[0] is not None] == pairs
    twice = [("brand", "id"), ("id", "brand"), ("id", "region"), ("region", "id"), ("id", "id")]
    for declared in ([("brand", "id"), ("id", "region")], twice):
        schema = Schema(cross=declared)
        with pytest.warns(UserWarning, match="crosses 'country' of the context with no field"):
            rows = schema.encode(CANDIDATES, CONTEXT)
        assert schema.crosses(rows.layout) == [("id", "brand"), ("id", "region")]
        assert len(rows.plan.left) == 5  # with the constant and both fields
    own = Schema(cross=[("id", "region")])
    assert len(columns(own, CANDIDATES)[0]) == 4
    assert not columns(own, CANDIDATES)[0].keys() <= columns(Schema(), CANDIDATES)[0].keys()
    with pytest.warns(UserWarning, match=r"^the schema crosses 'brand', 'country' .* they "):
        Schema(cross=[]).encode(CANDIDATES, CONTEXT)
    useful = Schema(cross=[("id", "brand"), ("id", "country")])
    useful.encode([], CONTEXT)  # warnings are errors here
    useful.encode(CANDIDATES, CONTEXT)


def test_crosses_beyond_the_bound_are_left_out_and_shown():
    many, context = {f"f{i:02}": "x" for i in range(40)}, {f"c{i:02}": "y" for i in range(40)}
    schema = observed(Schema(), [{"id": "a"} | many], context)
    rows = schema.encode([{"id": "a"} | many], context)
    assert 1000 < len(rows.plan.left) <= 1024
    crossed = schema.crosses()
    assert {("id", name) for name in context} <= set(crossed)  # the most useful are kept
    left_out = 41 * 40 - len([pair for pair in crossed if pair[0] is not None])
    assert f"\n  not crossed, beyond 1,024 entries a row: {left_out} pairs" in str(schema)


def test_printing_shows_what_was_seen_declared_ignored_and_crossed():
    schema = Schema({"amount": Number(log=True), "mcc": "category"}, ignore=["trace"])
    assert schema.fields == {"amount": Number(log=True), "mcc": Category()}
    shown = str(schema)
    assert shown.startswith("Schema: no field seen yet\n")
    assert "  amount: number (log), declared\n  mcc: category, declared" in shown
    for amount in (None, 10.0, 20.0, 30.0):  # a field joins once it has a value
        observed(schema, [{"id": "a", "vector": [1.0, 2.0]}, {"id": "b"}], {"amount": amount})
    shown = str(schema)
    assert "  candidate id: category\n" in shown
    assert "  candidate vector: embedding of 2\n" in shown
    assert "  context amount: number (log), declared, 12 to 28 (median 20)\n" in shown
    assert "  mcc: category, declared\n  ignored: trace\n  crossed: " in shown
    assert "id x amount" in shown
    assert repr(schema) == (
        "Schema({'amount': Number(log=True), 'mcc': Category()}, ignore=['trace'])"
    )
    names = {"c": "text", "d": Tags(), "e": "embedding"}
    assert Schema(names).fields == {"c": Text(), "d": Tags(), "e": Embedding()}
    known = {"id": "a", "tags": ["x"], "v": [1.0, 2.0]}
    schema = observed(Schema(), [known], known)
    for new in ({"region": "eu"}, {"fee": 2.0}):  # in the place of a list
        record = {"id": "a", "tags": ["x"], **new}
        layout = schema.encode([record], record).layout
        assert all(next(iter(new)) in {slot.name for slot in side} for side in layout[:2])


# -- the same columns -----------------------------------------------------------------------------

RECORD = {"id": "a", "region": "eu", "fee": 0.5, "tags": ["x", "y"], "vector": [1.0, 2.0]}


def test_neither_the_order_of_keys_nor_equal_values_of_other_types_matter():
    turned, context = dict(reversed(RECORD.items())), dict(reversed(CONTEXT.items()))
    assert columns(Schema(), [RECORD], CONTEXT) == columns(Schema(), [turned], context)
    known = observed(Schema(), [RECORD], CONTEXT)
    mixed = columns(known, [turned, RECORD, turned], context)
    assert mixed[0] == mixed[1] == mixed[2] == columns(known, [RECORD], CONTEXT)[0]
    schema = observed(Schema(), [{"id": Decimal(1)}], {"x": True})
    assert columns(schema, [{"id": np.int64(1)}]) == columns(schema, [{"id": 1}])
    expected = columns(schema, [{"id": "a"}], {"x": True})
    for value in (Decimal(1), np.int64(1)):
        assert columns(schema, [{"id": "a"}], {"x": value}) == expected


def test_a_field_is_the_same_whoever_else_is_there_and_another_by_another_name_or_side():
    alone = columns(Schema(), [{"id": "a"}])[0]
    assert alone.keys() <= columns(Schema(), [RECORD], CONTEXT)[0].keys()
    late = observed(Schema(), [{"fee": 1.0}])
    assert alone.keys() <= columns(late, [{"id": "a"}])[0].keys()
    assert columns(Schema(), [{"x": "a"}]) != columns(Schema(), [{"y": "a"}])
    rows = Schema().encode([{"x": "a"}], {"x": "a"})
    assert rows.keys[0, 1] != rows.context_keys[0]


CODE = """
from longrank import Schema
rows = Schema().encode([{"id": "a", "tags": {"x", "y", "z"}, "live": True, "fee": 3}], {"b": "ü"})
print(rows.keys.tolist(), rows.numbers.tolist(), rows.context_keys.tolist(), rows.plan.groups)
"""


def test_columns_are_the_same_in_another_process():
    said = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


# -- frames, names, callers -----------------------------------------------------------------------

TABLE = {
    "id": ["a", "b", "c"],
    "fee": [0.5, None, 2.0],
    "count": [1, 2, 3],
    "region": ["eu", None, "us"],
    "live": [True, False, True],
}
LIST = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
FRAMES = {
    "pandas": lambda: pd.DataFrame(TABLE),
    "pandas nullable": lambda: pd.DataFrame(TABLE).convert_dtypes(),
    "pandas categories": lambda: pd.DataFrame(TABLE).astype({"id": "category"}),
    "pandas by index": lambda: pd.DataFrame(TABLE, index=[7, 8, 9]),
    "pandas by id": lambda: pd.DataFrame(TABLE).set_index("id"),
    "polars": lambda: pl.DataFrame(TABLE),
    "pyarrow": lambda: pa.table(TABLE),
    "pyarrow batch": lambda: pa.RecordBatch.from_pydict(TABLE),
    "tuple": lambda: tuple(LIST),
    "mappings": lambda: [pd.Series(each).to_dict() for each in LIST],
}


@pytest.mark.parametrize("form", FRAMES)
def test_a_frame_is_a_list_of_dictionaries(form):
    frame, policy = FRAMES[form](), recommended()
    assert columns(Schema(), as_records(frame), CONTEXT) == columns(Schema(), LIST, CONTEXT)
    ranking = policy.propose(frame, PAYOFFS, context=CONTEXT)
    expected = policy.propose(LIST, PAYOFFS, context=CONTEXT)
    assert ranking.features == expected.features
    assert ranking.ids == expected.ids
    assert Random(rng=1).rank(frame, PAYOFFS).ids == Random(rng=1).rank(LIST, PAYOFFS).ids


def test_a_frame_of_numbers_with_an_id_has_names_and_a_plain_name_is_an_id():
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        items = frame({"id": [70, 80], "fee": [1, 2]})
        for policy in (Random(rng=1), recommended()):
            assert sorted(policy.rank(items, PAYOFFS).ids) == [70, 80]
    mixed = ["a", {"id": "b", "fee": 1.0}, "c"]
    whole = [{"id": "a"}, {"id": "b", "fee": 1.0}, {"id": "c"}]
    assert columns(Schema(), as_records(mixed)) == columns(Schema(), whole)
    assert sorted(recommended().rank(["x", "y"], PAYOFFS).ids) == ["x", "y"]


def test_callers_may_change_their_dictionaries_which_encoding_leaves_alone():
    policy = recommended()
    candidates = [{"id": "a", "region": "eu", "tags": ["y", "x"]}, {"id": "b", "tags": ["y"]}]
    context = {"brand": "visa", "words": ["p", "q"]}
    for _ in range(3):
        ranking = policy.rank(candidates, PAYOFFS, context=context)
        policy.learn(ranking, Outcome(1, True))
    ranking = policy.rank(candidates, PAYOFFS, context=context)
    before, rows = ranking.to_bytes(), columns(policy.schema, candidates, context)
    state = pack(policy.schema.state())
    policy.schema.encode([*candidates, {"new": 1.0}], context | {"also": "new"})
    assert pack(policy.schema.state()) == state
    assert candidates[0] == {"id": "a", "region": "eu", "tags": ["y", "x"]}
    candidates[0]["region"], context["brand"] = "us", "amex"
    candidates[0]["tags"].append("z")
    context["words"].clear()
    changed = columns(policy.schema, candidates, context)
    assert changed[0] != rows[0]
    assert changed == columns(Schema.from_state(policy.schema.state()), candidates, context)
    for amount in range(100):  # nor does what is learned reach back into receipts
        later = policy.rank(candidates, PAYOFFS, context={"amount": float(amount)})
        policy.learn(later, Outcome(1, False))
    assert ranking.to_bytes() == before


def test_many_values_and_many_shapes_are_encoded_as_the_first_were():
    schema = observed(Schema(), [{"id": "x", "f0": 1.0}], CONTEXT)
    first = columns(schema, [{"id": "a", "f0": 1.0}], CONTEXT)
    for start in range(0, 30_000, 1000):
        schema.encode([{"id": str(start + i), "f0": 2.0} for i in range(1000)], CONTEXT)
    shapes = [{"id": "a"} | {f"f{i}": 1.0, f"f{i + 1}": None} for i in range(250)]
    rows = schema.encode(shapes + [dict(reversed(each.items())) for each in shapes], CONTEXT)
    np.testing.assert_array_equal(rows.keys[:250], rows.keys[250:])
    for again in ({"id": "a", "f0": 1.0}, {"f0": 1.0, "id": "a"}):
        assert columns(schema, [again], CONTEXT) == first
    assert columns(Schema.from_state(schema.state()), [{"f0": 1.0, "id": "a"}], CONTEXT) == first


def test_what_is_remembered_of_long_values_is_bounded():
    schema = observed(Schema({"note": Text()}), [{"id": "a", "note": "x"}])
    coder = schema.sides["candidate"]._coder
    for i in range(40):
        asked = [{"id": f"{i}" + "x" * 1_000_000, "note": f"{i}" + "y" * 1_000_000}]
        first = columns(schema, asked)
        assert columns(schema, asked) == first
    kept = [text for codes in coder._values.values() for text in codes]
    kept += [text for lookup in coder._book.lookups.values() for text in lookup]
    assert sum(map(len, kept)) < 20_000_000


def test_embeddings_and_entries_beyond_the_bounds_are_left_out_and_do_not_join():
    one, other = ({f"{n}{i}": [1.0] * 256 for i in range(3)} for n in "ab")
    schema = Schema()
    receipts = [schema.encode([each], {}) for each in (one, other)]
    for rows in receipts:
        schema.observe(rows)
    rows = schema.encode([one | other], {})
    assert [field.name for field in rows.layout.candidate] == ["a0", "a1", "a2", "b0"]
    assert schema.left_out_fields() == [("candidate", "b1"), ("candidate", "b2")]
    assert "1,024 numbers of embeddings: candidate b1, candidate b2" in str(schema)
    rows = schema.encode([{"id": "a", "tags": [f"{i}" for i in range(64)]}], {"brand": "visa"})
    assert len(rows.plan.left) <= 1024
    observed(schema, [{f"n{i:03}": 1.0 for i in range(200)}])
    assert "not used by themselves, beyond 1,024 entries a row: b0" in str(schema)


@pytest.mark.parametrize("side", ["candidate", "context"])
def test_fields_beyond_the_bound_are_left_out_and_the_rest_goes_on(side):
    policy = recommended(schema=Schema({"fee": "number", "brand": "category"}))

    def rank(fields):
        mine = fields if side == "candidate" else {}
        shared = {"brand": "visa"} | (fields if side == "context" else {})
        candidates = [mine | {"id": name, "fee": 1.0} for name in "ab"]
        return policy.rank(candidates, PAYOFFS, context=shared)

    policy.learn(rank({f"junk{i}": i for i in range(300)}), Outcome(1, True))
    policy.learn(rank({f"more{i}": "x" for i in range(300)}), Outcome(1, True))
    known = {name for where, name in kinds(policy.schema) if where == side}
    assert len(known) <= 256
    assert known >= ({"id", "fee"} if side == "candidate" else {"brand"})
    left_out = policy.schema.left_out_fields()
    assert len(left_out) == 256
    assert left_out[-1] == (side, "more299")
    assert f"beyond 256 fields or 1,024 numbers of embeddings: {side} more" in str(policy.schema)
    rank({"more0": {"not": "read"}})
    rows = policy.schema.encode([{"id": "a", "fee": 2.0}], {"brand": "new"})
    assert ("id", "brand") in rows.plan.names


def test_threads_may_encode_at_the_same_time():
    schema = observed(Schema(), [{"id": "x", "fee": 1.0}], CONTEXT)
    interval = sys.getswitchinterval()

    def encode(k):
        found = []
        for t in range(60):
            asked = [{"id": f"{k % 2}-{50 * t + i}", "fee": 1.0} for i in range(50)]
            found.append((asked, schema.encode(asked, CONTEXT).keys))
        return found

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = [each for some in pool.map(encode, range(4)) for each in some]
    finally:
        sys.setswitchinterval(interval)
    alone = Schema.from_state(schema.state())
    for asked, keys in answers:
        np.testing.assert_array_equal(keys, alone.encode(asked, CONTEXT).keys)


# -- what was learned -----------------------------------------------------------------------------


def taught(schema, rounds=50):
    rng = np.random.default_rng(2)
    for t in range(rounds):
        record = {"id": f"{t % 7}", "fee": float(rng.lognormal()), "vector": rng.normal(size=2)}
        observed(schema, [record, {"id": "x"}], {"amount": float(rng.lognormal(3, 2))})
    return schema


def test_a_schema_comes_back_from_its_state_and_goes_on_and_what_was_taken_of_it_stays():
    fields = {"amount": Number(log=True), "note": Text()}
    schema = taught(Schema(fields, cross=[("id", "amount")], ignore=["trace"]))
    state, view = schema.saved(), schema.view()
    before, again = pack(state), Schema.from_state(unpack(pack(state)))
    asked = [{"fee": 2.0, "id": "3", "vector": [0.1, 0.2]}], {"amount": 5.0}
    rows = columns(view, *asked)
    assert (repr(again), str(again)) == (repr(schema), str(schema))
    for _ in range(2):
        assert pack(again.saved()) == pack(schema.saved())
        assert columns(again, *asked) == columns(schema, *asked)
        for each in (schema, again):
            observed(taught(each, 400), [{"id": "a", "late": 3.0}])
    assert pack(state) == pack(view.saved()) == before
    assert columns(view, *asked) == rows != columns(schema, *asked)


def test_a_receipt_of_another_schema_teaches_only_what_fits():
    schema = observed(Schema({"fee": Number(log=True)}), [{"fee": 2.0, "x": "text"}])
    before = kinds(schema)
    schema.observe(Schema().encode([{"fee": -5.0, "x": 3.0, "new": "a"}, {"fee": 4.0}], {}))
    assert kinds(schema) == before | {("candidate", "new"): "category"}
    assert "fee: number (log), declared, 2.2 to 3.8 (median 3)" in str(schema)
    number = observed(Schema(), [{"v": 2.0}])
    number.observe(Schema().encode([{"v": [30.0, 40.0]}], {}))
    assert "v: number, 2 to 2" in str(number)
    vector = observed(Schema(), [{"v": [3.0, 4.0]}])
    vector.observe(Schema().encode([{"v": 1e6}], {}))
    rows = vector.encode([{"v": [3.0, 4.0]}], {})
    np.testing.assert_allclose(rows.numbers[0, 1:], [0.6, 0.8])
    schema = Schema({"x": Number(), "v": Embedding(), "c": "category"})
    schema.observe(Schema().encode([{"x": "text", "v": "text", "c": 3.0}], {"x": "text"}))
    assert kinds(schema) == {}
    observed(schema, [{"y": 5.0, "x": 1.0, "v": [1.0, 2.0], "c": 3}], {"x": 2.0})
    assert "candidate x: number, declared, 1 to 1" in str(schema)
    assert "context x: number, declared, 2 to 2" in str(schema)
