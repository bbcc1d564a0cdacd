"""Coder: how the fields of records become atoms, keys with numbers."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from longrank import kernels
from longrank.arrays import Indices, Keys, Matrix
from longrank.errors import InvalidInput
from longrank.kernels.numbers import BINS, SAMPLE
from longrank.rows import MEASURED, Slot
from longrank.schema.kinds import Category, Embedding, Kind, Number, Tags, Text
from longrank.schema.values import (
    ID,
    Record,
    read_category,
    read_embedding,
    read_number,
    read_tags,
    read_words,
)

if TYPE_CHECKING:
    from longrank.schema.side import Side

_TEMPLATES = 1 << 13  # records whose categories are remembered
_CELLS = 1 << 20  # atoms of all templates
_VALUES = 1 << 16  # values of a field whose keys are remembered
_CHARACTERS = 1 << 23  # of all values that are remembered, each of which counts 64 more
MAX_NORM = 10.0  # of an embedding, in terms of the mean norm of those seen


def digest(*parts: str) -> int:
    """Return a 64-bit key, the same on every machine."""
    data = "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def atom_groups(side: str, fields: Sequence[Slot]) -> list[np.uint64]:
    """Return the group of every atom, that of the constant first."""
    groups = [digest("constant")]
    for name, kind, width in fields:
        own = digest(side, name, kind)
        groups += [own, digest(side, name, "bin")] if kind == "number" else [own] * width
    return [np.uint64(group) for group in groups]


class Encoded:
    """The atoms of some records, and the fields that they stand for."""

    __slots__ = ("fields", "keys", "numbers", "raw", "vectors")

    def __init__(
        self,
        fields: tuple[Slot, ...],
        keys: Keys,
        numbers: Matrix,
        raw: Matrix,
        vectors: Mapping[str, Matrix],
    ) -> None:
        self.fields, self.keys, self.numbers, self.raw = fields, keys, numbers, raw
        self.vectors = vectors

    def columns(self) -> dict[str, Matrix]:
        """Return the numbers of each field of numbers or embeddings, NaN where one is missing."""
        measured = [field for field in self.fields if field.kind in MEASURED]
        own = {f.name: self.raw[:, [j]] for j, f in enumerate(measured) if f.kind == "number"}
        return own | dict(self.vectors)


class _Reader:
    """Reads records with these keys, in this order."""

    __slots__ = ("categories", "category_names", "columns", "number_names", "numbers")

    def __init__(self, shape: tuple[str, ...], coder: Coder) -> None:
        self.category_names = [name for name in coder.categories if name in shape]
        self.number_names = [name for name in coder.numbers if name in shape]
        self.columns = [coder.numbers.index(name) for name in self.number_names]
        self.categories = itemgetter(*self.category_names) if self.category_names else None
        self.numbers = itemgetter(*self.number_names) if self.number_names else None


class Coder:
    """Encodes records with a fixed set of fields.

    The atoms of a record's categories are cached as a template, by their values, so that a record
    whose numbers changed costs one look-up and its numbers.
    """

    def __init__(self, side: Side, kinds: Mapping[str, Kind], widths: Mapping[str, int]) -> None:
        self.side, self.kinds, self.widths = side.name, dict(kinds), dict(widths)
        self.strict = frozenset(kinds) - frozenset(side.declared) - {ID}
        self.ignored = side.ignored
        self.categories = self._of(Category)
        self.numbers = self._of(Number)
        self.embeddings = [name for name in self._of(Embedding) if name in widths]
        self.open = self._of(Tags) + self._of(Text)  # their width is that of the round
        self.fixed = tuple(
            [Slot(name, "category", 1) for name in self.categories]
            + [Slot(name, "number", 2) for name in self.numbers]
            + [Slot(name, "embedding", widths[name]) for name in self.embeddings]
        )
        self._first_number = 1 + len(self.categories)
        self._first_embedding = self._first_number + 2 * len(self.numbers)
        self.atoms = 1 + sum(field.width for field in self.fixed)
        self.places = self._first_number + 2 * np.arange(len(self.numbers))
        self.logs = np.array([kinds[name] == Number(log=True) for name in self.numbers], np.bool_)
        self.codes = np.array(
            [
                [self._key(name, code) for code in ("missing", "score", *map(str, range(BINS)))]
                for name in self.numbers
            ],
            np.uint64,
        ).reshape(len(self.numbers), 2 + BINS)
        self._base = np.zeros(self.atoms, np.uint64)
        self._base[0] = digest("constant")
        for at, name in enumerate(self.categories, 1):
            self._base[at] = self._key(name, "missing")
        at = self._first_embedding
        for name in self.embeddings:
            for i in range(widths[name]):
                self._base[at] = self._key(name, str(i))
                at += 1
        self._values: dict[str, dict[Any, int]] = {name: {} for name in self.kinds}
        self._readers: dict[tuple[str, ...], _Reader] = {}
        self._codes_of_categories = [(name, self._values[name]) for name in self.categories]
        self._all, self._complete = _Reader(tuple(self.kinds), self), {len(self.kinds)}
        self._lists = frozenset(kinds) - {*self.categories, *self.numbers}
        self._book = _Book(self.atoms)
        self._characters = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Coder:
        return self  # what it remembers can be shared

    def _of(self, kind: type[Kind]) -> list[str]:
        return [name for name, each in self.kinds.items() if isinstance(each, kind)]

    def _key(self, name: str, value: str) -> int:
        return digest(self.side, name, self.kinds[name].name, value)

    def _where(self, i: int, name: str) -> str:
        return f"{self.side}{f' {i}' if self.side == 'candidate' else ''}, field {name!r}"

    def fields(self, widths: Mapping[str, int]) -> tuple[Slot, ...]:
        """The fields of a round, in which tags and texts take so many atoms."""
        return self.fixed + tuple(
            Slot(name, self.kinds[name].name, widths[name]) for name in self.open
        )

    def reads(self, shapes: set[tuple[str, ...]]) -> bool:
        """Whether all fields of records with these keys are known."""
        for shape in shapes:
            if shape in self._readers:
                continue
            if any(name not in self.kinds and name not in self.ignored for name in shape):
                return False
            if len(self._readers) >= 256:
                self._readers = {}
            self._readers[shape] = _Reader(shape, self)
        return True

    def encode_complete(self, records: Sequence[Record], side: Side) -> Encoded | None:
        """Return the atoms of records that have all fields, and categories seen before.

        None for others. A record with as many keys as there are fields, and no field missing, has
        no other key.
        """
        book = self._book
        if set(map(len, records)) != self._complete and not self._complete_but_prices(records):
            return None
        if self._lists and not all(self._lists <= record.keys() for record in records):
            return None
        try:
            categories, numbers = self._all.categories, self._all.numbers
            if categories is None:
                index = np.full(len(records), book.lookups[()][()])
            else:
                places = map(book.lookups[()].__getitem__, map(categories, records))
                index = np.frombuffer(array("q", places), np.int64)
            given = self._given(records, numbers)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return self._code(records, book.templates, index, given, side)

    def _complete_but_prices(self, records: Sequence[Record]) -> bool:
        """Whether records have as many keys as there are fields, beside those not used."""
        if not records:
            return False
        more = [name for name in self.ignored if name in records[0]]
        if not more or set(map(len, records)) != {len(self.kinds) + len(more)}:
            return False
        return all(name in record for record in records for name in more)

    def encode_one(self, record: Record, side: Side) -> Encoded | None:
        """Return the atoms of one record that has all fields, each with a value seen before."""
        if len(record) != len(self.kinds) or not self._lists <= record.keys():
            return None
        template = self._base[np.newaxis].copy()
        try:
            template[0, 1 : self._first_number] = array(
                "Q", [codes[record[name]] for name, codes in self._codes_of_categories]
            )
            given = self._given((record,), self._all.numbers)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return self._code((record,), template, _FIRST, given, side)

    def _given(self, records: Sequence[Record], read: Callable[[Record], Any] | None) -> Matrix:
        """All numbers of records; raises an error where one is no plain number."""
        if read is None:
            return np.empty((len(records), 0))
        several = map(read, records)
        flat = list(several if len(self.numbers) == 1 else chain.from_iterable(several))
        if not _PLAIN.issuperset(map(type, flat)):
            raise TypeError("not a plain number")
        return np.frombuffer(array("d", flat)).reshape(len(records), -1)

    def encode(
        self, records: Sequence[Record], shapes: set[tuple[str, ...]], side: Side
    ) -> Encoded:
        """Return the atoms of records with the given keys."""
        size = len(records)
        while True:
            book = self._book
            try:
                index, numbers = self._read_all(records, shapes, book)
                break
            except _Full:
                self._book = _Book(self.atoms, 2 * size)
        return self._code(records, book.templates, index, numbers, side)

    def _read_all(
        self, records: Sequence[Record], shapes: set[tuple[str, ...]], book: _Book
    ) -> tuple[Indices, Matrix]:
        size = len(records)
        if len(shapes) == 1:
            index, numbers = self._read(records, range(size), next(iter(shapes)), book)
        else:
            index, numbers = np.zeros(size, np.int64), np.full((size, len(self.numbers)), np.nan)
            groups: dict[tuple[str, ...], list[int]] = {}
            for i, record in enumerate(records):
                groups.setdefault(tuple(record), []).append(i)
            for shape, members in groups.items():
                index[members], numbers[members] = self._read(
                    [records[i] for i in members], members, shape, book
                )
        return index, numbers

    def _code(
        self,
        records: Sequence[Record],
        templates: Keys,
        index: Indices,
        numbers: Matrix,
        side: Side,
    ) -> Encoded:
        """Fill the numbers into the templates, and add the lists."""
        samples, sizes = side.samples, side.sizes
        if len(samples) < len(self.numbers):  # new fields have no sample yet
            more = len(self.numbers) - len(samples)
            samples = np.vstack([samples, np.zeros((more, SAMPLE))])
            sizes = np.append(sizes, np.zeros(more, np.int64))
        keys, values, bad = kernels.code_rows(
            templates, index, numbers, self.places, self.logs, self.codes, samples, sizes
        )
        if bad >= 0:
            i, j = divmod(bad, len(self.numbers))
            rule = "be finite" if math.isinf(numbers[i, j]) else "be above 0 for its logarithm"
            raise InvalidInput(self._where(i, self.numbers[j]), rule, numbers[i, j])
        if not (self.embeddings or self.open):
            return Encoded(self.fixed, keys, values, numbers, {})
        return self._add_lists(records, keys, values, numbers, side)

    def _read(
        self, records: Sequence[Record], at: Sequence[int], shape: tuple[str, ...], book: _Book
    ) -> tuple[Indices, Matrix]:
        """The template and the numbers of every record; all have the same keys."""
        reader = self._readers.get(shape) or _Reader(shape, self)
        complete = len(shape) == len(self.kinds) and self.kinds.keys() == set(shape)
        lookup = book.lookups.setdefault(() if complete else shape, {})
        getter = reader.categories
        if getter is None:
            places = [self._template(lookup, reader, (), 0, book)] * len(records)
        else:
            try:
                places = list(map(lookup.__getitem__, map(getter, records)))
            except (KeyError, TypeError):
                places = [
                    self._template(lookup, reader, getter(record), at[i], book)
                    for i, record in enumerate(records)
                ]
        numbers = self._numbers(reader, records, at)
        if len(reader.columns) < len(self.numbers):
            given, numbers = numbers, np.full((len(records), len(self.numbers)), np.nan)
            numbers[:, reader.columns] = given
        return np.array(places, np.int64), numbers

    def _template(
        self, lookup: dict[Any, int], reader: _Reader, values: Any, at: int, book: _Book
    ) -> int:
        """The number of the template for these values of the categories."""
        try:
            known = lookup.get(values)
        except TypeError:
            known = None
        if known is not None:
            return known
        row = self._base.copy()
        several = values if len(reader.category_names) > 1 else (values,)
        for name, value in zip(reader.category_names, several, strict=False):
            row[1 + self.categories.index(name)] = self._category(name, value, at)
        place = book.add(row, sum(map(_length, several)))
        with suppress(TypeError):  # of a decimal and a NumPy integer that cannot be compared
            lookup[values] = place
        return place

    def _category(self, name: str, value: Any, at: int) -> int:
        """The key of a value of a category."""
        codes = self._values[name]
        try:
            code = codes.get(value)
        except TypeError:
            code = None  # a list, which is refused below
        if code is None:
            code = self._key(name, read_category(value, name in self.strict, self._where(at, name)))
            self._remember(codes, value, code)
        return code

    def _remember(self, codes: dict[Any, int], value: Any, code: int) -> None:
        """Cache the key of a value; the cache is cleared when it grows too large."""
        self._characters += 64 + _length(value)
        if self._characters > _CHARACTERS:
            self._characters = 0
            for each in self._values.values():
                each.clear()
        elif len(codes) >= _VALUES:
            codes.clear()
        with suppress(TypeError):
            codes[value] = code

    def _numbers(self, reader: _Reader, records: Sequence[Record], at: Sequence[int]) -> Matrix:
        """The numbers of records, NaN where one is missing. Shape (records, numbers given)."""
        if reader.numbers is None:
            return np.empty((len(records), 0))
        given = list(map(reader.numbers, records))
        names = reader.number_names
        try:
            numbers = np.array(given)
        except (TypeError, ValueError, OverflowError):
            numbers = np.array(None)
        flat = numbers.ndim == (1 if len(names) == 1 else 2)  # a list of numbers is not a number
        if numbers.dtype.char != "d" or not flat:
            if numbers.dtype.kind not in "iufb" or not flat:
                rows = [each if len(names) > 1 else (each,) for each in given]
                numbers = np.array(
                    [
                        [
                            read_number(x, self._where(at[i], n))
                            for n, x in zip(names, row, strict=True)
                        ]
                        for i, row in enumerate(rows)
                    ]
                )
            with np.errstate(over="ignore"):  # of a longer float
                numbers = numbers.astype(np.float64)
        return numbers.reshape(len(records), len(names))

    def _add_lists(
        self, records: Sequence[Record], keys: Keys, values: Matrix, numbers: Matrix, side: Side
    ) -> Encoded:
        """Add the atoms of embeddings, tags and texts."""
        norms = np.full((len(records), len(self.embeddings)), np.nan)
        at, vectors = self._first_embedding, {}
        for j, name in enumerate(self.embeddings):
            width = self.widths[name]
            own = vectors[name] = np.full((len(records), width), np.nan)
            block = slice(at, at + width)
            known = j < len(side.norms) and side.norms[j, 1] > 0
            scale = side.norms[j, 0] / side.norms[j, 1] if known else 0.0
            for i, record in enumerate(records):
                vector = read_embedding(record.get(name), width, self._where(i, name))
                values[i, block] = 0.0
                if vector is None:
                    keys[i, at], values[i, at] = self._key(name, "missing"), 1.0
                    continue
                own[i] = vector
                norms[i, j] = math.sqrt(float((vector * vector).sum()))
                length = max(scale, norms[i, j] / MAX_NORM) if scale else norms[i, j]
                if length > 0.0:
                    values[i, block] = vector / length
            at += width
        parts, weights, widths = [keys], [values], {}
        for name in self.open:
            words = [self._words(name, record.get(name), i) for i, record in enumerate(records)]
            longest = max([len(each) for each in words], default=1)
            width = widths[name] = 1 << max(longest - 1, 0).bit_length()
            block_keys = np.zeros((len(records), width), np.uint64)
            block_values = np.zeros((len(records), width))
            for i, each in enumerate(words):
                block_keys[i, : len(each)] = each
                block_values[i, : len(each)] = 1.0 / math.sqrt(len(each))
            parts.append(block_keys)
            weights.append(block_values)
        return Encoded(
            self.fields(widths),
            np.concatenate(parts, axis=1),
            np.concatenate(weights, axis=1),
            np.concatenate([numbers, norms], axis=1),
            vectors,
        )

    def _words(self, name: str, value: Any, at: int) -> list[int]:
        """The keys of tags, or of the words of a text; at least one."""
        where = self._where(at, name)
        split = read_words if isinstance(self.kinds[name], Text) else read_tags
        codes = self._values[name]
        keys = []
        for word in split(value, where) or [None]:
            code = codes.get(word)
            if code is None:
                code = self._key(name, "missing" if word is None else f"t{word}")
                self._remember(codes, word, code)
            keys.append(code)
        return keys


class _Book:
    """A cache of templates, and the row of each."""

    def __init__(self, atoms: int, size: int = 0) -> None:
        rows = max(min(_TEMPLATES, _CELLS // atoms), size)
        self.templates = np.empty((rows, atoms), np.uint64)
        self.lookups: dict[tuple[str, ...], dict[Any, int]] = {}
        self.used, self.size, self.characters = 0, size, 0

    def add(self, row: Keys, characters: int) -> int:
        """Keep a template for values of so many characters; return its number.

        There is always room for the first ``size``.
        """
        with _LOCK:  # threads may rank at the same time
            place = self.used
            full = self.characters > _CHARACTERS and place >= self.size
            if full or place == len(self.templates):
                raise _Full
            self.templates[place] = row
            self.used += 1
            self.characters += characters
        return place


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


class _Full(Exception):
    """A book has no room left."""


_LOCK = threading.Lock()
_PLAIN = frozenset({float, int, bool})
_FIRST = np.zeros(1, np.int64)
