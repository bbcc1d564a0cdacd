"""Sparse rows: what a learner scores and learns from if candidates are records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Indices, Keys, Matrix
from longrank.contents import show
from longrank.errors import BadFile
from longrank.packing import Tree


class Slot(NamedTuple):
    """A field as it stands in a row: its name, its kind, and how many atoms it takes."""

    name: str
    kind: str
    width: int

    @property
    def numbers(self) -> int:
        """How many numbers a candidate has in this field."""
        return self.width if self.kind == "embedding" else int(self.kind == "number")


class Layout(NamedTuple):
    """The fields of the candidates and of the context, in the order of their atoms.

    The first atom of a candidate is the constant, which belongs to no field. ``dense`` are the
    fields of candidates whose numbers make the dense block, in the order of its columns.
    """

    candidate: tuple[Slot, ...]
    context: tuple[Slot, ...]
    dense: tuple[Slot, ...] = ()


class Plan(NamedTuple):
    """Which entries the atoms form: see :mod:`longrank.kernels.sparse`.

    ``labels[p]`` is the index in ``names`` of what entry p speaks for: the names of a field of the
    candidates and of one of the context; None for the constant, or where there is no second one.
    ``lists`` says whether there are fields of lists. ``shared[i]`` is what the context's field of
    label i is called, told apart from one of the candidates; None if it has none.
    """

    left: Indices
    right: Indices
    groups: Keys
    labels: Indices
    names: tuple[tuple[str | None, str | None], ...]
    lists: bool = False
    shared: tuple[str | None, ...] = ()


@dataclass(slots=True)
class SparseRows:
    """Rows as atoms, before they are crossed: keys and numbers, of candidates and of the context.

    Attributes
    ----------
    layout
        The fields that the atoms represent.
    keys, numbers
        The atoms of the candidates, each of shape (k, atoms).
    context_keys, context_numbers
        The atoms that all candidates share.
    raw, context_raw
        The original numbers, from which the schema learns their scale: shape (k, number fields)
        and (1, number fields); NaN is missing.
    plan
        How the atoms are crossed; None after reading from a file, until a schema builds it.
    dense
        The rows of the dense block, shape (k, dim), which a receipt keeps beside the atoms; None
        where there is no such block.
    items
        The numbers of all candidates of which the dense block is made, shape (k, numbers); None
        without them, and in a receipt.
    """

    layout: Layout
    keys: Keys
    numbers: Matrix
    context_keys: Keys
    context_numbers: NDArray[np.float64]
    raw: Matrix
    context_raw: Matrix
    plan: Plan | None = None
    dense: Matrix | None = None
    items: Matrix | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def but(self, **changes: Any) -> SparseRows:
        """Return a copy with other attributes, which takes half as long as ``replace``."""
        return SparseRows(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def take(self, order: Sequence[int] | Indices | slice) -> SparseRows:
        """Return some of the rows, in the order given."""
        dense = None if self.dense is None else self.dense[order]
        keys, numbers, raw = self.keys[order], self.numbers[order], self.raw[order]
        return self.but(keys=keys, numbers=numbers, raw=raw, dense=dense, items=None)

    @property
    def dim(self) -> int:
        """How many columns the dense block has."""
        return 0 if self.dense is None else self.dense.shape[1]

    def block(self, dim: int) -> Matrix:
        """Return the rows of the dense block with ``dim`` columns: those that were added are 0."""
        if self.dense is None:
            return np.zeros((len(self), dim))
        missing = dim - self.dense.shape[1]
        return self.dense if missing <= 0 else np.pad(self.dense, ((0, 0), (0, missing)))

    def arrays(self) -> tuple[Keys, Matrix, tuple[Keys, NDArray[np.float64]]]:
        """Return the atoms in the form that the kernels take."""
        return self.keys, self.numbers, (self.context_keys, self.context_numbers)

    def state(self) -> Tree:
        """Return all but the plan, as a tree for :mod:`longrank.packing`."""
        return {
            "candidate": [list(field) for field in self.layout.candidate],
            "context": [list(field) for field in self.layout.context],
            "dense": [list(field) for field in self.layout.dense],
        } | {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_state(cls, state: Tree) -> SparseRows:
        """Rebuild the rows that :meth:`state` described."""
        if not isinstance(state, dict):
            raise BadFile(f"not the rows of a ranking: a {type(state).__name__}")
        try:
            candidate, context = (_slots(state[side]) for side in ("candidate", "context"))
            dense = read_dense(state["dense"])
            count, shared = len(state["keys"]), sum(field.width for field in context)
            atoms = 1 + sum(field.width for field in candidate)
            shapes = {
                "keys": (count, atoms),
                "numbers": (count, atoms),
                "context_keys": (shared,),
                "context_numbers": (shared,),
                "raw": (count, _measured(candidate)),
                "context_raw": (1, _measured(context)),
            }
            arrays: dict[str, Any] = {
                name: _array(state[name], dtype).reshape(shapes[name])
                for name, dtype in _ARRAYS.items()
            }
            for name in ("numbers", "context_numbers"):  # a learner would never recover
                if not (np.abs(arrays[name]) <= MAX_ATOM).all():
                    raise ValueError(f"numbers must be at most {MAX_ATOM:g}")
            if any(np.isinf(arrays[name]).any() for name in ("raw", "context_raw")):
                raise ValueError("raw numbers must be finite or missing")
            for fields, name in ((candidate, "raw"), (context, "context_raw")):
                measured = [field.kind for field in fields if field.kind in MEASURED]
                if "embedding" in measured:
                    norms = arrays[name][:, np.array(measured) == "embedding"]
                    if ((norms < 0.0) | (norms > MAX_NORM)).any():
                        raise ValueError(f"norms must be from 0 to {MAX_NORM:g}")
            return cls(Layout(candidate, context, dense), **arrays)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadFile(f"not the rows of a ranking: {error!s:.200}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseRows):
            return NotImplemented
        if not np.array_equal(self.block(self.dim), other.block(self.dim)):
            return False
        return self.layout == other.layout and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=dtype is np.float64)
            for name, dtype in _ARRAYS.items()
        )

    __hash__ = None  # type: ignore[assignment]


_ARRAYS: dict[str, Any] = {
    "keys": np.uint64,
    "numbers": np.float64,
    "context_keys": np.uint64,
    "context_numbers": np.float64,
    "raw": np.float64,
    "context_raw": np.float64,
}

MEASURED = ("number", "embedding")  # the kinds whose scale is learned
LISTS = ("tags", "embedding")  # those whose values are lists
MAX_DENSE = 256  # numbers of the candidates that make the dense block
MAX_ATOM = 1e3  # of an atom's number, so that squares of products stay finite
MAX_WIDTH = 256  # of a field, in atoms
MAX_FIELDS = 256  # of the candidates, and of the context
MAX_NORM = 1e103  # of an embedding, whose numbers are at most 1e100
_ANY = range(1, MAX_WIDTH + 1)
_WIDTHS = {"number": (2,), "category": (1,), "embedding": _ANY, "tags": _ANY, "text": _ANY}


def dense_fields(fields: Sequence[Slot]) -> tuple[Slot, ...]:
    """Return which fields of candidates make the dense block, as long as there is room."""
    chosen, room = [], MAX_DENSE
    for field in fields:
        if field.kind in MEASURED and field.numbers <= room:
            chosen.append(field)
            room -= field.numbers
    return tuple(chosen)


def read_dense(fields: Sequence[Any]) -> tuple[Slot, ...]:
    """Read the fields of a dense block."""
    dense = _slots(fields)
    if any(f.kind not in MEASURED for f in dense) or sum(f.numbers for f in dense) > MAX_DENSE:
        raise ValueError(f"a dense block is made of at most {MAX_DENSE} numbers")
    return dense


def _slots(fields: Sequence[Any]) -> tuple[Slot, ...]:
    """Read the fields of a side; the kernels trust their widths."""
    slots: dict[str, Slot] = {}
    if len(fields) > MAX_FIELDS:
        raise ValueError(f"there must be at most {MAX_FIELDS} fields, got {len(fields)}")
    for name, kind, width in fields:
        if not isinstance(name, str) or kind not in _WIDTHS:
            raise ValueError(f"unknown kind of field {show(kind)}")
        if name in slots or int(width) not in _WIDTHS[kind]:
            raise ValueError(f"field {show(name)} stands twice, or has a width of {show(width)}")
        slots[name] = Slot(name, kind, int(width))
    return tuple(slots.values())


def _array(value: Any, dtype: Any) -> NDArray[Any]:
    """Make an array of lists; one that is read must be of this type already."""
    if isinstance(value, np.ndarray) and value.dtype.newbyteorder("=") != dtype:
        raise ValueError(f"an array of {value.dtype} in place of {np.dtype(dtype)}")
    return np.array(value, dtype)


def _measured(fields: tuple[Slot, ...]) -> int:
    return sum(field.kind in MEASURED for field in fields)
