"""Long bodies are decoded in pieces, and give what they give as a whole."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine import candidates
from longrank.service.http import body, pieces
from longrank.service.http.problems import Refused

RECORDS = [{"id": f'c"{i}],[', "x": [1.5, i], "y": {"a": None}} for i in range(20_000)]
BODIES = {
    "records": {"candidates": RECORDS, "context": {"a": [1, 2]}, "budget": 3},
    "names": {"id": "x", "candidates": [f"ä{i}" for i in range(20_000)]},
    "rows": {"ids": [str(i) for i in range(9000)], "features": [[0.5, i] for i in range(9000)]},
    "packed": {"ids": [f"c{i}" for i in range(20_000)], "features": {"data": "AAAA" * 9}},
    "few": {"candidates": [{"id": "a", "t": "x" * 100_000}]},
}


def decoded(kind, tree, packed):
    data = (msgspec.msgpack if packed else msgspec.json).encode(tree)
    return data, body.decode(kind, body.Body([data[:10], data[10:]], len(data), packed))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_pieces_give_the_whole(name, packed):
    tree = BODIES[name]
    if packed and name == "packed":
        tree = tree | {"features": {"data": b"\0" * 100_000}}
    data, found = decoded(messages.DecisionRequest, tree, packed)
    module = msgspec.msgpack if packed else msgspec.json
    assert found == module.decode(data, type=messages.DecisionRequest)
    lists = pieces.split(data, packed)[1]
    assert bool(lists) == (name != "few")
    assert all(len(piece) < 3 * pieces.PIECE for one in lists for piece in one.pieces)


@pytest.mark.parametrize("packed", [False, True])
def test_an_error_names_the_element_of_the_whole_list(packed):
    outcomes = [{"id": f"x{i}", "tried": 1, "succeeded": True} for i in range(5000)]
    outcomes[4321]["tried"] = -1
    with pytest.raises(InvalidInput) as refused:
        decoded(messages.BatchRequest, {"outcomes": outcomes}, packed)
    assert refused.value.parameter.startswith("outcomes[4321]")
    outcomes[4321] = {"id": "x", "nobody": 1}
    with pytest.raises(Refused) as refused:
        decoded(messages.BatchRequest, {"outcomes": outcomes}, packed)
    assert "outcomes[4321]" in refused.value.detail
    assert refused.value.status == 422


@pytest.mark.parametrize("packed", [False, True])
def test_a_list_that_is_too_long_is_refused_as_a_whole(packed):
    outcomes = [{"id": f"x{i}", "tried": 1, "succeeded": True} for i in range(10_001)]
    with pytest.raises(InvalidInput, match="have at most 10000 entries, got 10001"):
        decoded(messages.BatchRequest, {"outcomes": outcomes}, packed)


LONG = json.dumps([f"c{i}" for i in range(20_000)])


@pytest.mark.parametrize(
    "text",
    [
        '{"ids": LIST',
        '{"ids": LIST, "ids": LIST}',
        '{"id\\u0073": LIST}',
        '{"ids": LIST, "x}',
        '{"ids": LIST}}',
        "[LIST]",
        '{"nobody": LIST}',
        '{"ids": OPEN,]}',
        '{"ids": OPEN}',
        '{"ids": OPEN}]',
    ],
)
def test_what_cannot_be_decoded_is_refused(text):
    data = text.replace("LIST", LONG).replace("OPEN", LONG[:-1]).encode()
    with pytest.raises(Refused) as refused:
        body.decode(messages.DecisionRequest, body.Body([data], len(data), False))
    assert refused.value.status in (400, 422)


def test_messagepack_that_ends_too_early_is_refused():
    data = msgspec.msgpack.encode(BODIES["records"])
    for end in (len(data) - 1, len(data) // 2, body.LARGE + 5):
        with pytest.raises(Refused):
            body.decode(messages.DecisionRequest, body.Body([data[:end]], end, True))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.booleans(), st.integers(1, 20))
def test_any_bytes_can_be_looked_at(data, packed, size):
    padded = data + b" " * 8
    marks = (pieces._scan_msgpack if packed else pieces._scan_json)(
        pieces.np.frombuffer(padded, "u1"), size
    )
    assert (marks[:, 1] <= len(padded)).all()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False)
    | st.text(max_size=40) | st.binary(max_size=300),
    lambda some: st.lists(some, max_size=20) | st.dictionaries(st.text(max_size=5), some),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_a_value_of_messagepack_is_skipped_exactly(value):
    data = msgspec.msgpack.encode(value)
    padded = pieces.np.frombuffer(data + b"\xc0", "u1")
    assert pieces._skip(padded, 0) == len(data)
    if len(data) > 1:
        assert pieces._skip(padded[: len(data) - 1], 0) >= len(data)


def test_many_candidates_are_packed_and_compared_in_pieces(monkeypatch):
    records = [{"id": f"c{i}", "x": i} for i in range(23)]
    request = messages.DecisionRequest(candidates=records)
    whole = offers.read_records(request, None)
    monkeypatch.setattr(offers, "TOGETHER", 5)
    assert offers.read_records(request, None) == whole
    assert offers.are_distinct(whole.ids)
    assert not offers.are_distinct([*whole.ids, "c22"])
    assert offers.are_distinct([])
