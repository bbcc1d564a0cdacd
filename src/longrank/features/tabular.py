"""Numbers in any units: what a learner sees of them does not depend on scale or shape."""

from __future__ import annotations

import itertools
import math
import sys
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.contents import numbers, whole, wholes
from longrank.decision import Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.features.base import Encoded, Features
from longrank.features.scale import EMBEDDED, ENOUGH, LATER, REACH, Scale, rounded
from longrank.kernels import BEND, LEVEL, PRODUCT
from longrank.packing import Tree

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Shape = tuple[int, int, int, float, float, float]  # kind, first, second, low, high, scale

SAMPLE = 256  # rows by which columns are judged
DIRECTIONS = 16  # columns, or sums of columns, of which products are made
LEVELS = 12  # different numbers up to which each gets a column of its own
MAX_BENDS, MAX_LEVELS = 128, 256  # columns of each kind
_BENDS, _PRODUCTS = 0.7, 0.7  # the norm of its bends, and of its products
_MAX = sys.float_info.max
_CARRIED = 8_192  # numbers that a receipt carries for the sample, unless a few rows have more


class Numbers:
    """The candidates of a round, as they came, and how they become rows."""

    def __init__(self, items: NDArray[np.floating], view: kernels.View) -> None:
        self.items = items
        self.view = view

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def rows(self) -> Matrix:
        return kernels.expand_rows(self.items, self.view)


class Tabular(Features):
    """Rows for columns of numbers in any units, which need no scaling.

    A sample of the candidates shows how each column is distributed. A row has the normal score of
    each number (its rank in its column, on the scale of a standard normal distribution, so units,
    shifts and heavy tails do not matter), a constant, and shapes that are added once the sample is
    large enough:

    - the products of the scores of up to 16 columns, or of the 16 leading principal components
      if there are more;
    - the absolute value of each score, so that the middle can be best;
    - an indicator for each number of a column with at most 12 distinct ones.

    A column with two distinct numbers counts as 0 (the more frequent one) and 1, and gets no
    further shapes, so that your own indicators stay unchanged. A duplicate column is ignored.

    Rows that all have the same norm are embeddings. Their numbers share one unit, and their
    relative sizes are meaningful, so they are used as they are, with products but no other shapes.

    The sample is learned: until it is full, receipts carry some of their candidates unchanged, and
    learning adds them. So rows grow with what is known (``length``), and ranking changes nothing.
    Until the sample is full, the candidates of the current round help out.

    Parameters
    ----------
    dim
        The number of columns.

    Examples
    --------
    >>> features = Tabular(3)
    >>> features.length
    4
    """

    max_square = 1e6
    independent = True
    grows = True
    kind = "tabular"
    contents: ClassVar = {
        "dim": whole(1),
        "sample": numbers("rows", "dim", minimum=-_MAX, maximum=_MAX),
        "directions": numbers("m", "dim"),
        "offsets": numbers("m"),
        "kinds": wholes("shapes", maximum=LEVEL),
        "first": wholes("shapes"),
        "second": wholes("shapes"),
        "bounds": numbers("shapes", 3, minimum=-math.inf, maximum=math.inf),
    }

    def __init__(self, dim: int) -> None:
        self.dim = checks.whole("dim", dim, minimum=1)
        self.first_length = self.dim + 1
        self.sample = np.empty((0, self.dim))
        self.directions, self.offsets = np.empty((0, self.dim)), np.empty(0)
        self.shapes: kernels.Shapes = (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty((0, 3)),
        )
        self._scale: Scale | None = None  # of a full sample
        self._marks: NDArray[np.bool_] | None = None  # as they were found last

    @property
    def length(self) -> int:
        """The current length of a row: the ``dim`` of the learner."""
        return self.first_length + len(self.shapes[0])

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether the sample is full, so that rows no longer grow."""
        return len(self.sample) == SAMPLE

    def encode(
        self,
        items: ArrayLike,
        dim: int | None,  # noqa: ARG002
        lazy: bool = False,  # noqa: ARG002
    ) -> Encoded:
        array, scale = self._checked(items), self._scale
        if scale is None:
            first = self.sample if len(self.sample) else _some(array, ENOUGH)
            scale = Scale.fit(np.concatenate([first, _some(array, SAMPLE)]))
        view = scale.curves, scale.scale, self.directions, self.offsets, self.shapes
        return Numbers(array, view)

    def check(self, items: ArrayLike) -> None:
        self._checked(items)

    def _checked(self, items: ArrayLike) -> NDArray[np.floating]:
        array = checks.shaped(items, None)
        if len(array) == 0:
            array = np.empty((0, self.dim))
        if array.shape[1] != self.dim:
            raise InvalidInput("items", f"have {self.dim} columns", array.shape[1])
        row, square = kernels.worst_row(array)
        if not square < math.inf:
            checks.rows(array, row, square, unit=False)
        return array

    def along(self, candidates: Encoded, order: NDArray[np.int64]) -> Matrix:
        return kernels.expand_rows(candidates.items[order], candidates.view)

    def rows(self, candidates: Encoded) -> Matrix:
        rows: Matrix = candidates.rows
        return rows

    def marks(self) -> NDArray[np.bool_]:
        """Which columns of a row mark candidates: numbers of two values, and levels."""
        if self._marks is not None:
            return self._marks
        marked = np.zeros(self.length, np.bool_)
        if self._scale is not None:
            marked[: self.dim] = self._scale.curves[-1] <= 2
        elif len(self.sample):
            marked[: self.dim] = Scale.fit(self.sample).curves[-1] <= 2
        marked[self.dim + 1 :] = self.shapes[0] == LEVEL
        self._marks = marked
        return marked

    def carried(self, candidates: Encoded) -> Matrix | None:
        wanted = SAMPLE - len(self.sample)
        if not wanted or not len(candidates):
            return None
        wanted = min(wanted, ENOUGH if len(self.sample) < ENOUGH else LATER)
        return _some(candidates.items, min(wanted, max(_CARRIED // self.dim, LATER)))

    def recall(self, ranking: Ranking, count: int) -> Matrix:
        rows = ranking.rows(count)
        if ranking.sample is not None and ranking.sample.shape[1] != self.dim:
            rule = f"carry candidates of {self.dim} columns"
            raise InvalidInput("ranking", rule, ranking.sample.shape[1])
        missing = self.length - rows.shape[1]  # of shapes that were added since
        return rows if missing <= 0 else np.pad(rows, ((0, 0), (0, missing)))

    def adapt(self, ranking: Ranking) -> int:
        if ranking.sample is not None and not self.settled:
            self._take(ranking.sample)
        return self.length

    def _take(self, carried: Matrix) -> None:
        """Add rows to the sample, and the shapes that it then asks for."""
        before, self._marks = len(self.sample), None
        self.sample = np.concatenate([self.sample, carried])[:SAMPLE]
        if self.settled:
            self._scale = Scale.fit(self.sample)
        if self.settled or before < ENOUGH <= len(self.sample):
            self._add_shapes(self._scale or Scale.fit(self.sample))

    def _add_shapes(self, scale: Scale) -> None:
        """Add what the sample asks for and the rows do not have yet."""
        counts = scale.curves[-1]
        scored = kernels.normal_scores(self.sample, scale.curves).T
        numeric = np.flatnonzero(counts > 2)
        known = set(zip(*(each.tolist() for each in self.shapes[:3]), strict=True))
        added: list[Shape] = []
        if not scale.embedded:
            added += self._bends(numeric) + self._levels(numeric, scale.scale / REACH)
        added += self._products(numeric, scored, scale.embedded)
        added = [each for each in added if each[:3] not in known]
        if added:
            table = np.array(added)
            whole = table[:, :3].astype(np.int64)
            kinds, first, second, bounds = self.shapes
            self.shapes = (
                np.append(kinds, whole[:, 0]),
                np.append(first, whole[:, 1]),
                np.append(second, whole[:, 2]),
                np.concatenate([bounds, table[:, 3:]]),
            )

    def _bends(self, numeric: NDArray[np.int64]) -> list[Shape]:
        """The size of each score, unless there are too many."""
        size = _BENDS / math.sqrt(max(len(numeric), 1))
        few = len(numeric) <= MAX_BENDS
        return [(BEND, j, 0, 0.0, 0.0, size) for j in numeric.tolist()] if few else []

    def _levels(self, numeric: NDArray[np.int64], size: float) -> list[Shape]:
        """An indicator for each number of columns that have few, as long as there is room."""
        kinds, first, _, _ = self.shapes
        known = set(first[kinds == LEVEL].tolist())
        added: list[Shape] = []
        room = MAX_LEVELS - int((kinds == LEVEL).sum())
        for j in numeric.tolist():
            values = np.unique(self.sample[:, j])
            if j not in known and len(values) <= min(LEVELS, room):
                edges = [-math.inf, *(0.5 * (values[1:] + values[:-1])).tolist(), math.inf]
                bounds = enumerate(itertools.pairwise(edges))
                added += [(LEVEL, j, at, low, high, size) for at, (low, high) in bounds]
                room -= len(values)
        return added

    def _products(self, numeric: NDArray[np.int64], scored: Matrix, embedded: bool) -> list[Shape]:
        """The products of up to 16 columns, or of as many directions that are sums of columns."""
        if len(self.directions):
            return []
        chosen, parts = numeric, scored[:, numeric]
        if len(numeric) > DIRECTIONS:
            if any(self.shapes[0] == PRODUCT):  # of the columns that came first
                return []
            centre = parts.mean(axis=0)
            _, sizes, axes = np.linalg.svd(parts - centre, full_matrices=False)
            kept = min(DIRECTIONS, int((sizes > 1e-6 * sizes[0]).sum()))
            axes = axes[:kept]
            if not embedded:  # half-way between their own sizes and equal ones
                axes = axes / np.sqrt(sizes[:kept, np.newaxis])
            axes *= np.sign(axes[np.arange(kept), np.abs(axes).argmax(axis=1)])[:, np.newaxis]
            axes = axes.round(6)  # the last bits of LAPACK depend on the machine
            self.directions = np.zeros((kept, self.dim))
            self.directions[:, numeric] = axes
            self.offsets = (axes @ centre).round(6)
            chosen = self.dim + np.arange(kept)
            parts = scored @ self.directions.T - self.offsets
        square = float((parts**2).sum(axis=1).mean()) if len(chosen) else 1.0
        size = rounded((EMBEDDED if embedded else _PRODUCTS) / square)
        return [
            (PRODUCT, int(a), int(b), 0.0, 0.0, size if a == b else math.sqrt(2.0) * size)
            for at, a in enumerate(chosen)
            for b in chosen[at:]
        ]

    def view(self) -> Self:
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)  # nothing is written in place
        return viewed

    def state(self) -> Tree:
        kinds, first, second, bounds = self.shapes
        return {
            "dim": self.dim,
            "sample": self.sample,
            "directions": self.directions,
            "offsets": self.offsets,
            "kinds": kinds,
            "first": first,
            "second": second,
            "bounds": bounds,
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        features = cls(state["dim"])
        features.sample, features.directions = state["sample"], state["directions"]
        features.offsets, bounds = state["offsets"], state["bounds"]
        kinds, first, second = (state[name] for name in ("kinds", "first", "second"))
        columns = features.dim + len(features.directions)
        if not (
            len(features.sample) <= SAMPLE
            and all((each < columns).all() for each in (first, second))
            and ((first < features.dim) | (kinds == PRODUCT)).all()
            and np.isfinite(bounds[:, 2]).all()
        ):
            raise BadFile("the parts of a tabular feature map do not fit together")
        features.shapes = kinds, first, second, bounds
        if features.settled:
            features._scale = Scale.fit(features.sample)
        return features

    def __repr__(self) -> str:
        return f"Tabular({self.dim})"


def _some(items: NDArray[np.floating], count: int) -> Matrix:
    """Up to ``count`` rows, evenly spaced."""
    if len(items) > count:
        items = items[np.arange(count) * len(items) // count]
    return np.array(items, np.float64)
