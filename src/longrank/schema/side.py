"""One side of a schema: the fields of the candidates, or those of the context."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from longrank import kernels
from longrank.arrays import Matrix, Vector
from longrank.contents import Broken, Contents, Sizes, listed, mapped, numbers, show, whole, wholes
from longrank.errors import BadFile
from longrank.kernels.numbers import SAMPLE
from longrank.packing import Tree
from longrank.rows import MAX_FIELDS, MEASURED, Slot
from longrank.schema.coder import MAX_NORM, Coder, Encoded
from longrank.schema.kinds import (
    KINDS,
    Category,
    Embedding,
    Kind,
    Number,
    checked_name,
    read_kind,
    shown,
    spell,
    spelled,
)
from longrank.schema.prices import PRICES
from longrank.schema.values import ID, MAX_EMBEDDING, Record, infer, read_list

MAX_EMBEDDED = 1024  # numbers of all their embeddings: each known one lengthens every row
_MAX = sys.float_info.max
_FEW = 10  # norms, of which one may have been an outlier that the next ones correct


def _field(value: Any, sizes: Sizes) -> None:
    """A known field: its name, and its kind as written to files."""
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], str):
        raise Broken("begin with a name", show(value))
    spelled(value[1:], sizes)


class Side:
    """The fields of the candidates, or those of the context, and what is known about them.

    A field is known once the model has learned from a record with it. Until then its kind is
    inferred again in every round. Fields beyond ``MAX_FIELDS`` are left out.
    """

    contents: ClassVar[Contents] = {
        "known": listed(_field, MAX_FIELDS),
        "widths": mapped(whole(1, MAX_EMBEDDING), MAX_FIELDS),
        "samples": numbers("numbers", SAMPLE, minimum=-_MAX, maximum=_MAX),
        "sizes": wholes("numbers", maximum=SAMPLE),
        "seen": wholes("numbers"),
        "norms": numbers("embeddings", 2, minimum=0.0),
    }

    def __init__(self, name: str, declared: Mapping[str, Kind], ignored: frozenset[str]) -> None:
        self.name, self.declared = name, declared
        self._unused = ignored
        self.known: dict[str, Kind] = {}
        self.widths: dict[str, int] = {}  # of embeddings
        self.samples = np.zeros((0, SAMPLE))  # of number fields, in order of arrival
        self.sizes, self.seen = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.norms = np.zeros((0, 2))  # of embeddings: their sum and their number
        self.left_out: dict[str, None] = {}  # fields beyond the limits, the latest of them
        self._coders: dict[tuple[Any, ...], Coder] = {}
        self._coder = self._coder_of(self.known, self.widths)

    @property
    def prices(self) -> frozenset[str]:
        """The fields that hold costs and values of candidates, which are not features."""
        if self.name != "candidate":
            return frozenset()
        return PRICES - self.declared.keys() - self._unused

    @property
    def ignored(self) -> frozenset[str]:
        """The fields that are not part of rows."""
        return self._unused | self.prices

    def encode(self, records: Sequence[Record]) -> Encoded:
        """Return the atoms of records. Does not change the side."""
        encoded = self._coder.encode_complete(records, self)
        if encoded is not None:
            return encoded
        shapes = set(map(tuple, records))
        coder = self._coder
        if not coder.reads(shapes):
            coder = self._extended(records)
            coder.reads(shapes)
        return coder.encode(records, shapes, self)

    def encode_one(self, record: Record) -> Encoded:
        """Return the atoms of one record, whose combination of categories rarely recurs."""
        encoded = self._coder.encode_one(record, self)
        return self.encode([record]) if encoded is None else encoded

    def _extended(self, records: Sequence[Record]) -> Coder:
        """Return a coder that also knows the new fields of these records."""
        kinds, widths = dict(self.known), dict(self.widths)
        beyond: dict[str, None] = {}
        for i, record in enumerate(records):
            for name, value in record.items():
                if name in self.known or name in self.ignored or name in beyond:
                    continue
                if name not in kinds and not self._room(checked_name(name), kinds):
                    beyond[name] = None
                    continue
                kind = self.declared.get(name) or infer(value, self._where(i, name))
                if name == ID:
                    kind = kind and Category()
                if kind is None:
                    continue
                kinds.setdefault(name, kind)
                if isinstance(kinds[name], Embedding) and name not in widths:
                    given = read_list(value, "embedding", self._where(i, name))
                    if given and not _fits(len(given), widths):
                        del kinds[name]
                        beyond[name] = None
                    elif given:
                        widths[name] = min(len(given), MAX_EMBEDDING)
        for name in beyond:
            self.left_out.pop(name, None)
            self.left_out[name] = None
            if len(self.left_out) > MAX_FIELDS:
                self.left_out.pop(next(iter(self.left_out)), None)
        return self._coder_of(kinds, widths)

    def _room(self, name: str, kinds: Mapping[str, Kind]) -> bool:
        """Whether a further field can join; there is always room for the id and declared ones."""
        reserved = [] if name == ID or name in self.declared else [ID, *self.declared]
        return len(kinds) + sum(each not in kinds for each in reserved) < MAX_FIELDS

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
        """Learn the fields and the numbers of observed records.

        A field that is known or declared as another kind stays what it is.
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
                    at, norms = coder.embeddings.index(name), raw[:, j][~np.isnan(raw[:, j])]
                    if len(norms):
                        self.norms[at] = _count_norms(self.norms[at], norms)
        if coder.logs.any():  # of another schema's receipt, which may have no logarithm
            numbers = np.where(coder.logs & (numbers <= 0.0), np.nan, numbers)
        kernels.observe_numbers(numbers, self.samples, self.sizes, self.seen)

    def _join(self, fields: Sequence[Slot]) -> None:
        """Add fields that are new."""
        for name, kind, width in fields:
            if name in self.known or not self._room(name, self.known):
                continue
            known = Category() if name == ID else self.declared.get(name, KINDS[kind]())
            if known.name != kind:  # of another schema's receipt
                continue
            if kind == "embedding" and not _fits(width, self.widths):
                continue
            self.known[name] = known
            if kind == "number":
                self.samples = np.vstack([self.samples, np.zeros((1, SAMPLE))])
                self.sizes, self.seen = np.append(self.sizes, 0), np.append(self.seen, 0)
            elif kind == "embedding":
                self.widths[name] = width
                self.norms = np.vstack([self.norms, np.zeros((1, 2))])
        self._coder = self._coder_of(self.known, self.widths)

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
        """Restore what :meth:`state` returned."""
        self.known = {name: read_kind(kind) for name, *kind in state["known"]}
        self.widths = {name: int(width) for name, width in state["widths"].items()}
        for part in ("samples", "sizes", "seen", "norms"):
            setattr(self, part, state[part].copy())
        if not self._fits_together(len(state["known"])):
            raise BadFile(f"the parts of a schema's {self.name!r} do not fit together")
        self._coder = self._coder_of(self.known, self.widths)

    def _fits_together(self, fields: int) -> bool:
        """Whether there is a sample for every number, and a width and norms for every embedding."""
        kinds = self.known.values()
        numbers = [kind for kind in kinds if isinstance(kind, Number)]
        embeddings = [name for name, kind in self.known.items() if isinstance(kind, Embedding)]
        if not (
            len(self.known) == fields
            and len(self.sizes) == len(numbers)
            and len(self.norms) == len(embeddings)
            and self.widths.keys() == set(embeddings)
        ):
            return False
        logs = [kind.log for kind in numbers]
        used = np.arange(SAMPLE) < self.sizes[:, np.newaxis]
        return bool((self.samples[logs] > 0.0)[used[logs]].all())


def _fits(size: int, widths: Mapping[str, int]) -> bool:
    """Whether there is room for an embedding of ``size`` numbers."""
    return sum(widths.values()) + min(size, MAX_EMBEDDING) <= MAX_EMBEDDED


def _count_norms(seen: Matrix, norms: Vector) -> tuple[float, float]:
    """Add norms to the sum and the number of those seen, so that no single one sets the scale.

    A norm counts at most as ``MAX_NORM`` times the mean so far; so does the mean of the first few
    in terms of what follows.
    """
    total, count = seen.tolist()
    typical = float(np.median(norms))
    if count < _FEW and typical > 0.0:
        total = min(total, MAX_NORM * typical * count)
    mean = total / count if count else typical
    if mean > 0.0:
        norms = np.minimum(norms, MAX_NORM * mean)
    return total + float(norms.sum()), count + len(norms)
