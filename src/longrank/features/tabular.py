"""Numbers in any units: what a learner sees of them does not depend on scale or shape."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.arrays import Flags, Indices, Matrix, Vector
from longrank.contents import numbers, whole, wholes
from longrank.errors import BadFile
from longrank.kernels import BEND, KNOTS, LEVEL, MISSING, PRODUCT
from longrank.packing import Tree
from longrank.parts import Part
from longrank.rows import Plan, Slot

Shape = tuple[int, int, int, float, float, float]  # kind, first, second, low, high, scale

SAMPLE = 256  # rows by which columns are judged
DIRECTIONS = 16  # columns, or sums of columns, of which products are made
LEVELS = 12  # different numbers up to which each gets a column of its own
MAX_BENDS, MAX_LEVELS = 128, 256  # columns of each kind
_BENDS, _PRODUCTS = 0.7, 0.7  # the norm of its bends, and of its products
_MAX = sys.float_info.max
ENOUGH = 64  # rows from which shapes are added
LATER = 16  # rows that a receipt adds once there are enough
REACH = 1.5  # the norm of a typical row's scores
EMBEDDED = 1.0  # that of an embedding, and of its products
_SAME, _MOST = 0.003, 0.95  # how far norms may differ that count as one, and in how many rows
_VARYING = 0.1  # least share of an embedding's square that differs between rows
_CARRIED = 8_192  # numbers that a receipt carries for the sample, unless a few rows have more


@dataclass(frozen=True)
class Scale:
    """What a sample says of the columns: the curve of each, and the scale of their scores."""

    curves: kernels.Curves
    scales: Vector
    embedded: Flags

    @classmethod
    def fit(cls, sample: Matrix, groups: Sequence[int]) -> Scale:
        """Fit the columns of a sample; those of a group may be an embedding."""
        d = sample.shape[1]
        knots, scores, slopes = np.zeros((d, KNOTS)), np.zeros((d, KNOTS)), np.zeros((d, KNOTS))
        counts, scales, embedded = np.ones(d, np.int64), np.zeros(d), np.zeros(d, np.bool_)
        start = 0
        for size in groups:
            some = slice(start, start + size)
            norm, start = _common_norm(sample[:, some]), start + size
            if norm is not None:  # their relative sizes mean something: as they are
                knots[some], end = math.inf, math.sqrt(size)
                knots[some, :3], scores[some, :3] = (-norm, 0.0, norm), (-end, 0.0, end)
                slopes[some, :2], counts[some], scales[some] = end / norm, 3, EMBEDDED / end
                embedded[some] = True
        if not embedded.any():
            return cls._of_columns(sample)
        others = np.flatnonzero(~embedded)
        own = cls._of_columns(np.ascontiguousarray(sample[:, others]))
        for filled, fitted in zip((knots, scores, slopes, counts), own.curves[1:], strict=True):
            filled[others] = fitted
        scales[others] = own.scales
        curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        return cls(curves, scales, embedded)

    @classmethod
    def _of_columns(cls, sample: Matrix) -> Scale:
        d = sample.shape[1]
        knots, scores = np.zeros((d, KNOTS)), np.zeros((d, KNOTS))
        counts = np.ones(d, np.int64)
        for j in range(d):
            there = sample[sample[:, j] != MISSING, j]
            values, often = np.unique(there if len(there) else [0.0], return_counts=True)
            n, numeric = often.sum(), len(values) > 2
            middles = (np.cumsum(often) - 0.5 * often) / n
            if len(values) > KNOTS:
                kept = np.searchsorted(middles, np.linspace(middles[0], middles[-1], KNOTS))
                kept = np.unique(np.minimum(kept, len(values) - 1))
                values, middles = values[kept], middles[kept]
            counts[j] = len(values)
            knots[j, : len(values)] = values
            if numeric:
                scores[j, : len(values)] = [_normal_quantile(each) for each in middles]
            elif len(values) == 2:  # the more frequent is 0, in the first rows: so it stays so
                low = (there[:ENOUGH] == values[0]).mean()
                scores[j, :2] = (0.0, 1.0) if low >= 0.5 else (1.0, 0.0)
        slopes = np.zeros((d, KNOTS))
        with np.errstate(all="ignore"):  # of numbers that are nearly equal, or as far apart
            slopes[:, :-1] = np.diff(scores) / np.diff(knots)
        slopes[(np.arange(KNOTS) >= counts[:, np.newaxis] - 1) | ~np.isfinite(slopes)] = 0.0
        knots[np.arange(KNOTS) >= counts[:, np.newaxis]] = math.inf
        curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        scored = kernels.normal_scores(sample, curves)
        repeated = _repeated(scored, counts)
        if repeated:
            for numbers_of in (scored, scores, slopes):
                numbers_of[repeated] = 0.0
            counts[repeated] = 2
            curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        square = float((scored**2).sum()) / max(len(sample), 1)
        scale = _rounded(REACH / math.sqrt(square)) if square > 0.0 else REACH
        return cls(curves, np.full(d, scale), np.zeros(d, np.bool_))


_NO_KNOTS, _NONE = np.zeros((0, KNOTS)), np.zeros(0, np.int64)
_NO_CURVES = np.zeros((0, 256), np.uint8), _NO_KNOTS, _NO_KNOTS, _NO_KNOTS, _NONE
_NO_SHAPES = _NONE, _NONE, _NONE, np.zeros((0, 3))
# The view of no columns.
NOTHING: kernels.View = _NO_CURVES, np.zeros(0), np.zeros((0, 0)), np.zeros(0), _NO_SHAPES


class Numbers:
    """The candidates of a round, as they came, and how they become rows."""

    def __init__(self, items: NDArray[np.floating], view: kernels.View) -> None:
        self.items, self.view = items, view

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def rows(self) -> Matrix:
        return kernels.expand_rows(self.items, self.view)

    def along(self, order: Indices) -> Matrix:
        """Return the rows of some candidates."""
        return kernels.expand_rows(self.items[order], self.view)

    def labelled(self, plan: Plan, fields: Sequence[Slot]) -> tuple[Plan, Indices]:
        """Return the labels of the columns, and a plan with those that it lacks.

        A column speaks for its field, a product for two; sums of many columns have no label.
        """
        own = [field.name for field in fields for _ in range(field.numbers)]
        labels = {pair: i for i, pair in enumerate(plan.names) if plan.shared[i] is None}

        def label(*pair: str | None) -> int:
            return labels.setdefault(pair, len(plan.names) + len(labels) - known)  # type: ignore[arg-type]

        known, (kinds, first, second, _) = len(labels), self.view[4]
        columns = [label(name, None) for name in own] + [0]
        for kind, a, b in zip(kinds.tolist(), first.tolist(), second.tolist(), strict=True):
            if kind != PRODUCT:
                columns.append(label(own[a], None))
            elif max(a, b) >= len(own):
                columns.append(0)
            else:
                columns.append(label(own[a], None if own[a] == own[b] else own[b]))
        added = list(labels)[known:]
        shared = (*plan.shared, *[None] * len(added))
        return plan._replace(names=(*plan.names, *added), shared=shared), np.array(columns)

    @cached_property
    def marks(self) -> Flags:
        """Which columns of a row mark candidates: numbers of two values, and levels."""
        curves, _, _, _, shapes = self.view
        return np.concatenate([curves[-1] <= 2, [False], shapes[0] == LEVEL])


class Tabular(Part):
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

    kind = "tabular"
    contents: ClassVar = {
        "dim": whole(1),
        "groups": wholes("groups", minimum=1),
        "sample": numbers("rows", "dim", minimum=-_MAX, maximum=_MAX),
        "directions": numbers("m", "dim"),
        "offsets": numbers("m"),
        "kinds": wholes("shapes", maximum=LEVEL),
        "first": wholes("shapes"),
        "second": wholes("shapes"),
        "bounds": numbers("shapes", 3, minimum=-math.inf, maximum=math.inf),
    }

    def __init__(self, dim: int, groups: Sequence[int] | None = None) -> None:
        self.dim = checks.whole("dim", dim, minimum=1)
        self.groups = (self.dim,) if groups is None else tuple(groups)
        self.sample = np.empty((0, self.dim))
        self.directions, self.offsets = np.empty((0, self.dim)), np.empty(0)
        self.shapes: kernels.Shapes = (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty((0, 3)),
        )
        self.length = self.dim + 1  # of a row
        self._scale: Scale | None = None  # of a full sample
        self._recent: tuple[Matrix | None, Any] = None, None  # the last candidates, and their scale

    @property
    def settled(self) -> bool:
        """Whether the sample is full, so that rows no longer grow."""
        return len(self.sample) == SAMPLE

    def encode(self, array: NDArray[np.floating]) -> tuple[Numbers, Matrix | None]:
        """Return the numbers of a round, and how they become rows.

        Also some of them for the sample of whoever learns from the round, until that is full.
        """
        scale = self._scale
        if scale is None:
            some = _some(array, SAMPLE)
            known, scale = self._recent
            if known is None or not np.array_equal(some, known):  # often the same again
                first = self.sample if len(self.sample) else _some(array, ENOUGH)
                scale = Scale.fit(np.concatenate([first, some]), self.groups)
                self._recent = some, scale
        view = scale.curves, scale.scales, self.directions, self.offsets, self.shapes
        sample, wanted = None, SAMPLE - len(self.sample)
        if wanted and len(array):
            wanted = min(wanted, ENOUGH if len(self.sample) < ENOUGH else LATER)
            sample = _some(array, min(wanted, max(_CARRIED // self.dim, LATER)))
        return Numbers(array, view), sample

    def take(self, carried: Matrix) -> None:
        """Add candidates to the sample until it is full, and the shapes that it then asks for."""
        if self.settled:
            return
        before = len(self.sample)
        self.sample = np.concatenate([self.sample, carried])[:SAMPLE]
        self._recent = None, None
        if self.settled:
            self._scale = Scale.fit(self.sample, self.groups)
        if self.settled or before < ENOUGH <= len(self.sample):
            self._add_shapes(self._scale or Scale.fit(self.sample, self.groups))

    def _add_shapes(self, scale: Scale) -> None:
        """Add what the sample asks for and the rows do not have yet."""
        counts = scale.curves[-1]
        scored = kernels.normal_scores(self.sample, scale.curves).T
        numeric = np.flatnonzero(counts > 2)
        plain = np.flatnonzero((counts > 2) & ~scale.embedded)
        known = set(zip(*(each.tolist() for each in self.shapes[:3]), strict=True))
        size = float(scale.scales[~scale.embedded].max(initial=0.0)) / REACH
        added = self._bends(plain) + self._levels(plain, size) + self._gaps(size)
        added += self._products(numeric, scored, bool(scale.embedded[numeric].all()))
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
            self.length += len(added)

    def _bends(self, numeric: Indices) -> list[Shape]:
        """The size of each score, unless there are too many."""
        size = _BENDS / math.sqrt(max(len(numeric), 1))
        few = len(numeric) <= MAX_BENDS
        return [(BEND, j, 0, 0.0, 0.0, size) for j in numeric.tolist()] if few else []

    def _levels(self, numeric: Indices, size: float) -> list[Shape]:
        """An indicator for each number of columns that have few, as long as there is room."""
        kinds, first, _, _ = self.shapes
        known = set(first[kinds == LEVEL].tolist())
        added: list[Shape] = []
        room = MAX_LEVELS - int((kinds == LEVEL).sum())
        for j in numeric.tolist():
            values = np.unique(self.sample[self.sample[:, j] != MISSING, j])
            if j not in known and len(values) <= min(LEVELS, room):
                edges = [-math.inf, *(0.5 * (values[1:] + values[:-1])).tolist(), math.inf]
                bounds = enumerate(itertools.pairwise(edges))
                added += [(LEVEL, j, at, low, high, size) for at, (low, high) in bounds]
                room -= len(values)
        return added

    def _gaps(self, size: float) -> list[Shape]:
        """An indicator for each column of which numbers are missing."""
        gaps = np.flatnonzero((self.sample == MISSING).any(axis=0))
        return [(LEVEL, j, LEVELS, 0.5 * MISSING, math.inf, size) for j in gaps.tolist()]

    def _products(self, numeric: Indices, scored: Matrix, embedded: bool) -> list[Shape]:
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
        size = _rounded((EMBEDDED if embedded else _PRODUCTS) / square)
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
            "groups": np.array(self.groups),
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
        features = cls(state["dim"], state["groups"].tolist())
        features.sample, features.directions = state["sample"], state["directions"]
        features.offsets, bounds = state["offsets"], state["bounds"]
        kinds, first, second = (state[name] for name in ("kinds", "first", "second"))
        columns = features.dim + len(features.directions)
        if not (
            len(features.sample) <= SAMPLE
            and sum(features.groups) == features.dim
            and (first < columns).all()
            and ((second < columns) | (kinds != PRODUCT)).all()
            and ((first < features.dim) | (kinds == PRODUCT)).all()
            and np.isfinite(bounds[:, 2]).all()
        ):
            raise BadFile("the parts of a tabular feature map do not fit together")
        features.shapes = kinds, first, second, bounds
        features.length += len(kinds)
        if features.settled:
            features._scale = Scale.fit(features.sample, features.groups)
        return features

    def __repr__(self) -> str:
        return f"Tabular({self.dim})"


def _some(items: NDArray[np.floating], count: int) -> Matrix:
    """Up to ``count`` rows, evenly spaced."""
    if len(items) > count:
        items = items[np.arange(count) * len(items) // count]
    return np.array(items, np.float64)


def _common_norm(sample: Matrix) -> float | None:
    """Return the norm of nearly all rows, if they are embeddings; None otherwise.

    Rows of indicators can have one norm, too, but no column has more than two numbers then; and
    so can rows with a column that is far from 0, but then they are all nearly the same.
    """
    sample = sample[(sample != MISSING).all(axis=1)]
    if len(sample) < LATER or sample.shape[1] < 2:
        return None
    with np.errstate(all="ignore"):  # norms may overflow
        norms = np.linalg.norm(sample, axis=1)
        norm = float(np.median(norms))
        alike = (np.abs(norms - norm) <= _SAME * norm).mean() >= _MOST
        varying = ((sample - sample.mean(axis=0)) ** 2).sum() >= _VARYING * (norms**2).sum()
    if not (alike and varying and 0.0 < norm < math.inf):
        return None
    marks = all(len(np.unique(column)) <= 2 for column in sample[:ENOUGH].T)
    return None if marks else norm


def _repeated(scored: Matrix, counts: Indices) -> list[int]:
    """Find columns of more than two numbers that say the same as one before them."""
    first: dict[bytes, int] = {}
    numeric = np.flatnonzero(counts > 2).tolist()
    return [j for j in numeric if first.setdefault((scored[j].round(6) + 0.0).tobytes(), j) != j]


def _rounded(size: float) -> float:
    """Leave the last bits out, which depend on how a machine adds: what is kept is the same."""
    return float(f"{size:.9g}")


@lru_cache(maxsize=4096)
def _normal_quantile(share: float) -> float:
    return NormalDist().inv_cdf(share)
