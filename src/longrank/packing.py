"""The binary format of saved files: nested dictionaries of numbers, text and arrays.

A packed file is::

    b"longrank 1\\n"              name and version of the format
    header, one line of JSON      the tree; an array is {"array": [dtype, shape, offset]}
    the arrays' bytes             little-endian, row by row, one after the other
    32 bytes                      SHA-256 of everything before

No pickle: reading a file runs no code. Equal trees give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from longrank.disk import write as write
from longrank.errors import BadFile

MAGIC = b"longrank "
VERSION = 1
_DIGEST = 32
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
    body = b"".join([MAGIC, str(VERSION).encode(), b"\n", header, b"\n", *blocks])
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, source: str = "data") -> Tree:
    """Unpack what :func:`pack` packed; :class:`BadFile` names the source and what is wrong."""
    if not data.startswith(MAGIC):
        raise BadFile(f"{source} is not a longrank file: it does not begin with 'longrank'")
    version, _, rest = data[len(MAGIC) :].partition(b"\n")
    if version != str(VERSION).encode():
        shown = version[:20].decode("ascii", "replace")
        raise BadFile(
            f"{source} has format version {shown!r}; this longrank reads version {VERSION}"
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise BadFile(f"{source} is damaged: its checksum does not match its content")
    header, _, blocks = rest.partition(b"\n")

    def full(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        if set(node) != {"array"}:
            return {key: full(value) for key, value in node.items()}
        dtype, shape, offset = node["array"]
        if dtype not in _DTYPES:
            raise BadFile(
                f"{source} holds an array of type {dtype!r}, which longrank does not write"
            )
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(blocks, dtype, count, offset).reshape(shape)
        return array.astype(array.dtype.newbyteorder("="))

    try:
        tree: Tree = full(json.loads(header))
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{source} does not hold what its header says: {error!r}") from error
    if not isinstance(tree, dict):
        raise BadFile(f"{source} does not hold a tree")
    return tree
