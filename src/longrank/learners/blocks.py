"""A belief in blocks: a dense one with its covariance, and sparse columns with learned priors."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from longrank import checks, kernels
from longrank.arrays import Indices, Keys, Matrix, Vector
from longrank.contents import COUNT, array, covariance, numbers, optional, real, whole, wholes
from longrank.errors import BadFile
from longrank.kernels.hash_table import MAX_GROUPS, SHARED
from longrank.learners.base import SAVED_PENALTY, Learner, checked_penalty
from longrank.links import LOGISTIC
from longrank.packing import Tree
from longrank.rows import Plan, SparseRows

COLUMNS = 1 << 18
_FIRST = 1 << 8  # columns that a new table has room for
_NO_COSTS = np.empty(0)
_MAX_COLUMNS = 1 << 40
_MIN_VARIANCE = 1e-9  # of a group; that of the first is 0 as long as nothing shares it
_SPARSE = 64  # places of a table for each column in use, at most, beyond those of the default


class BlockBelief(NamedTuple):
    """A normal belief about rows: a dense block, and sparse columns that are independent.

    The mean of a row and the square of its width are sums of both parts.

    Attributes
    ----------
    weights, inverse
        The mean and the covariance of the dense block.
    table
        The columns and groups, for :mod:`longrank.kernels.sparse`.
    ceiling, link
        As for :class:`longrank.learners.Belief`.
    prior
        The precision of the prior of the dense block.
    """

    weights: Vector
    inverse: Matrix
    table: tuple[Keys, Matrix, Keys, Vector]
    ceiling: float
    link: int
    prior: float

    def score(self, rows: SparseRows) -> tuple[Vector, Vector]:
        """Return means and widths of rows."""
        means, squares, others = self.parts(rows)
        return means, np.sqrt(squares + others)

    def parts(self, rows: SparseRows) -> tuple[Vector, Vector, Vector]:
        """Return means of rows, and the squares of the widths of the dense and the sparse part."""
        assert rows.plan is not None
        means, others = kernels.score_sparse(rows.arrays(), rows.plan[:3], self.table)
        if rows.dense is None:
            return means, np.zeros(len(rows)), others
        more, widths = kernels.score_rows(rows.block(len(self.weights)), self.weights, self.inverse)
        return means + more, widths * widths, others

    def contributions(self, rows: SparseRows, plan: Plan, labels: Indices) -> Matrix:
        """Return what each label of the plan adds to the mean of each row.

        ``labels`` are those of the columns of the dense block.
        """
        size = len(plan.names)
        added = kernels.contributions(rows.arrays(), plan[:3], self.table, plan.labels, size)
        if rows.dense is not None:
            kernels.speak_dense(rows.dense, self.weights, labels, added)
        return added


class Blocks(Learner):
    """Logistic regression by the Laplace approximation: a dense block and sparse columns.

    The dense block, of the candidates' numbers, has a full covariance, in O(dim^2) per row, and the
    prior precision ``penalty``; it grows with the rows. Of every observed sparse column (a
    category, a tag, a cross of two fields) there is a mean and a precision; the uncertainty of
    everything else counts as noise. The prior variance of a column is that of its group (a field or
    a pair of fields) and is learned from the columns of the group: the effects of irrelevant fields
    soon shrink to 0, and a new value starts with the spread of those seen before it.

    Parameters
    ----------
    columns
        Maximum number of columns, rounded up to a power of two; each takes 48 bytes. The table
        grows as columns are observed. Once it is full, a new column replaces one about which little
        is known, which falls back to its prior; ``replaced`` counts the replacements.
    penalty
        The precision of the prior of the dense block, at least 1e-12.
    forgetting
        The share of what the dense block knows that is forgotten with every cascade.
    max_budget
        If given, larger budgets are rejected; nothing else depends on it.
    """

    contents: ClassVar = {
        "dim": whole(),
        "penalty": SAVED_PENALTY,
        "forgetting": real(0.0, 1.0),
        "weights": numbers("dim"),
        "inverse": covariance("dim"),
        "columns": whole(_FIRST, _MAX_COLUMNS),
        "max_budget": optional(whole(1)),
        "updates": COUNT,
        "size": whole(_FIRST, _MAX_COLUMNS),
        "counts": wholes(3),
        "places": wholes("used", below="size", rising=True),
        "keys": array(np.uint64, "used"),
        "table": numbers("used", 4),
        "group_of": wholes("used", maximum=MAX_GROUPS - 1),
        "groups": wholes("known", maximum=MAX_GROUPS - 1, rising=True),
        "group_keys": array(np.uint64, "known"),
        "variances": numbers("known", minimum=0.0, maximum=1.0 / _MIN_VARIANCE),
        "sums": numbers("known", 2),
    }
    sparse = True

    def __init__(
        self,
        *,
        columns: int = COLUMNS,
        penalty: float = 0.5,
        forgetting: float = 0.0,
        max_budget: int | None = None,
    ) -> None:
        if max_budget is not None:
            self.max_budget = checks.whole("max_budget", max_budget, minimum=1)
        limit = checks.whole("columns", columns, minimum=_FIRST)
        self.columns = 1 << (limit - 1).bit_length()
        self.penalty = self.prior = checked_penalty(penalty)
        self.forgetting = checks.real("forgetting", forgetting, minimum=0.0, maximum=1.0)
        self.dim, self.link, self.updates = 0, LOGISTIC, 0
        self.weights, self.inverse = np.zeros(0), np.zeros((0, 0))
        self._keys = np.zeros(_FIRST, np.uint64)
        self._table = np.zeros((_FIRST, 4))
        self._group_of = np.zeros(_FIRST, np.int64)
        self._group_keys = np.zeros(MAX_GROUPS, np.uint64)
        self._group_keys[0] = SHARED
        self._variances = np.zeros(MAX_GROUPS)
        self._sums = np.zeros((MAX_GROUPS, 2))
        self._counts = np.zeros(3, np.int64)

    @property
    def used(self) -> int:
        """Number of columns in use."""
        return int(self._counts[0])

    @property
    def replaced(self) -> int:
        """Number of columns replaced by new ones."""
        return int(self._counts[2])

    def belief(self, dim: int = 0) -> BlockBelief:  # type: ignore[override]
        """Return what ranking needs, for rows whose dense block has ``dim`` columns."""
        weights, inverse = self.weights, self.inverse
        if dim > self.dim:  # of candidates that nothing was learned from yet
            weights, inverse = self._extended(dim)
        table = self._keys, self._table, self._group_keys, self._variances
        return BlockBelief(weights, inverse, table, LOGISTIC.ceiling, LOGISTIC.code, self.prior)

    def score(self, features: Any) -> tuple[Vector, Vector]:
        return self.belief(features.dim).score(features)

    def variance(self, group: int) -> float:
        """Return the prior variance of a group by its key; the shared one if it is unknown."""
        at = np.flatnonzero(self._group_keys == np.uint64(group))
        return float(self._variances[at[0] if len(at) else 0]) or 1.0

    def observe(self, rows: Any, succeeded: bool) -> None:
        self._learn(rows, succeeded, _NO_COSTS, 0.0)

    def observe_costs(self, rows: Any, costs: Vector, dispersion: float) -> None:
        """Learn what each row cost, in a table used only for costs: see :class:`Costs`."""
        self._learn(rows, False, costs, dispersion)

    def _learn(self, rows: Any, succeeded: bool, costs: Vector, dispersion: float) -> None:
        assert isinstance(rows, SparseRows)
        assert rows.plan is not None
        size, dense, columns = len(rows.keys), rows.dense, len(rows.plan.left)
        if dense is not None and dense.shape[1] > self.dim:
            self.extend(dense.shape[1])
        if dense is None or dense.shape[1] < self.dim:
            dense = rows.block(self.dim)
        room = len(self._keys)
        if columns:
            room = kernels.room_for(self.used + columns * size, room, self.columns)
        if room > len(self._keys):
            self._keys, self._table, self._group_of = kernels.grow(
                self._keys, self._table, self._group_of, self._sums, self._counts, room
            )
        kernels.learn_blocks(
            dense,
            (self.weights, self.inverse, self.prior, self.forgetting),
            (rows.keys, rows.numbers, (rows.context_keys, rows.context_numbers)),
            rows.plan[:3],
            (self._keys, self._table, self._group_keys, self._variances),
            self._group_of,
            self._sums,
            self._counts,
            succeeded,
            costs,
            dispersion,
        )
        self.updates += size

    def view(self) -> Self:
        viewed = object.__new__(type(self))
        for name, value in self.__dict__.items():
            viewed.__dict__[name] = value.copy() if type(value) is np.ndarray else value
        return viewed

    def state(self) -> Tree:
        used, groups = np.flatnonzero(self._keys), np.flatnonzero(self._group_keys)
        return {
            "dim": self.dim,
            "penalty": self.penalty,
            "forgetting": self.forgetting,
            "weights": self.weights.copy(),
            "inverse": self.inverse.copy(),
            "columns": self.columns,
            "max_budget": self.max_budget,
            "updates": self.updates,
            "size": len(self._keys),
            "counts": self._counts.copy(),
            "places": used,
            "keys": self._keys[used],
            "table": self._table[used],
            "group_of": self._group_of[used],
            "groups": groups,
            "group_keys": self._group_keys[groups],
            "variances": self._variances[groups],
            "sums": self._sums[groups],
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        _check_table(state)
        given = {name: state[name] for name in ("columns", "penalty", "forgetting", "max_budget")}
        learner = cls(**given)
        learner.dim = state["dim"]
        learner.weights, learner.inverse = state["weights"].copy(), state["inverse"].copy()
        size, used, groups = state["size"], state["places"], state["groups"]
        learner._keys, learner._table = np.zeros(size, np.uint64), np.zeros((size, 4))
        learner._group_of = np.zeros(size, np.int64)
        learner._keys[used], learner._table[used] = state["keys"], state["table"]
        learner._group_of[used] = state["group_of"]
        learner._group_keys[groups] = state["group_keys"]
        learner._variances[groups] = state["variances"]
        learner._sums[groups] = state["sums"]
        learner._counts[:] = state["counts"]
        learner.updates = state["updates"]
        return learner

    def __repr__(self) -> str:
        return f"Blocks(columns={self.columns}, penalty={self.penalty:g})"


def _check_table(state: Tree) -> None:
    """Refuse a table whose parts do not fit together, or that is far larger than its columns."""
    size, used, groups = state["size"], len(state["places"]), state["groups"]
    shared = groups == 0
    if not (
        size & (size - 1) == 0
        and size <= max(COLUMNS, _SPARSE * used)
        and state["counts"][0] == used
        and state["counts"][1] <= MAX_GROUPS
        and (state["table"][:, 0] >= 0.0).all()
        and (state["variances"][~shared] >= _MIN_VARIANCE).all()
        and (state["group_keys"][shared] == SHARED).all()
    ):
        raise BadFile("the parts of the table of 'Blocks' do not fit together")
