"""Footers of Parquet files: how large the pages of a file are, before any of them is read.

A page of a few bytes may expand to gigabytes. The headers of all pages are read here, in Thrift's
compact protocol, since pyarrow reports the sizes in the footer, not those of the pages, and crashes
on an inconsistent footer.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

from longrank.errors import BadFile

MAX_EXPANSION, MAX_SMALL = 256, 64 * 2**20  # of a row group: times the file, and bytes
_MAX_FOOTER = 1 << 26
_MAX_HEADER = 1 << 14  # of a page
_MAX_DEPTH = 32
_TEXT = 6  # the physical type of texts
_TRUE, _FALSE = 1, 2
Fields = dict[int, Any]


def text_columns(path: Path) -> list[str]:
    """Return the columns of texts; refuse a file whose row groups would be far larger than it.

    Lists may have any length, so a whole row group can be in memory at once.
    """
    try:
        return _text_columns(path)
    except (AttributeError, LookupError, OverflowError, TypeError) as error:
        raise ValueError("its footer does not fit together") from error


def _text_columns(path: Path) -> list[str]:
    texts: dict[str, None] = {}
    limit = MAX_EXPANSION * path.stat().st_size + MAX_SMALL
    with path.open("rb") as file:
        for number, group in enumerate(_footer(file).get(4, [])):
            size = 0
            for column in group.get(1, []):
                about = column[3]
                size += _size(file, about, limit)
                if about[1] == _TEXT:
                    texts[b".".join(about[3]).decode()] = None
                if size > limit:
                    raise BadFile(
                        f"{path} must have row groups of at most {limit:,} bytes in memory, "
                        f"{MAX_EXPANSION} times the file and {MAX_SMALL:,}; "
                        f"group {number} takes {size:,} or more"
                    )
    return list(texts)


def _footer(file: BinaryIO) -> Fields:
    file.seek(0, 2)
    end = file.tell()
    file.seek(max(end - 8, 0))
    length = int.from_bytes(file.read(4), "little")
    if file.read(4) != b"PAR1" or length > min(end - 8, _MAX_FOOTER):
        raise ValueError("it does not end with a footer")
    file.seek(end - 8 - length)
    return _Reader(file.read(length)).fields()


def _size(file: BinaryIO, about: Fields, limit: int) -> int:
    """Return what the pages of a column take in memory: eight bytes a value, or as they are."""
    starts = [about[name] for name in (9, 11) if about.get(name, 0) > 0]
    at, values, size = min(starts), 0, 0
    end = at + about[7]
    while at < end and max(8 * values, size) <= limit:
        file.seek(at)
        reader = _Reader(file.read(_MAX_HEADER))
        header = reader.fields()
        if min(header[2], header[3]) < 0:
            raise ValueError("a page is shorter than nothing")
        size += header[2]
        for kind in (5, 8):  # of data pages, in both versions of their layout
            values += max(header.get(kind, {}).get(1, 0), 0)
        at += reader.at + header[3]
    return max(8 * values, size)


class _Reader:
    """Reads structures in the compact protocol of Thrift: their fields by number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def fields(self, depth: int = 0) -> Fields:
        read: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            kind = head & 15
            read[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return read

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("a structure is nested too deeply")
        match kind:
            case 1 | 2 | 3:  # of a list: a truth, or eight bits
                return self._byte()
            case 4 | 5 | 6:
                return self._whole()
            case 7:
                return struct.unpack("<d", self._bytes(8))[0]
            case 8:
                return self._bytes(self._varint())
            case 9 | 10:
                head = self._byte()
                count = self._varint() if head >> 4 == 15 else head >> 4
                return [self._value(head & 15, depth + 1) for _ in range(count)]
            case 11:
                count = self._varint()
                kinds = self._byte() if count else 0
                for _ in range(count):
                    self._value(kinds >> 4, depth + 1)
                    self._value(kinds & 15, depth + 1)
                return None
            case 12:
                return self.fields(depth + 1)
        raise ValueError(f"a field of the unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("a text goes on after its end")
        self.at += count
        return self.data[self.at - count : self.at]

    def _varint(self) -> int:
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise ValueError("a number has more than 64 bits")

    def _whole(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)
