"""What an item adds to the topics that the items above it cover: dependent outcomes."""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.arrays import Indices, Matrix
from longrank.contents import PART, check, numbers, one_of, optional
from longrank.errors import BadFile, InvalidInput
from longrank.features.base import Encoded, Features
from longrank.features.mixture import Mixture
from longrank.packing import Tree

Gain = Callable[[Matrix, Matrix], Matrix]


class Topics(Protocol):
    """Maps items, shape (k, d), to coverage vectors in [0, 1], shape (k, d')."""

    def __call__(self, items: Matrix, /) -> ArrayLike: ...


class Coverage(Features):
    """Coverage gains as rows, centred and scaled: (2 gain - 1) / sqrt(d').

    With this map :class:`~longrank.UCB` is the paper's Algorithm 2.

    Parameters
    ----------
    topics
        How much of each of d' topics an item covers, c(x) in [0, 1]^d'. Either a fitted mixture
        (:class:`~longrank.Mixture`), or a matrix of shape (d, d') that items are multiplied by
        (the identity, if items are coverage vectors already), or any function of the items.
    gain
        ``gain(remaining, topics)`` says how much an item adds to each topic of which
        ``remaining`` (in [0, 1]) is not yet covered; vectorised over arrays of shape (k, d').
        None is the probabilistic coverage 1 - prod (1 - c), whose gain is
        ``remaining * topics``. ``np.minimum`` is a sum capped at 1, and
        ``np.maximum(c - (1 - r), 0)`` of r and c the largest of the c. Any monotone submodular
        coverage of this form works; gains must lie in [0, remaining].

    Examples
    --------
    >>> import numpy as np
    >>> features = Coverage(np.eye(2))
    >>> features.along(features.encode([[1.0, 0.0], [0.5, 0.5]], 2), np.array([0, 1]))
    array([[ 0.70710678, -0.70710678],
           [-0.70710678,  0.        ]])
    """

    max_square = checks.UNIT
    kind = "coverage"
    contents: ClassVar = {
        "topics_kind": one_of(("function", "matrix", "mixture")),
        "topics": optional(PART),
    }

    def __init__(self, topics: Topics | ArrayLike, *, gain: Gain | None = None) -> None:
        if not callable(topics):
            matrix = np.array(checks.floats("topics", topics, 2), np.float64)
            if not np.isfinite(matrix).all():
                raise InvalidInput("topics", "be finite", "a value that is not")
            topics = _Product(matrix)
        if gain is not None and not callable(gain):
            raise InvalidInput("gain", "be a function of (remaining, topics)", repr(gain))
        self.topics: Topics = topics
        self.gain = gain

    def encode(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Encoded:
        array = checks.items(items, None, unit=False)
        if len(array) == 0:
            return np.empty((0, dim or 0))
        topics = checks.floats("topics(items)", self.topics(np.asarray(array, np.float64)), 2)
        if len(topics) != len(array) or (dim is not None and topics.shape[1] != dim):
            rule = f"have shape ({len(array)}, {'any' if dim is None else dim})"
            raise InvalidInput("topics(items)", rule, topics.shape)
        covered = np.asarray(topics, np.float64)
        low, high = covered.min(initial=0.0), covered.max(initial=0.0)
        if low >= 0.0 and high <= 1.0:
            return covered
        outside = ~((covered >= -checks.SLACK) & (covered <= 1.0 + checks.SLACK))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            shown = f"{covered[row, column]} in row {row}, column {column}"
            raise InvalidInput("topics(items)", "lie between 0 and 1", shown)
        return np.clip(covered, 0.0, 1.0)

    def along(self, candidates: Encoded, order: Indices) -> NDArray[np.float64]:
        if self.gain is None:
            return kernels.coverage_along(candidates, order)
        remaining = np.ones(candidates.shape[1])
        rows = np.empty((len(order), candidates.shape[1]))
        for position, item in enumerate(order):
            gains = self._gains(remaining, candidates[item : item + 1])
            rows[position] = _centred(gains)[0]
            remaining -= gains[0]
        return rows

    def next_rows(self, candidates: Encoded, prefix: Sequence[int]) -> Matrix:
        remaining = np.ones(candidates.shape[1])
        for item in prefix:
            if self.gain is None:
                remaining *= 1.0 - candidates[item]
            else:
                remaining -= self._gains(remaining, candidates[item : item + 1])[0]
        gains = candidates * remaining if self.gain is None else self._gains(remaining, candidates)
        rows = _centred(gains)
        rows[list(prefix)] = 0.0
        return rows

    def _gains(self, remaining: NDArray[np.float64], candidates: Encoded) -> Matrix:
        assert self.gain is not None
        left = np.broadcast_to(remaining, candidates.shape)
        gains = np.asarray(self.gain(left, candidates), np.float64)
        if gains.shape != candidates.shape:
            raise InvalidInput("gain(...)", f"have shape {candidates.shape}", gains.shape)
        outside = ~((gains >= 0.0) & (gains <= left))
        if outside.any():
            shown = gains[outside][0]
            raise InvalidInput("gain(...)", "lie between 0 and what remains of the topic", shown)
        return gains

    def state(self) -> Tree:
        kind, topics = "function", None
        if isinstance(self.topics, Mixture) and self.gain is None:
            kind, topics = "mixture", self.topics.saved()
        elif isinstance(self.topics, _Product) and self.gain is None:
            kind, topics = "matrix", {"matrix": self.topics.matrix}
        return {"topics_kind": kind, "topics": topics}

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        if state["topics_kind"] == "mixture":
            return cls(Mixture.from_state(state["topics"]))
        if state["topics_kind"] == "matrix":
            check("topics", {"matrix": numbers("columns", "topics")}, state["topics"])
            return cls(state["topics"]["matrix"])
        raise BadFile(
            "the saved policy uses a function of yours as topics or gain, which a file cannot "
            "hold: pass features=Coverage(...) when loading"
        )

    def __repr__(self) -> str:
        return f"Coverage({self.topics!r})"


class _Product:
    """Topics as a linear map of the items."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def __call__(self, items: Matrix) -> Matrix:
        if items.shape[1] != self.matrix.shape[0]:
            rule = f"have {self.matrix.shape[0]} columns, as many as topics has rows"
            raise InvalidInput("items", rule, items.shape[1])
        return items @ self.matrix

    def __repr__(self) -> str:
        return f"matrix of shape {self.matrix.shape}"


def _centred(gains: Matrix) -> Matrix:
    """The same arithmetic as the kernel's, so that both give the same bits."""
    scale = 1.0 / math.sqrt(gains.shape[1])
    return (2.0 * gains - 1.0) * scale
