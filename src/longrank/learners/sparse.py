"""A diagonal belief about sparse rows, with learned priors: for records."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.arrays import Keys
from longrank.contents import COUNT, array, numbers, optional, whole, wholes
from longrank.errors import BadFile
from longrank.kernels.hash_table import MAX_GROUPS, SHARED
from longrank.learners.base import Learner
from longrank.links import LOGISTIC
from longrank.packing import Tree
from longrank.rows import SparseRows

COLUMNS = 1 << 18
_FIRST = 1 << 8  # columns that a new table has room for
_NO_COSTS = np.empty(0)
_MAX_COLUMNS = 1 << 40
_MIN_VARIANCE = 1e-9  # of a group; that of the first is 0 as long as nothing shares it
_SPARSE = 64  # places of a table for each column in use, at most, beyond those of the default


class SparseBelief(NamedTuple):
    """A diagonal normal belief about the columns of sparse rows.

    Attributes
    ----------
    table
        The columns and groups, for :mod:`longrank.kernels.sparse`.
    ceiling, link
        As for :class:`longrank.learners.Belief`.
    """

    table: tuple[Keys, NDArray[np.float64], Keys, NDArray[np.float64]]
    ceiling: float
    link: int

    def score(self, rows: SparseRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and widths of rows."""
        assert rows.plan is not None
        means, squares = kernels.score_sparse(rows.arrays(), rows.plan[:3], self.table)
        return means, np.sqrt(squares)

    def contributions(self, rows: SparseRows) -> NDArray[np.float64]:
        """Return what each label of the plan adds to the mean of each row."""
        assert rows.plan is not None
        plan = rows.plan
        return kernels.contributions(
            rows.arrays(), plan[:3], self.table, plan.labels, len(plan.names)
        )


class SparseLaplace(Learner):
    """Logistic regression on sparse rows by the Laplace approximation, in O(entries) per row.

    It keeps a mean and a precision for every observed column; the uncertainty of the other columns
    counts as noise. The prior variance of a column is that of its group (a field or a pair of
    fields) and is learned from the columns of the group: the effects of irrelevant fields soon
    shrink to 0, and a new value starts with the spread of those seen before it.

    Parameters
    ----------
    columns
        Maximum number of columns, rounded up to a power of two; each takes 48 bytes. The table
        grows as columns are observed. Once it is full, a new column replaces one about which little
        is known, which falls back to its prior; ``replaced`` counts the replacements.
    max_budget
        If given, larger budgets are rejected; nothing else depends on it.
    """

    contents: ClassVar = {
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

    def __init__(self, *, columns: int = COLUMNS, max_budget: int | None = None) -> None:
        if max_budget is not None:
            self.max_budget = checks.whole("max_budget", max_budget, minimum=1)
        limit = checks.whole("columns", columns, minimum=_FIRST)
        self.columns = 1 << (limit - 1).bit_length()
        self.dim, self.prior, self.link, self.updates = 0, 1.0, LOGISTIC, 0
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

    def belief(self) -> SparseBelief:  # type: ignore[override]
        table = self._keys, self._table, self._group_keys, self._variances
        return SparseBelief(table, self.link.ceiling, self.link.code)

    def score(self, features: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.belief().score(features)

    def variance(self, group: int) -> float:
        """Return the prior variance of a group by its key; the shared one if it is unknown."""
        at = np.flatnonzero(self._group_keys == np.uint64(group))
        return float(self._variances[at[0] if len(at) else 0]) or 1.0

    def observe(self, rows: Any, succeeded: bool) -> None:
        self._learn(rows, succeeded, _NO_COSTS, 0.0)

    def observe_costs(self, rows: Any, costs: NDArray[np.float64], dispersion: float) -> None:
        """Learn what each row cost, in a table used only for costs: see :class:`Costs`."""
        self._learn(rows, False, costs, dispersion)

    def _learn(
        self, rows: Any, succeeded: bool, costs: NDArray[np.float64], dispersion: float
    ) -> None:
        assert isinstance(rows, SparseRows)
        assert rows.plan is not None
        more = len(rows.plan.left) * len(rows)
        size = kernels.room_for(self.used + more, len(self._keys), self.columns)
        if size > len(self._keys):
            self._keys, self._table, self._group_of = kernels.grow(
                self._keys, self._table, self._group_of, self._sums, self._counts, size
            )
        kernels.learn_sparse(
            rows.arrays(),
            rows.plan[:3],
            (self._keys, self._table, self._group_keys, self._variances),
            self._group_of,
            self._sums,
            self._counts,
            succeeded,
            costs,
            dispersion,
        )
        self.updates += len(rows)

    def state(self) -> Tree:
        used, groups = np.flatnonzero(self._keys), np.flatnonzero(self._group_keys)
        return {
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
        learner = cls(columns=state["columns"], max_budget=state["max_budget"])
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
        return f"SparseLaplace(columns={self.columns})"


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
        raise BadFile("the parts of the table of 'SparseLaplace' do not fit together")
