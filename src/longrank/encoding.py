"""Encoding: how the fields of records become atoms, keys with numbers."""

from __future__ import annotations

import math
import numbers as numeric
import re
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.errors import BadFile, InvalidInput
from longrank.kernels.numbers import BINS, SAMPLE
from longrank.packing import Tree
from longrank.rows import MEASURED, Slot

ID = "id"
MAX_FIELDS = 256  # of the candidates, and of the context
MAX_TAGS = 64  # in a set of tags; of a text so many words count
MAX_EMBEDDING = 256  # numbers; longer lists are folded into so many
MAX_NUMBER = 1e100  # in an embedding, so that its norm is finite
_TEMPLATES = 1 << 13  # records whose categories are remembered
_VALUES = 1 << 16  # values of a field whose keys are remembered

Record = Mapping[str, Any]
Keys = NDArray[np.uint64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Category:
    """Text, booleans or whole numbers as names: one column for each value."""

    name: ClassVar[str] = "category"


@dataclass(frozen=True)
class Number:
    """A number of any scale: its normal score among those observed, and one of eight bins.

    With ``log`` its logarithm, centred and scaled, takes the place of the score.
    """

    name: ClassVar[str] = "number"
    log: bool = False


@dataclass(frozen=True)
class Text:
    """Free text: its first words, in lower case, each of which is a column."""

    name: ClassVar[str] = "text"


@dataclass(frozen=True)
class Tags:
    """A set of names: one column for each."""

    name: ClassVar[str] = "tags"


@dataclass(frozen=True)
class Embedding:
    """A list of numbers, all of one length: one column for each, scaled together."""

    name: ClassVar[str] = "embedding"


Kind = Category | Number | Text | Tags | Embedding
KINDS: dict[str, type[Kind]] = {
    each.name: each for each in (Category, Number, Text, Tags, Embedding)
}
_WORDS = {
    "category": "text or a boolean",
    "number": "a number",
    "text": "text",
    "tags": "a list of text",
    "embedding": "a list of numbers",
}


def as_records(candidates: Any) -> list[Record] | None:
    """Return candidates as a list of dictionaries; None if they are not records.

    A plain name stands for ``{"id": name}``. Frames of pandas, polars and pyarrow give a record
    for each row.
    """
    if isinstance(candidates, list | tuple):
        kinds = set(map(type, candidates))
        if kinds == {dict}:
            return candidates if isinstance(candidates, list) else list(candidates)
        if kinds and all(issubclass(kind, Mapping | str) for kind in kinds):
            return [{ID: each} if isinstance(each, str) else dict(each) for each in candidates]
        return [] if not kinds else None
    for method in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(candidates, method) and hasattr(candidates, "columns"):
            return list(getattr(candidates, method)())
    if hasattr(candidates, "to_dict") and hasattr(candidates, "columns"):  # pandas
        return list(candidates.to_dict("records"))
    return None


def identities(records: Sequence[Record], order: Sequence[int]) -> list[Any]:
    """Return the names of candidates: their ids, or their positions for those without."""
    found = []
    for i in order:
        name = records[i].get(ID)
        if type(name) is not str:
            plain = isinstance(name, str | int | float | bool)
            name = int(i) if _missing(name) else name if plain else str(name)
        found.append(name)
    return found


def digest(*parts: str) -> int:
    """Return a 64-bit key, the same on every machine."""
    data = "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def checked_name(name: Any) -> str:
    """Return the name of a field."""
    if not isinstance(name, str):
        raise InvalidInput("field names", "be text", repr(name))
    return name


def shown(kind: Kind) -> str:
    """Return a kind in words."""
    return "number (log)" if isinstance(kind, Number) and kind.log else kind.name


def spell(kind: Kind) -> list[Any]:
    """Return a kind as it is written to files."""
    return [kind.name, kind.log] if isinstance(kind, Number) else [kind.name]


def read_kind(spelled: Sequence[Any]) -> Kind:
    """Return the kind that :func:`spell` wrote."""
    name, *settings = spelled
    if name not in KINDS:
        raise BadFile(f"unknown kind of field {name!r}: known are {sorted(KINDS)}")
    return KINDS[name](*settings)


def atom_groups(side: str, fields: Sequence[Slot]) -> list[np.uint64]:
    """Return the group of every atom, that of the constant first."""
    groups = [digest("constant")]
    for name, kind, width in fields:
        own = digest(side, name, kind)
        groups += [own, digest(side, name, "bin")] if kind == "number" else [own] * width
    return [np.uint64(group) for group in groups]


class Encoded:
    """The atoms of some records, and the fields that they stand for."""

    __slots__ = ("fields", "keys", "numbers", "raw")

    def __init__(self, fields: tuple[Slot, ...], keys: Keys, numbers: Matrix, raw: Matrix) -> None:
        self.fields, self.keys, self.numbers, self.raw = fields, keys, numbers, raw


class Side:
    """The fields of the candidates, or those of the context: what is known of them, and how.

    A field is known once a record that has it was learned from. Until then its kind is inferred
    anew in every round.
    """

    def __init__(self, name: str, declared: Mapping[str, Kind], ignored: frozenset[str]) -> None:
        self.name, self.declared, self.ignored = name, declared, ignored
        self.known: dict[str, Kind] = {}
        self.widths: dict[str, int] = {}  # of embeddings
        self.samples = np.zeros((0, SAMPLE))  # of number fields, in the order in which they came
        self.sizes, self.seen = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.norms = np.zeros((0, 2))  # of embeddings: their sum and their number
        self._coders: dict[tuple[Any, ...], Coder] = {}
        self._coder = self._coder_of(self.known, self.widths)

    def encode(self, records: Sequence[Record]) -> Encoded:
        """Return the atoms of records. The side stays as it is."""
        found = self._coder.encode_complete(records, self)
        if found is not None:
            return found
        shapes = set(map(tuple, records))
        coder = self._coder
        if not coder.reads(shapes):
            coder = self._extended(records)
            coder.reads(shapes)
        return coder.encode(records, shapes, self)

    def encode_one(self, record: Record) -> Encoded:
        """Return the atoms of one record, whose categories rarely stand together again."""
        found = self._coder.encode_one(record, self)
        return self.encode([record]) if found is None else found

    def _extended(self, records: Sequence[Record]) -> Coder:
        """The coder that knows the new fields of these records as well."""
        kinds, widths = dict(self.known), dict(self.widths)
        for i, record in enumerate(records):
            for name, value in record.items():
                if name in self.known or name in self.ignored:
                    continue
                kind = self.declared.get(checked_name(name)) or _infer(value, self._where(i, name))
                if name == ID:
                    kind = kind and Category()
                if kind is None:
                    continue
                kinds.setdefault(name, kind)
                if isinstance(kinds[name], Embedding) and name not in widths:
                    given = _listed(value, "embedding", self._where(i, name))
                    if given:
                        widths[name] = min(len(given), MAX_EMBEDDING)
        if len(kinds) > MAX_FIELDS:
            raise InvalidInput(f"the {self.name}'s fields", f"be at most {MAX_FIELDS}", len(kinds))
        return self._coder_of(kinds, widths)

    def _coder_of(self, kinds: Mapping[str, Kind], widths: Mapping[str, int]) -> Coder:
        key = (*kinds.items(), *widths.items())
        coder = self._coders.get(key)
        if coder is None:
            if len(self._coders) >= 16:
                self._coders.clear()
            coder = Coder(self, kinds, widths)
            self._coders[key] = coder
        return coder

    def _where(self, i: int, name: str) -> str:
        return f"{self.name}{f' {i}' if self.name == 'candidate' else ''}, field {name!r}"

    def fields(self) -> tuple[Slot, ...]:
        """Return the fields that are known."""
        return self._coder.fields(dict.fromkeys(self._coder.open, 1))

    def observe(self, fields: Sequence[Slot], raw: Matrix) -> None:
        """Take over the fields and the numbers of observed records.

        A field that is known as another kind stays what it is.
        """
        if fields is not self._coder.fixed:
            self._join(fields)
        coder = self._coder
        measured = [(name, kind) for name, kind, _ in fields if kind in MEASURED]
        if not measured:
            return
        numbers = raw
        if measured != [(name, "number") for name in coder.numbers]:
            numbers = np.full((len(raw), len(coder.numbers)), np.nan)
            for j, (name, kind) in enumerate(measured):
                if kind == "number" and name in coder.numbers:
                    numbers[:, coder.numbers.index(name)] = raw[:, j]
                elif kind == "embedding" and name in coder.embeddings:
                    norms = raw[:, j][~np.isnan(raw[:, j])]
                    self.norms[coder.embeddings.index(name)] += norms.sum(), len(norms)
        if coder.logs.any():  # of another schema's receipt, which may have no logarithm
            numbers = np.where(coder.logs & (numbers <= 0.0), np.nan, numbers)
        kernels.observe_numbers(numbers, self.samples, self.sizes, self.seen)

    def _join(self, fields: Sequence[Slot]) -> None:
        """Take over fields that are new."""
        for name, kind, width in fields:
            if name in self.known or len(self.known) >= MAX_FIELDS:
                continue
            declared = self.declared.get(name)
            self.known[name] = declared if declared is not None else KINDS[kind]()
            if kind == "number":
                self.samples = np.vstack([self.samples, np.zeros((1, SAMPLE))])
                self.sizes, self.seen = np.append(self.sizes, 0), np.append(self.seen, 0)
            elif kind == "embedding":
                self.widths[name] = width
                self.norms = np.vstack([self.norms, np.zeros((1, 2))])
        self._coder = self._coder_of(self.known, self.widths)

    def coding(self) -> kernels.Coding:
        """Return how numbers are coded, with the samples that compiled runs go on writing."""
        coder = self._coder
        numbers = coder.places, coder.logs, coder.codes
        return kernels.Coding(*numbers, self.samples, self.sizes, self.seen)

    def view(self) -> Self:
        """Return a copy that shares nothing that :meth:`observe` writes."""
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)
        viewed.known, viewed.widths = dict(self.known), dict(self.widths)
        viewed.samples, viewed.sizes = self.samples.copy(), self.sizes.copy()
        viewed.seen, viewed.norms = self.seen.copy(), self.norms.copy()
        return viewed

    def describe(self) -> list[dict[str, Any]]:
        """Return what is known of every field."""
        described = []
        for name, kind in self.known.items():
            text = shown(kind)
            if isinstance(kind, Embedding):
                text += f" of {self.widths[name]}"
            text += ", declared" if name in self.declared else ""
            each: dict[str, Any] = {"side": self.name, "name": name}
            each |= {"kind": kind.name, "text": text}
            if isinstance(kind, Number):
                j = self._coder.numbers.index(name)
                sample = self.samples[j, : self.sizes[j]]
                if len(sample):
                    low, middle, high = np.quantile(sample, [0.1, 0.5, 0.9]).tolist()
                    each |= {"low": low, "median": middle, "high": high}
                    each["text"] += f", {low:.4g} to {high:.4g} (median {middle:.4g})"
            described.append(each)
        return described

    def state(self) -> Tree:
        """Return what was learned, as a tree for :mod:`longrank.packing`."""
        return {
            "known": [[name, *spell(kind)] for name, kind in self.known.items()],
            "widths": dict(self.widths),
            "samples": self.samples.copy(),
            "sizes": self.sizes.copy(),
            "seen": self.seen.copy(),
            "norms": self.norms.copy(),
        }

    def restore(self, state: Tree) -> None:
        """Take over what :meth:`state` described."""
        self.known = {name: read_kind(kind) for name, *kind in state["known"]}
        self.widths = {name: int(width) for name, width in state["widths"].items()}
        for part in ("samples", "sizes", "seen", "norms"):
            setattr(self, part, state[part].copy())
        self._coder = self._coder_of(self.known, self.widths)


class _Reader:
    """How the records with these keys, in this order, are read."""

    __slots__ = ("categories", "category_names", "columns", "number_names", "numbers")

    def __init__(self, shape: tuple[str, ...], coder: Coder) -> None:
        self.category_names = [name for name in coder.categories if name in shape]
        self.number_names = [name for name in coder.numbers if name in shape]
        self.columns = [coder.numbers.index(name) for name in self.number_names]
        self.categories = itemgetter(*self.category_names) if self.category_names else None
        self.numbers = itemgetter(*self.number_names) if self.number_names else None


class Coder:
    """Encodes records with a fixed set of fields.

    What the categories of a record come to is remembered as a template, by their values: then a
    record whose numbers changed costs one look-up and its numbers.
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
        self._book = _Book(self.atoms)

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

        None for others. As many keys as there are fields, and none missing: then there is no
        further one, in whatever order they stand.
        """
        book = self._book
        if set(map(len, records)) != self._complete:
            return None
        try:
            categories, numbers = self._all.categories, self._all.numbers
            if categories is None:
                index = np.full(len(records), book.lookups[()][()])
            else:
                found = map(book.lookups[()].__getitem__, map(categories, records))
                index = np.frombuffer(array("q", found), np.int64)
            given = self._given(records, numbers)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return self._code(records, book.templates, index, given, side)

    def encode_one(self, record: Record, side: Side) -> Encoded | None:
        """Return the atoms of one record that has all fields, each with a value seen before."""
        if len(record) != len(self.kinds):
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
    ) -> tuple[NDArray[np.int64], Matrix]:
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
        index: NDArray[np.int64],
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
            return Encoded(self.fixed, keys, values, numbers)
        return self._add_lists(records, keys, values, numbers, side)

    def _read(
        self, records: Sequence[Record], at: Sequence[int], shape: tuple[str, ...], book: _Book
    ) -> tuple[NDArray[np.int64], Matrix]:
        """The template and the numbers of every record; all have the same keys."""
        reader = self._readers.get(shape) or _Reader(shape, self)
        complete = len(shape) == len(self.kinds) and self.kinds.keys() == set(shape)
        lookup = book.lookups.setdefault(() if complete else shape, {})
        getter = reader.categories
        if getter is None:
            found = [self._template(lookup, reader, (), 0, book)] * len(records)
        else:
            try:
                found = list(map(lookup.__getitem__, map(getter, records)))
            except (KeyError, TypeError):
                found = [
                    self._template(lookup, reader, getter(record), at[i], book)
                    for i, record in enumerate(records)
                ]
        numbers = self._numbers(reader, records, at)
        if len(reader.columns) < len(self.numbers):
            given, numbers = numbers, np.full((len(records), len(self.numbers)), np.nan)
            numbers[:, reader.columns] = given
        return np.array(found, np.int64), numbers

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
        place = book.add(row)
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
            code = self._key(name, _category(value, name in self.strict, self._where(at, name)))
            if len(codes) >= _VALUES:
                codes.clear()
            codes[value] = code
        return code

    def _numbers(self, reader: _Reader, records: Sequence[Record], at: Sequence[int]) -> Matrix:
        """The numbers of records, NaN where one is missing. Shape (records, numbers given)."""
        if reader.numbers is None:
            return np.empty((len(records), 0))
        given = list(map(reader.numbers, records))
        names = reader.number_names
        try:
            found = np.array(given)
        except (TypeError, ValueError, OverflowError):
            found = np.array(None)
        flat = found.ndim == (1 if len(names) == 1 else 2)  # a list of numbers is not a number
        if found.dtype.char != "d" or not flat:
            if found.dtype.kind not in "iufb" or not flat:
                rows = [each if len(names) > 1 else (each,) for each in given]
                found = np.array(
                    [
                        [_number(x, self._where(at[i], n)) for n, x in zip(names, row, strict=True)]
                        for i, row in enumerate(rows)
                    ]
                )
            with np.errstate(over="ignore"):  # of a longer float
                found = found.astype(np.float64)
        return found.reshape(len(records), len(names))

    def _add_lists(
        self, records: Sequence[Record], keys: Keys, values: Matrix, numbers: Matrix, side: Side
    ) -> Encoded:
        """Add the atoms of embeddings, tags and texts."""
        norms = np.full((len(records), len(self.embeddings)), np.nan)
        at = self._first_embedding
        for j, name in enumerate(self.embeddings):
            width = self.widths[name]
            block = slice(at, at + width)
            known = j < len(side.norms) and side.norms[j, 1] > 0
            scale = side.norms[j, 0] / side.norms[j, 1] if known else 0.0
            for i, record in enumerate(records):
                vector = _embedding(record.get(name), width, self._where(i, name))
                values[i, block] = 0.0
                if vector is None:
                    keys[i, at], values[i, at] = self._key(name, "missing"), 1.0
                    continue
                norms[i, j] = math.sqrt(float((vector * vector).sum()))
                length = scale or norms[i, j]
                if length > 0.0:
                    with np.errstate(over="ignore"):
                        values[i, block] = np.clip(vector / length, -1e3, 1e3)
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
        )

    def _words(self, name: str, value: Any, at: int) -> list[int]:
        """The keys of tags, or of the words of a text; at least one."""
        where = self._where(at, name)
        split = _words if isinstance(self.kinds[name], Text) else _tags
        codes = self._values[name]
        found = []
        for word in split(value, where) or [None]:
            code = codes.get(word)
            if code is None:
                code = self._key(name, "missing" if word is None else f"t{word}")
                if len(codes) >= _VALUES:
                    codes.clear()
                codes[word] = code
            found.append(code)
        return found


class _Book:
    """Templates that are remembered, and where each stands."""

    def __init__(self, atoms: int, size: int = 0) -> None:
        self.templates = np.empty((max(_TEMPLATES, size), atoms), np.uint64)
        self.lookups: dict[tuple[str, ...], dict[Any, int]] = {}
        self.used = 0

    def add(self, row: Keys) -> int:
        """Keep a template; return its number."""
        with _LOCK:  # threads may rank at the same time
            place = self.used
            if place == len(self.templates):
                raise _Full
            self.templates[place] = row
            self.used += 1
        return place


class _Full(Exception):
    """A book has no room left."""


_LOCK = threading.Lock()
_PLAIN = frozenset({float, int, bool})
_FIRST = np.zeros(1, np.int64)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, numeric.Real) and bool(value != value))


def _plain(value: Any) -> bool:
    return isinstance(value, numeric.Real | Decimal | np.bool_) and not isinstance(
        value, np.timedelta64
    )


def _infer(value: Any, where: str) -> Kind | None:
    """The kind of a field by one of its values; None if it is missing."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str | bool | np.bool_):
        return Category()
    if _plain(value):
        return None if _missing(value) else Number()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        if all(isinstance(each, str) for each in value):
            return Tags() if value else None
        if not isinstance(value, set | frozenset) and all(map(_plain, value)):
            return Embedding()
    raise InvalidInput(
        where, "be text, a number, a boolean, a list of numbers or of text, or None", _short(value)
    )


def _short(value: Any) -> str:
    try:
        text = f"{value!r}"
    except ValueError:  # of very many digits
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as_before(kind: str) -> str:
    return f"be {_WORDS[kind]}, as this field is {_ARTICLES[kind]}"


def _category(value: Any, strict: bool, where: str) -> str:
    """The text by which a category is known; equal values have equal texts."""
    if isinstance(value, str):
        return f"t{str.__str__(value)}"
    if _missing(value):
        return "missing"
    if _plain(value):
        try:
            whole = int(value)
            if not strict or (whole == value and whole in (0, 1)):
                return f"n{whole}" if whole == value else f"n{float(value)!r}"
        except (ArithmeticError, ValueError):  # infinite, a signalling NaN, too many digits
            pass
    raise InvalidInput(where, _as_before("category"), _short(value))


def _number(value: Any, where: str) -> float:
    """A number, NaN if it is missing."""
    if _missing(value):
        return math.nan
    if _plain(value):
        try:
            return float(value)
        except (OverflowError, ValueError):
            raise InvalidInput(where, "be within the range of a float", _short(value)) from None
    raise InvalidInput(where, _as_before("number"), _short(value))


def _listed(value: Any, kind: str, where: str) -> list[Any] | None:
    if _missing(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    raise InvalidInput(where, _as_before(kind), _short(value))


def _embedding(value: Any, width: int, where: str) -> NDArray[np.float64] | None:
    """A list of numbers, folded to its width if it is longer than any."""
    given = _listed(value, "embedding", where)
    if not given:
        return None
    try:
        if not all(map(_plain, given)):
            raise TypeError
        vector = np.array([float(each) for each in given])
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(where, _as_before("embedding"), _short(value)) from None
    if not (np.abs(vector) <= MAX_NUMBER).all():
        raise InvalidInput(where, f"hold numbers of at most {MAX_NUMBER:g}", _short(value))
    if len(vector) > MAX_EMBEDDING == width:
        return fold(vector)
    if len(vector) != width:
        raise InvalidInput(where, f"have {width} numbers", len(vector))
    return vector


def fold(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fold a long vector into ``MAX_EMBEDDING`` numbers: each is added to one, with a sign.

    Inner products are kept in the mean.
    """
    rng = np.random.Generator(np.random.PCG64(len(vector)))
    places = rng.integers(MAX_EMBEDDING, size=len(vector))
    signs = np.where(rng.integers(2, size=len(vector)) == 1, 1.0, -1.0)
    folded = np.zeros(MAX_EMBEDDING)
    np.add.at(folded, places, signs * vector)
    return folded


def _tags(value: Any, where: str) -> list[str | None]:
    given = _listed(value, "tags", where) or []
    if not all(isinstance(each, str) for each in given):
        raise InvalidInput(where, _as_before("tags"), _short(value))
    tags = sorted(set(given))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(where, f"hold at most {MAX_TAGS} tags", len(tags))
    return list(tags)


def _words(value: Any, where: str) -> list[str | None]:
    if _missing(value):
        return []
    if not isinstance(value, str):
        raise InvalidInput(where, _as_before("text"), _short(value))
    return list(dict.fromkeys(_WORD.findall(value.lower())))[:MAX_TAGS]


_WORD = re.compile(r"\w+")
_ARTICLES = {
    "category": "a category",
    "number": "a number",
    "text": "a text",
    "tags": "a set of tags",
    "embedding": "an embedding",
}
