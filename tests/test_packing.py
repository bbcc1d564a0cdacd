"""The file format: what is packed comes back, and nothing else is read."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from longrank.errors import BadFile
from longrank.packing import MAGIC, VERSION, pack, unpack, write

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
def test_every_tree_comes_back_bit_for_bit(tree):
    data = pack(tree)
    assert same(unpack(data), tree)
    assert pack(unpack(data)) == data


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), 5e-324, -0.0, 0.1, 1e308])
def test_numbers_come_back_bit_for_bit(number):
    assert unpack(pack({"x": number}))["x"].hex() == number.hex()


def test_how_an_array_lies_in_memory_does_not_matter():
    matrix = TREE["matrix"]
    versions = (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2])
    assert len({pack({"x": version}) for version in (*versions, matrix.astype(">f8"))}) == 1


def test_what_comes_back_can_be_written_to():
    unpack(pack(TREE))["matrix"][0, 0] = 7.0


def test_the_format_is_the_documented_one():
    data = pack({"a": 1, "x": np.array([1.0, -2.0])})
    magic, header, rest = data.split(b"\n", 2)
    assert magic == b"longrank 1"
    assert json.loads(header) == {"a": 1, "x": {"array": ["<f8", [2], 0]}}
    assert rest[:-32] == np.array([1.0, -2.0], "<f8").tobytes()
    assert rest[-32:] == hashlib.sha256(data[:-32]).digest()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"longran", b"\x80\x04pickle"])
def test_a_foreign_file_is_refused(data):
    with pytest.raises(BadFile, match=r"^model.bin is not a longrank file"):
        unpack(data, "model.bin")


@pytest.mark.parametrize("version", [b"2", b"0", b"11", b"", b"\xff", b"1" * 99])
def test_an_unknown_version_is_refused_and_named(version):
    body = MAGIC + version + pack(TREE)[len(MAGIC) + len(str(VERSION)) : -32]
    message = r"^data has format version '.{0,20}'; this longrank reads version 1$"
    with pytest.raises(BadFile, match=message):
        unpack(body + hashlib.sha256(body).digest())


def test_every_truncated_file_is_refused():
    data = pack({"a": 1, "x": np.ones(3)})
    for size in range(len(data)):
        with pytest.raises(BadFile):
            unpack(data[:size])


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_is_noticed(bit):
    data = pack({"a": 1, "x": np.ones(3)})
    for i in range(len(data)):
        with pytest.raises(BadFile):
            unpack(data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :])


def test_a_file_that_goes_on_after_its_end_is_refused():
    with pytest.raises(BadFile, match="its checksum does not match its content"):
        unpack(pack(TREE) + b"\n")


@pytest.mark.parametrize("dtype", ["<i4", "<c16", "|O"])
def test_an_array_of_another_type_is_refused(dtype):
    header = json.dumps({"x": {"array": [dtype, [0], 0]}}).encode()
    body = b"longrank 1\n" + header + b"\n"
    with pytest.raises(BadFile, match="which longrank does not write"):
        unpack(body + hashlib.sha256(body).digest())


@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_is_written_whole(tmp_path, as_text):
    path = tmp_path / "file"
    for data in (b"old and long", b"new"):
        write(str(path) if as_text else path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match="folder"):
        write(target, b"data")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    "header", [b"{", b"[1]", b'{"x": {"array": 1}}', b'{"x": {"array": ["<f8", [9], 0]}}']
)
def test_a_header_that_makes_no_sense_is_refused(header):
    body = b"longrank 1\n" + header + b"\n"
    with pytest.raises(BadFile, match="data does not hold"):
        unpack(body + hashlib.sha256(body).digest())
