"""The file format: what is packed comes back, and nothing else is read."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from longrank.errors import BadFile
from longrank.packing import MAGIC, VERSION, pack, unpack

TREE = {
    "name": "ü ✓",
    "numbers": {"one": 1, "half": 0.5, "none": None, "yes": True, "wide": 2**100},
    "list": [1, "two", None],
    "matrix": np.arange(6.0).reshape(2, 3),
    "inner": {"flags": np.array([True, False]), "empty": np.empty((0, 3))},
}


def same(a, b):
    """Equal to the last bit, NaN and signed zeros included."""
    if isinstance(a, dict):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    return type(a) is type(b) and a == b


dtypes = st.sampled_from([np.float64, np.float32, np.int64, np.uint64, np.uint32, np.bool_])
arrays = nps.arrays(dtypes, nps.array_shapes(min_dims=0, max_dims=3, min_side=0))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.text().filter(lambda key: key != "array")
trees = st.dictionaries(keys, leaves | arrays | st.dictionaries(keys, leaves | arrays))


@given(trees)
@example(TREE)
@example({str(x): x for x in (float("inf"), float("-inf"), 5e-324, -0.0, 0.1, 1e308)})
def test_every_tree_comes_back_bit_for_bit_and_can_be_written_to(tree):
    data = pack(tree)
    again = unpack(data)
    assert same(again, tree)
    assert pack(again) == data
    assert all(x.flags.writeable for x in again.values() if isinstance(x, np.ndarray))


def test_how_an_array_lies_in_memory_does_not_matter():
    matrix = TREE["matrix"]
    versions = (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2])
    assert len({pack({"x": version}) for version in (*versions, matrix.astype(">f8"))}) == 1


def signed(header: bytes) -> bytes:
    body = b"longrank 1\n" + header + b"\n"
    return body + hashlib.sha256(body).digest()


def test_the_format_is_the_documented_one():
    data = pack({"a": 1, "x": np.array([1.0, -2.0])})
    magic, header, rest = data.split(b"\n", 2)
    assert magic == b"longrank 1"
    assert json.loads(header) == {"a": 1, "x": {"array": ["<f8", [2], 0]}}
    assert rest[:-32] == np.array([1.0, -2.0], "<f8").tobytes()
    assert rest[-32:] == hashlib.sha256(data[:-32]).digest()


def test_a_foreign_file_and_a_header_that_makes_no_sense_are_refused():
    for data in (b"", b"PK\x03\x04", b"longran", b"\x80\x04pickle"):
        with pytest.raises(BadFile, match=r"^model.bin is not a longrank file"):
            unpack(data, "model.bin")
    for header in (b"{", b"[1]", b'{"x": {"array": 1}}', b'{"x": {"array": ["<f8", [9], 0]}}'):
        with pytest.raises(BadFile, match="data does not hold"):
            unpack(signed(header))
    for dtype in ("<i4", "<c16", "|O"):
        header = json.dumps({"x": {"array": [dtype, [0], 0]}}).encode()
        with pytest.raises(BadFile, match="which longrank does not write"):
            unpack(signed(header))


@pytest.mark.parametrize("version", [b"2", b"0", b"11", b"", b"\xff", b"1" * 99])
def test_an_unknown_version_is_refused_and_named(version):
    body = MAGIC + version + pack(TREE)[len(MAGIC) + len(str(VERSION)) : -32]
    message = r"^data has format version '.{0,20}'; this longrank reads version 1$"
    with pytest.raises(BadFile, match=message):
        unpack(body + hashlib.sha256(body).digest())


def test_every_flipped_bit_and_a_byte_less_or_more_are_noticed():
    data = pack({"a": 1, "x": np.ones(3)})
    for i in range(len(data)):
        flipped = (data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :] for bit in range(8))
        for damaged in (*flipped, data[:i]):
            with pytest.raises(BadFile):
                unpack(damaged)
    with pytest.raises(BadFile, match="its checksum does not match its content"):
        unpack(data + b"\n")
