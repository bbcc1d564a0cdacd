"""Long lists of a body in pieces, so that decoding them never holds up other threads for long.

A decoder works without a break, and no other thread runs meanwhile: a body of 8 MB takes a tenth of
a second. So kernels, which other threads need not wait for, find where the elements of long lists
begin, and the lists are decoded piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.kernels import compiled

PIECE = 32 << 10  # bytes
_KEY = re.compile(rb'"([A-Za-z_]+)"\s*:\s*\Z')

Bytes = NDArray[np.uint8]
Marks = NDArray[np.int64]  # (n, 3): kind, position, elements before it
_BEGIN, _CUT, _END, _BAD = range(4)


class LongList(NamedTuple):
    """A list that is a field of the body: its name, its pieces, and the first element of each."""

    name: str
    pieces: list[bytes]  # each a body with this field only
    firsts: list[int]


def split(data: bytes, packed: bool) -> tuple[bytes, list[LongList]] | None:
    """Return a body with long lists emptied, and these lists; None if it cannot be split.

    That is so if it is malformed, or if a field has an unusual name or is there twice.
    """
    marks = (_scan_msgpack if packed else _scan_json)(np.frombuffer(data, np.uint8), PIECE)
    if len(marks) and marks[0, 0] == _BAD:
        return None
    rest: list[bytes] = []
    found: list[LongList] = []
    done = 0
    for begin, cuts, end in _lists(marks):
        name = _packed_name(data[:begin]) if packed else _json_name(data[:begin])
        if name is None or any(one.name == name for one in found):
            return None
        rest += [data[done:begin], b"\x90" if packed else b"[]"]
        done = end
        wrap = _wrap_packed if packed else _wrap_json
        found.append(LongList(name, *wrap(name, data, begin, cuts, end)))
        if b"" in found[-1].pieces:
            return None
    rest.append(data[done:])
    return b"".join(rest), found


def _lists(marks: Marks) -> Iterator[tuple[int, list[tuple[int, int]], int]]:
    begin, cuts = 0, list[tuple[int, int]]()
    for kind, position, elements in marks.tolist():
        if kind == _BEGIN:
            begin, cuts = position, []
        else:
            cuts.append((position, elements))
        if kind == _END:
            yield begin, cuts, position


def _wrap_json(
    name: str, data: bytes, begin: int, cuts: list[tuple[int, int]], end: int
) -> tuple[list[bytes], list[int]]:
    """Return the pieces of a list; an empty one in place of one without elements."""
    head, starts = f'{{"{name}":['.encode(), [begin + 1, *(cut + 1 for cut, _ in cuts[:-1])]
    ends = [*(cut for cut, _ in cuts[:-1]), end - 1]
    pieces = []
    for start, stop in zip(starts, ends, strict=True):
        piece = data[start:stop]
        pieces.append(b"" if piece.isspace() or not piece else head + piece + b"]}")
    return pieces, [0, *(elements for _, elements in cuts[:-1])]


def _wrap_packed(
    name: str, data: bytes, begin: int, cuts: list[tuple[int, int]], end: int
) -> tuple[list[bytes], list[int]]:
    head = b"\x81" + bytes([0xA0 | len(name)]) + name.encode() + b"\xdd"
    starts = [begin + (3 if data[begin] == 0xDC else 5), *(cut for cut, _ in cuts[:-1])]
    firsts = [0, *(elements for _, elements in cuts)]
    pieces = [
        head + (after - first).to_bytes(4, "big") + data[start:stop]
        for start, stop, first, after in zip(
            starts, [*(cut for cut, _ in cuts[:-1]), end], firsts, firsts[1:], strict=False
        )
    ]
    return pieces, firsts[:-1]


def _json_name(before: bytes) -> str | None:
    found = _KEY.search(before[-100:])
    return found[1].decode() if found else None


def _packed_name(before: bytes) -> str | None:
    """Return the name that ends here: a short text, after its length."""
    for length in range(1, 32):
        if len(before) > length and before[-length - 1] == 0xA0 | length:
            name = before[-length:]
            return name.decode() if re.fullmatch(rb"[A-Za-z_]+", name) else None
    return None


def shifted(text: str, name: str, first: int) -> str:
    """Return a text about an element of a piece as one about an element of the whole list."""

    def move(found: re.Match[str]) -> str:
        return f"{found[1]}[{int(found[2]) + first}]"

    return re.sub(rf"\b({name})\[(\d+)\]", move, text)


# the scans: other threads run meanwhile


@compiled
def _byte(data: Bytes, i: int) -> int:
    return np.int64(data[i])  # type: ignore[return-value]


@compiled
def _mark(marks: Marks, count: int, kind: int, position: int, elements: int) -> int:
    marks[count, 0], marks[count, 1], marks[count, 2] = kind, position, elements
    return count + 1


@compiled
def _scan_json(data: Bytes, size: int) -> Marks:
    """Mark the lists of the outermost object that are longer than ``size``, and where to cut."""
    marks = np.empty((2 * (data.shape[0] // size) + 8, 3), np.int64)
    count, depth, elements, begin, last = 0, 0, 0, -1, 0
    inside, escaped, marked = False, False, False
    for i in range(data.shape[0]):
        c = data[i]
        if inside:
            if escaped:
                escaped = False
            elif c == 92:  # a backslash
                escaped = True
            elif c == 34:
                inside = False
        elif c == 34:  # a quotation mark
            inside = True
        elif c == 91 or c == 123:  # [ {
            depth += 1
            if depth == 2 and c == 91:
                begin, last, elements, marked = i, i, 0, False
        elif c == 93 or c == 125:  # ] }
            if depth == 2 and begin >= 0:
                if marked:
                    count = _mark(marks, count, _END, i + 1, elements + 1)
                begin = -1
            depth -= 1
        elif c == 44 and depth == 2 and begin >= 0:  # a comma
            elements += 1
            if i - last >= size:
                if not marked:
                    count, marked = _mark(marks, count, _BEGIN, begin, 0), True
                count, last = _mark(marks, count, _CUT, i, elements), i
    if depth != 0 or inside:
        count = _mark(marks, 0, _BAD, 0, 0)
    return marks[:count]


@compiled
def _skip(data: Bytes, i: int) -> int:
    """Return where the value after the one at ``i`` begins; beyond the end if it is malformed."""
    end: int = data.shape[0]
    left = 1
    while left > 0:
        if i >= end:
            return end + 1
        c = _byte(data, i)
        i, left = i + 1, left - 1
        width, more = 0, 0  # bytes of a length, and of a value without one
        if c <= 0x7F or c >= 0xE0:
            continue
        if c <= 0x8F:
            left += 2 * (c & 0x0F)
        elif c <= 0x9F:
            left += c & 0x0F
        elif c <= 0xBF:
            more = c & 0x1F
        elif 0xC4 <= c <= 0xC6:
            width = 1 << (c - 0xC4)
        elif 0xC7 <= c <= 0xC9:
            width, more = 1 << (c - 0xC7), 1
        elif 0xCA <= c <= 0xCB:
            more = 4 << (c - 0xCA)
        elif 0xCC <= c <= 0xD3:
            more = 1 << ((c - 0xCC) % 4)
        elif 0xD4 <= c <= 0xD8:
            more = 1 + (1 << (c - 0xD4))
        elif 0xD9 <= c <= 0xDB:
            width = 1 << (c - 0xD9)
        elif c >= 0xDC:
            width = 2 << (c & 1)
        length = 0
        if i + width > end:
            return end + 1
        for j in range(width):
            length = length * 256 + _byte(data, i + j)
        i += width
        if c >= 0xDC:
            left += length * (1 if c <= 0xDD else 2)
        else:
            i += length + more
        if i > end or left > end:
            return end + 1
    return i


@compiled
def _scan_msgpack(data: Bytes, size: int) -> Marks:
    """Mark the lists of the outermost map that are longer than ``size``, and where to cut."""
    marks = np.empty((2 * (data.shape[0] // size) + 8, 3), np.int64)
    end, count, i = data.shape[0], 0, 1
    fields, c = 0, _byte(data, 0)
    if 0x80 <= c <= 0x8F:
        fields = c & 0x0F
    elif c == 0xDE:
        fields, i = 256 * _byte(data, 1) + _byte(data, 2), 3
    for _ in range(fields):
        i = _skip(data, i)  # the name
        begin = i
        if i + 5 <= end and 0xDC <= data[i] <= 0xDD:
            width, elements = 2 << (_byte(data, i) & 1), 0
            for j in range(width):
                elements = elements * 256 + _byte(data, i + 1 + j)
            i += 1 + width
            last, marked = i, False
            for k in range(elements):
                if i > end:
                    break
                if i - last >= size:
                    if not marked:
                        count, marked = _mark(marks, count, _BEGIN, begin, 0), True
                    count, last = _mark(marks, count, _CUT, i, k), i
                i = _skip(data, i)
            if marked:
                count = _mark(marks, count, _END, i, elements)
        else:
            i = _skip(data, i)
        if i > end:
            return marks[: _mark(marks, 0, _BAD, 0, 0)]
    return marks[:count]
