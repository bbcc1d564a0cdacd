"""The binary format of saved files: nested dictionaries of numbers, text and arrays.

A packed file is::

    b"longrank 1\\n"              name and version of the format
    header, one line of JSON      the tree; an array is {"array": [dtype, shape, offset]}
    the arrays' bytes             little-endian, row by row, one after the other
    32 bytes                      SHA-256 of everything before

No pickle: reading a file runs no code. Equal trees give equal bytes.
"""

import hashlib
import json
import math
from typing import Any

import numpy as np

from longrank.disk import write as write
from longrank.errors import BadFile, InvalidInput

MAGIC = b"longrank "
VERSION = 1
MAX_HEADER = 1 << 23  # characters; read, they take up to some twenty times as many bytes
_DIGEST = 32
_MAX_DEPTH = 32
_MAX_SIZE = 1 << 48
_DTYPES = ("<f8", "<f4", "<i8", "<u8", "<u4", "|b1")  # the unsigned are random generators'

Tree = dict[str, Any]


def pack(tree: Tree) -> bytes:
    """Pack a tree of dictionaries, lists, text, numbers, None and arrays into bytes."""
    blocks: list[bytes] = []
    offset = 0

    def plain(node: Any) -> Any:
        nonlocal offset
        if isinstance(node, dict):
            return {key: plain(value) for key, value in node.items()}
        if isinstance(node, np.ndarray):
            dtype = node.dtype.newbyteorder("<").str
            block = node.astype(dtype, copy=False).tobytes()
            blocks.append(block)
            offset += len(block)
            return {"array": [dtype, list(node.shape), offset - len(block)]}
        return node

    header = json.dumps(plain(tree), separators=(",", ":"), allow_nan=True).encode()
    if len(header) > MAX_HEADER:
        rule = f"have at most {MAX_HEADER:,} characters beside its arrays, to be packed"
        raise InvalidInput("the tree", rule, f"{len(header):,}")
    body = b"".join([MAGIC, str(VERSION).encode(), b"\n", header, b"\n", *blocks])
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, source: str = "data") -> Tree:
    """Unpack what :func:`pack` packed; :class:`BadFile` names the source and what is wrong.

    The header must be as :func:`pack` writes it, and the arrays fill the rest, each its own bytes:
    so what is unpacked is no larger than the file, but for a header of limited size.
    """
    if not data.startswith(MAGIC):
        raise BadFile(f"{source} is not a longrank file: it does not begin with 'longrank'")
    view, last = memoryview(data), max(len(data) - _DIGEST, 0)
    end = data.find(b"\n")
    version = data[len(MAGIC) : end if end >= 0 else len(data)]
    if version != str(VERSION).encode():
        shown = version[:20].decode("ascii", "replace")
        raise BadFile(
            f"{source} has format version {shown!r}; this longrank reads version {VERSION}"
        )
    if hashlib.sha256(view[:last]).digest() != view[last:]:
        raise BadFile(f"{source} is damaged: its checksum does not match its content")
    start = data.find(b"\n", end + 1, last) + 1
    header = data[end + 1 : start - 1]
    if not start or len(header) > MAX_HEADER:
        raise BadFile(f"{source} does not hold a header of at most {MAX_HEADER:,} characters")
    used = start

    def full(node: Any, depth: int = 0) -> Any:
        nonlocal used
        if not isinstance(node, dict):
            return node
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is deeper than {_MAX_DEPTH}")
        if set(node) != {"array"}:
            return {key: full(value, depth + 1) for key, value in node.items()}
        dtype, shape, offset = node["array"]
        if dtype not in _DTYPES:
            raise ValueError(f"an array of type {dtype!r:.20}, which longrank does not write")
        sizes = range(_MAX_SIZE)
        if len(shape) > _MAX_DEPTH or not all(type(n) is int and n in sizes for n in shape):
            raise ValueError("an array with a shape that is none")
        count = math.prod(shape)
        if offset != used - start or count * int(dtype[2:]) > last - used:
            raise ValueError("an array that is not the next in the file")
        array = np.frombuffer(view, dtype, count, used).reshape(shape)
        used += array.nbytes
        return array.astype(array.dtype.newbyteorder("="))

    try:
        tree: Tree = full(json.loads(header.decode("ascii")))
        if used != last:
            raise ValueError(f"{last - used} bytes more than its arrays")
    except (TypeError, ValueError, RecursionError) as error:
        told = str(error)[:200]
        raise BadFile(f"{source} does not hold what its header says: {told}") from error
    if not isinstance(tree, dict):
        raise BadFile(f"{source} does not hold a tree")
    return tree
