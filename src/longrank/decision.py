"""Ranking, the receipt of a decision, and Outcome, its result."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import checks, notebook, packing
from longrank.arrays import Indices, Matrix, Vector
from longrank.contents import MAX_COUNT, Contents, check, numbers, show, wholes
from longrank.errors import BadFile, InvalidInput, plural
from longrank.explanation import Names, Reason, Reasons, read_names, shorten
from longrank.payoffs import MAX_PRICE, Payoffs

PROBE = "It is a probe: it tries something, to learn, although giving up looks better."
VERSION = 1  # of a receipt's layout
_MAX = sys.float_info.max
_CONTENTS: Contents = {
    "order": wholes("tries"),
    "probabilities": numbers("tries", minimum=-_MAX, maximum=_MAX, missing=True),
    "estimates": numbers("tries", minimum=-_MAX, maximum=_MAX, missing=True),
    "values": numbers("lengths", minimum=-_MAX, maximum=_MAX, missing=True),
    "features": numbers("tries", "dim"),  # a learner would never recover
}
_PRICES: Contents = {
    "costs": numbers("tries", minimum=0.0, maximum=_MAX),
    "success_values": numbers("tries", minimum=-_MAX, maximum=_MAX),
}
_SAMPLE: Contents = {"sample": numbers("rows", "columns", minimum=-_MAX, maximum=_MAX)}
_MORE = {"version", "ids", "reasons", "rows", "loss_bound", *_PRICES, *_SAMPLE}
_UNFIT = (
    ArithmeticError,
    AttributeError,
    BadFile,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cascade reveals: how many items were tried, and whether the last one succeeded.

    >>> Outcome(3, True).signs(5)  # two failures, a success, two items not observed
    array([-1, -1,  1,  0,  0])
    >>> Outcome(2, False).signs(5)  # stopped early: the rest is not observed
    array([-1, -1,  0,  0,  0])

    ``costs`` is what each attempt actually cost, if known only afterwards (the tokens of an
    answer): one non-negative number per attempt.
    """

    tried: int
    succeeded: bool
    costs: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if type(self.tried) is not int:
            object.__setattr__(self, "tried", checks.whole("tried", self.tried))
        if self.tried < 0:
            raise InvalidInput("tried", "be at least 0", self.tried)
        if type(self.succeeded) is not bool:
            if not isinstance(self.succeeded, np.bool_):
                raise InvalidInput("succeeded", "be True or False", repr(self.succeeded))
            object.__setattr__(self, "succeeded", bool(self.succeeded))
        if self.succeeded and self.tried == 0:
            raise InvalidInput("tried", "be at least 1 if the last attempt succeeded", 0)
        if self.costs is not None:
            costs = checks.vector("costs", self.costs)
            if len(costs) != self.tried:
                rule = f"have {plural(self.tried, 'number')}, one for each try"
                raise InvalidInput("costs", rule, len(costs))
            if (costs < 0.0).any():
                at = int(np.argmax(costs < 0.0))
                raise InvalidInput("costs", "be at least 0", f"{costs[at]} at index {at}")
            if self.tried and costs.max() > MAX_PRICE:
                raise InvalidInput("costs", f"be at most {MAX_PRICE:g}", float(costs.max()))
            object.__setattr__(self, "costs", tuple(costs.tolist()))

    def __repr__(self) -> str:
        costs = "" if self.costs is None else f", costs={self.costs}"
        return f"Outcome(tried={self.tried}, succeeded={self.succeeded}{costs})"

    def _repr_html_(self) -> str:
        """Show the outcome in a notebook: a try in each row."""
        limit = notebook.MAX_ROWS
        rows: list[tuple[object, ...]] = []
        for i in range(min(self.tried, limit)):
            result = "success" if self.succeeded and i == self.tried - 1 else "failure"
            rows.append(
                (i + 1, result, *(() if self.costs is None else (f"{self.costs[i]:z.6g}",)))
            )
        head = ["try", "result", *(() if self.costs is None else ("cost",))]
        more = [f"and {self.tried - limit} more tries"] if self.tried > limit else []
        end = "success" if self.succeeded else "no success"
        return notebook.table(f"Outcome: {end} after {self.tried} tries", head, rows, more)

    def signs(self, length: int) -> Indices:
        """Return the paper's s_j for a sequence: +1 success, -1 failure, 0 unobserved."""
        self.check(length)
        signs = np.zeros(length, np.int64)
        signs[: self.tried] = -1
        if self.succeeded:
            signs[self.tried - 1] = 1
        return signs

    def check(self, length: int) -> None:
        """Check that a sequence of this length can have this outcome."""
        if self.tried > length:
            rule = f"be at most {length}, the length of the ranking"
            raise InvalidInput("outcome.tried", rule, self.tried)


class Ranking:
    """Receipt of a decision: what to try in which order, why, and what learning needs later.

    Immutable. Keep it until the outcome arrives: in memory, as bytes or as a dictionary.
    """

    # All numbers are in one array, since allocating five takes longer than the decision: n
    # probabilities, n estimates, n + 1 values and up to n rows, of which the first s are in use.
    __slots__ = (
        "_dim",
        "_names",
        "_numbers",
        "_order",
        "_patience",
        "_prices",
        "_sample",
        "_stop",
        "_tries",
        "from_elsewhere",
    )
    _prices: Prices | None
    _sample: Matrix | None

    def __init__(
        self,
        order: Indices,
        probabilities: NDArray[np.float64],
        estimates: NDArray[np.float64],
        values: NDArray[np.float64],
        features: NDArray[np.float64],
        names: Names | None = None,
        prices: Prices | None = None,
    ) -> None:
        n, s = len(values) - 1, len(order)
        numbers = np.empty(3 * n + 1 + features.size)
        numbers[:s], numbers[n : n + s] = probabilities, estimates
        numbers[2 * n : 3 * n + 1], numbers[3 * n + 1 :] = values, features.ravel()
        self._fill(order, numbers, features.shape[1], n, names)
        self._prices = None if prices is None else prices.frozen()

    def _fill(
        self, order: Indices, numbers: Vector, dim: int, tries: int, names: Names | None
    ) -> None:
        order.setflags(False)  # type: ignore[call-arg]  # "write": by name it takes twice as long
        numbers.setflags(False)  # type: ignore[call-arg]
        self._order, self._numbers, self._dim, self._tries = order, numbers, dim, tries
        self._names, self._patience, self._stop = names, 1.0, ""
        self._sample, self._prices, self.from_elsewhere = None, None, False

    @classmethod
    def from_buffer(
        cls, order: Indices, numbers: Vector, dim: int, names: Names | None = None
    ) -> Ranking:
        """Wrap what :func:`longrank.kernels.decide` filled; ``order`` is cut to its length."""
        ranking = cls.__new__(cls)
        ranking._fill(order, numbers, dim, len(numbers) // (3 + dim), names)
        return ranking

    @classmethod
    def without_belief(
        cls,
        order: Indices,
        rows: NDArray[np.floating],
        max_tries: int,
        give_up: float,
        names: Names | None = None,
    ) -> Ranking:
        """Return the receipt of a decision without a belief: probabilities and values are NaN.

        Only the value of trying nothing is known: ``give_up``.
        """
        unknown, values = np.full(len(order), np.nan), np.full(max_tries + 1, np.nan)
        values[0] = give_up
        return cls(order, unknown, unknown, values, np.array(rows, np.float64, ndmin=2), names)

    def subset(self, positions: Sequence[int]) -> Ranking:
        """Return the receipt of a subset of the attempts, in the order given."""
        kept = np.asarray(positions, np.int64)
        return Ranking(
            self.order[kept],
            self.probabilities[kept],
            self.estimates[kept],
            self.values,
            self._dense(len(self))[kept],
            None if self._names is None else self._names.take(kept.tolist()),
            None if self._prices is None else self._prices.take(kept.tolist()),
        ).planned(self._patience, self._stop, self._sample)

    def at_prices(self, payoffs: Payoffs, loss_bound: float = math.nan) -> Ranking:
        """Add to a new receipt the costs and values of its candidates, if the payoffs have them."""
        costs, values, self._patience = payoffs.costs, payoffs.success_values, payoffs.patience
        if costs is not None and values is not None:
            self._prices = Prices(costs[self._order], values[self._order], loss_bound).frozen()
        return self

    def planned(self, patience: float, stop: str = "", sample: Matrix | None = None) -> Ranking:
        """Add to a new receipt how it was planned, which :meth:`explain` tells; return it.

        ``stop`` are words on where it stops, if chance had a part in that, or :data:`PROBE`;
        neither it nor the patience is stored.
        """
        self._patience, self._stop = patience, stop
        return self if sample is None else self.carry(sample)

    def carry(self, sample: Matrix) -> Ranking:
        """Add to a new receipt some of the candidates as they came: see :attr:`sample`."""
        sample.setflags(write=False)
        self._sample = sample
        return self

    @property
    def sample(self) -> Matrix | None:
        """Some of the candidates as they came, for features that do not know their units yet."""
        return self._sample

    @property
    def order(self) -> Indices:
        """Indices into the round's items, in the order to try them. Shape (s,)."""
        return self._order

    @property
    def ids(self) -> list[Any]:
        """The ids of the candidates, in the order to try them.

        The field ``id`` of a record; a candidate without one is named by its position.
        """
        return self.order.tolist() if self._names is None else list(self._names.ids)

    @property
    def reasons(self) -> list[list[Reason]]:
        """Reasons for (above 0) and against each candidate in order, strongest first.

        Each is a text such as ``brand=visa`` with its contribution to the log-odds of the estimate.
        Empty if candidates are arrays.
        """
        if self._names is None:
            return [[] for _ in self.order]
        reasons = self._names.reasons
        return reasons.words() if isinstance(reasons, Reasons) else list(reasons)

    @property
    def costs(self) -> Vector | None:
        """Planned cost of each attempt; None if candidates have no individual costs."""
        return None if self._prices is None else self._prices.costs

    @property
    def success_values(self) -> Vector | None:
        """What each success is worth beyond the position's reward; None if there are no values."""
        return None if self._prices is None else self._prices.values

    @property
    def loss_bound(self) -> float:
        """Upper bound on how much more the best plan is worth, with the same ``probabilities``.

        0 if the plan is optimal, NaN if no bound is known: see ``docs/planning.md``.
        """
        return 0.0 if self._prices is None else self._prices.loss_bound

    @property
    def patience(self) -> float:
        """Probability of continuing after a failure that the plan assumed, given or learned.

        Not stored: a ranking that was read back has 1.
        """
        return self._patience

    def reward(self, payoffs: Payoffs, outcome: Outcome) -> float:
        """Return what an outcome of this ranking earned.

        ``payoffs`` are those of the round. Costs and values are the planned ones; for a candidate
        without a cost, what the policy expected. If the outcome reports actual costs, they count.

        >>> import longrank
        >>> payoffs = longrank.Payoffs.linear(2, attempt_cost=0.0)
        >>> ranking = longrank.recommended().rank([{"id": "adyen", "cost": 0.2}], payoffs)
        >>> ranking.reward(payoffs, Outcome(1, True)), ranking.reward(payoffs, Outcome(1, False))
        (0.8, -0.2)
        """
        outcome.check(len(self))
        tried, covered = outcome.tried, payoffs.tries(None)  # those along a sequence are refused
        if tried > covered:
            raise InvalidInput("payoffs", f"cover the {tried} tries of the outcome", covered)
        paid = payoffs.along(self._order[:tried])
        if self._prices is not None:
            costs, values = self._prices.costs[:tried], self._prices.values[:tried]
            given, paid = paid, payoffs.priced(costs, values).along(range(tried))
            if payoffs.has_prices and given != paid:
                rule = "have the costs and values that the ranking was planned with, or none"
                raise InvalidInput("payoffs", rule, payoffs)
        return paid.reward(outcome)

    @property
    def dim(self) -> int:
        """The length of a row of features; 0 if the candidates are records."""
        return self._dim

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The success probabilities along ``order`` that the policy acted on. Shape (s,).

        Each is conditional on the items above failing, and optimistic for :class:`~longrank.UCB`.
        """
        return self._numbers[: len(self.order)]

    @property
    def estimates(self) -> NDArray[np.float64]:
        """The same without the exploration bonus. Shape (s,)."""
        max_tries = self._tries
        return self._numbers[max_tries : max_tries + len(self.order)]

    @property
    def values(self) -> NDArray[np.float64]:
        """Expected reward of every length 0..n, with ``probabilities``. Shape (n + 1,).

        They show why the sequence stops at s, and what each further attempt would have added; n is
        the maximum number of attempts.
        """
        max_tries = self._tries
        return self._numbers[2 * max_tries : 3 * max_tries + 1]

    @property
    def features(self) -> Any:
        """The rows to learn from, as they were when ranked.

        Shape (s, dim); a :class:`longrank.rows.SparseRows` if the candidates are records.
        """
        return self.rows(len(self.order))

    def parts(self) -> Parts:
        """Return all that is stored of it, in one call."""
        numbers, s, n = self._numbers, len(self._order), self._tries
        return Parts(
            self._order,
            numbers[:s],
            numbers[n : n + s],
            numbers[2 * n : 3 * n + 1],
            self._dense(s),
            self._names,
            self._prices,
            self._sample,
        )

    def rows(self, count: int) -> Any:
        """Return the first ``count`` rows of the features."""
        if self._names is not None and self._names.rows is not None:
            rows = self._names.rows.take(slice(count))
            return rows.but(dense=self._dense(count)) if self._dim else rows
        return self._dense(count)

    def _dense(self, count: int) -> NDArray[np.float64]:
        start, dim = 3 * self._tries + 1, self._dim
        return self._numbers[start : start + count * dim].reshape(count, dim)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def value(self) -> float:
        """The expected reward of the chosen sequence."""
        return float(self.values[len(self.order)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        what = f"order={self.order.tolist()}" if self._names is None else f"ids={self.ids}"
        return f"Ranking({what}, value={self.value:.4g})"

    def explain(self) -> str:
        """Return the decision as a table: estimates, bonus, what each attempt adds, why it stopped.

        For records, it includes the fields that count for and against each candidate. Patience,
        and whether the sequence was drawn at random or is a probe, are not stored, so they are
        shown only for a ranking as the policy returned it.
        """
        columns, names = self._columns(), [shorten(name) for name in self.ids]
        wide = 7 if self._names is None else max([9, *map(len, names)]) + 1
        widths = [3, wide, *(max(len(head) + 3, 11) for head in [*columns][2:])]
        head, *lines = (
            "".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=True))
            for row in (columns, *zip(*columns.values(), strict=True))
        )
        told = [head, f"  0{self.values[0]:>z{sum(widths[1:-1])}.4f}"]
        for line, reasons in zip(lines, self.reasons, strict=True):
            told.append(line)
            for word, words in zip(("for", "against"), _for_and_against(reasons), strict=True):
                if words:
                    told.append(f"{word:>{wide + 3}}: {words}")
        return "\n".join([*told, *self._ending()])

    def _columns(self) -> dict[str, list[str]]:
        """Return the table of tries, a column by its title."""
        columns = {
            "try": [str(i + 1) for i in range(len(self))],
            "item" if self._names is None else "candidate": [shorten(name) for name in self.ids],
            "estimate": [f"{x:.4f}" for x in self.estimates],
            "with bonus": [f"{x:.4f}" for x in self.probabilities],
        }
        if self.costs is not None:
            columns["costs"] = [f"{x:z.4f}" for x in self.costs]
        if self.success_values is not None and self.success_values.any():
            columns["on success"] = [f"{x:+z.4f}" for x in self.success_values]
        ends = self.values[1 : len(self) + 1]
        columns["value if it ends here"] = [f"{x:z.4f}" for x in ends]
        columns["this try adds"] = [f"{x:+z.4f}" for x in ends - self.values[: len(self)]]
        return columns

    def _ending(self) -> list[str]:
        """Say why it stopped where it does, and what else it was planned with."""
        values, stop, lines = self.values, self._stop, []
        max_tries = len(values) - 1
        if stop == PROBE:
            stop, lines = "", [PROBE]
        if len(self) == max_tries:
            unbeaten = bool((self.value >= values).all())
            why = ": no shorter sequence is worth more." if unbeaten else "."
            lines.append(f"It uses all {max_tries} tries{why}")
        else:
            best = float(values[len(self) + 1 :].max())
            lines.append(
                f"It stops after {len(self)} of {max_tries} tries{stop}: the best longer "
                f"sequence is worth {best:z.4f}, this one {self.value:z.4f}."
            )
        if self._patience < 1.0:
            lines.append(
                f"It is planned with a patience of {self._patience:.4g}, the probability of going "
                "on after a failure."
            )
        return lines

    def _repr_html_(self) -> str:
        """Show the decision in a notebook: a try in each row, as :meth:`explain` does."""
        columns, values = self._columns(), self.values
        said = [_for_and_against(reasons) for reasons in self.reasons]
        for at, word in enumerate(("for", "against")):
            if any(words[at] for words in said):
                columns[word] = [words[at] for words in said]
        rows = zip(*columns.values(), strict=True)
        caption = f"Ranking: worth {self.value:z.4f}, {values[0]:z.4f} without any try"
        return notebook.table(caption, list(columns), rows, self._ending())

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranking.from_bytes, (self.to_bytes(),)

    def _tree(self) -> dict[str, Any]:
        """Return all that is stored, as a tree for :mod:`longrank.packing`."""
        *arrays, names, prices, sample = self.parts()
        tree: dict[str, Any] = {"version": VERSION} | dict(zip(_CONTENTS, arrays, strict=True))
        if names is not None:
            rows = None if names.rows is None else names.rows.state()
            reasons = [[list(each) for each in some] for some in self.reasons]
            tree |= {"ids": names.ids, "reasons": reasons, "rows": rows}
        if prices is not None:
            costs, worth, bound = prices
            tree |= {"costs": costs, "success_values": worth, "loss_bound": bound}
        return tree if sample is None else tree | {"sample": sample}

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, ready for JSON (an unknown probability is None)."""
        return {name: _plain(part) for name, part in self._tree().items()} | {"dim": self.dim}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ranking:
        """Rebuild the ranking written by :meth:`to_dict`, identical bit for bit."""
        try:
            _check_version(data)
            parts = {name: np.array(data[name], np.float64) for name in _contents(data)}
            order, dim = parts["order"], data["dim"]
            if not ((np.abs(order) <= MAX_COUNT) & (order == np.trunc(order))).all():
                raise ValueError("order must hold whole numbers")
            if type(dim) is not int or not 0 <= dim <= MAX_COUNT:
                raise ValueError(f"dim must be a whole number, got {show(dim)}")
            parts |= {"order": order.astype(np.int64)}
            parts |= {"features": parts["features"].reshape(len(order), dim)}
            return cls._read({**data, **parts})
        except _UNFIT as error:
            raise _refused(error) from error

    def to_bytes(self) -> bytes:
        """Return the packed form: see :mod:`longrank.packing`."""
        return packing.pack(self._tree())

    @classmethod
    def from_bytes(cls, data: bytes) -> Ranking:
        """Rebuild the ranking written by :meth:`to_bytes`, identical bit for bit."""
        tree = packing.unpack(data, "the ranking")
        _check_version(tree)
        if set(tree) - _MORE != set(_CONTENTS):
            raise BadFile(f"the ranking must have the parts {tuple(_CONTENTS)}")
        try:
            return cls._read(tree)
        except _UNFIT as error:
            raise _refused(error) from error

    @classmethod
    def _read(cls, tree: Mapping[str, Any]) -> Ranking:
        check("not a ranking", _contents(tree), tree)
        order, count, prices = tree["order"], len(tree["order"]), None
        if len(tree["values"]) <= count:
            raise ValueError("its parts have lengths that do not fit together")
        if len(set(order.tolist())) < count:
            raise ValueError("order must hold no candidate twice")
        if "costs" in tree:
            bound = math.nan if tree["loss_bound"] is None else float(tree["loss_bound"])
            prices = Prices(tree["costs"], tree["success_values"], bound)
        arrays = {name: tree[name] for name in _CONTENTS}
        ranking = cls(**arrays, names=read_names(tree, count), prices=prices)
        ranking.from_elsewhere = True  # a policy checks it before it learns
        return ranking.planned(1.0, "", tree.get("sample"))


def check_pair(ranking: Ranking, outcome: Outcome, dim: int | None = None) -> None:
    """Refuse an outcome that the ranking cannot have.

    With ``dim``, also refuse records, and rows of another length.
    """
    if not isinstance(ranking, Ranking):
        raise InvalidInput("ranking", "be a longrank.Ranking", type(ranking).__name__)
    if not isinstance(outcome, Outcome):
        raise InvalidInput("outcome", "be a longrank.Outcome", type(outcome).__name__)
    outcome.check(len(ranking._order))
    if dim is None or not len(ranking._order):
        return
    if ranking._names is not None:
        rule = "be of arrays of numbers, which this policy was made for"
        raise InvalidInput("ranking", rule, "one of records")
    if ranking._dim != dim:
        rule = f"have features of length {dim}, as this policy makes them"
        raise InvalidInput("ranking", rule, ranking._dim)


class Prices(NamedTuple):
    """What a receipt has in addition where candidates have costs and values of their own."""

    costs: Vector
    values: Vector
    loss_bound: float

    def frozen(self) -> Prices:
        """Return them, no longer to be written to."""
        self.costs.setflags(write=False)
        self.values.setflags(write=False)
        return self

    def take(self, positions: Sequence[int]) -> Prices:
        """Return those of some tries."""
        kept = list(positions)
        return Prices(self.costs[kept], self.values[kept], self.loss_bound)


class Parts(NamedTuple):
    """All that is stored of a receipt."""

    order: Indices
    probabilities: Vector
    estimates: Vector
    values: Vector
    features: Matrix
    names: Names | None
    prices: Prices | None
    sample: Matrix | None


def _for_and_against(reasons: list[Reason]) -> tuple[str, str]:
    """Put what speaks for a candidate, and what against it, into words."""
    told = [
        ", ".join(f"{label} {size:+.2f}" for label, size in reasons if sign * size > 0.0)
        for sign in (1.0, -1.0)
    ]
    return told[0], told[1]


def _plain(part: Any) -> Any:
    """Return lists and numbers in place of arrays, and None for what is not known."""
    if isinstance(part, dict):
        return {name: _plain(each) for name, each in part.items()}
    if isinstance(part, np.ndarray):
        if part.ndim > 1:
            return [_plain(row) for row in part]
        if part.dtype == np.uint64:  # as text: many readers of JSON round 64 bits
            part = part.astype(str)
        return [None if number != number else number for number in part.tolist()]
    return None if isinstance(part, float) and part != part else part


def _check_version(tree: Mapping[str, Any]) -> None:
    version = tree.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise BadFile(
            f"the ranking was saved in version {show(version)} of its layout, and this longrank "
            f"reads versions up to {VERSION}: upgrade longrank to read it"
        )


def _refused(error: Exception) -> BadFile:
    return error if isinstance(error, BadFile) else BadFile(f"not a ranking: {error!s:.200}")


def _contents(tree: Mapping[str, Any]) -> Contents:
    """Return what the arrays of a receipt hold: prices and a sample only where it has them."""
    more = (_PRICES if "costs" in tree else {}) | (_SAMPLE if "sample" in tree else {})
    return _CONTENTS | more
