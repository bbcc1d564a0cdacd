"""The scale of columns of numbers, by a sample of them, so that their units do not matter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.kernels import KNOTS

Matrix = NDArray[np.float64]

ENOUGH = 64  # rows from which shapes are added
LATER = 16  # rows that a receipt adds once there are enough
REACH = 1.5  # the norm of a typical row's scores
EMBEDDED = 1.0  # that of an embedding, and of its products
_SAME, _MOST = 0.003, 0.95  # how far norms may differ that count as one, and in how many rows
_VARYING = 0.1  # least share of an embedding's square that differs between rows


@dataclass(frozen=True)
class Scale:
    """What a sample says of the columns: the curve of each, and the scale of their scores."""

    curves: kernels.Curves
    scale: float
    embedded: bool = False

    @classmethod
    def fit(cls, sample: Matrix) -> Scale:
        norm = _common_norm(sample)
        return cls._of_columns(sample) if norm is None else cls._of_embeddings(sample, norm)

    @classmethod
    def _of_embeddings(cls, sample: Matrix, norm: float) -> Scale:
        """Take numbers as they are: in rows of one norm their relative sizes mean something."""
        d = sample.shape[1]
        knots, scores = np.full((d, KNOTS), math.inf), np.zeros((d, KNOTS))
        slopes = np.zeros((d, KNOTS))
        knots[:, :3], scores[:, :3] = (-norm, 0.0, norm), (-math.sqrt(d), 0.0, math.sqrt(d))
        slopes[:, :2], counts = math.sqrt(d) / norm, np.full(d, 3)
        curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        return cls(curves, EMBEDDED / math.sqrt(d), True)

    @classmethod
    def _of_columns(cls, sample: Matrix) -> Scale:
        n, d = sample.shape
        knots, scores = np.zeros((d, KNOTS)), np.zeros((d, KNOTS))
        counts = np.ones(d, np.int64)
        for j in range(d):
            values, often = np.unique(sample[:, j], return_counts=True)
            counts[j] = min(len(values), KNOTS)
            if len(values) > KNOTS:
                middles = (np.cumsum(often) - 0.5 * often) / n
                kept = np.searchsorted(middles, np.linspace(middles[0], middles[-1], KNOTS))
                kept = np.unique(np.minimum(kept, len(values) - 1))
                counts[j] = len(kept)
                knots[j, : len(kept)] = values[kept]
                scores[j, : len(kept)] = [_normal_quantile(each) for each in middles[kept]]
            elif len(values) > 2:
                middles = (np.cumsum(often) - 0.5 * often) / n
                knots[j, : len(values)] = values
                scores[j, : len(values)] = [_normal_quantile(each) for each in middles]
            else:  # one or two numbers: the more frequent of them is 0
                knots[j, : len(values)] = values
                if len(values) == 2:  # by the first rows, so that it stays so as more are seen
                    low = (sample[:ENOUGH, j] == values[0]).mean()
                    scores[j, :2] = (0.0, 1.0) if low >= 0.5 else (1.0, 0.0)
        slopes = np.zeros((d, KNOTS))
        with np.errstate(all="ignore"):  # of numbers that are nearly equal, or as far apart
            slopes[:, :-1] = np.diff(scores) / np.diff(knots)
        slopes[(np.arange(KNOTS) >= counts[:, np.newaxis] - 1) | ~np.isfinite(slopes)] = 0.0
        knots[np.arange(KNOTS) >= counts[:, np.newaxis]] = math.inf
        curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        scored = kernels.normal_scores(sample, curves)
        for j in _repeated(scored, counts):
            scored[j], scores[j], slopes[j], counts[j] = 0.0, 0.0, 0.0, 2
        curves = kernels.guide(knots, counts), knots, scores, slopes, counts
        square = float((scored**2).sum()) / max(n, 1)
        return cls(curves, rounded(REACH / math.sqrt(square)) if square > 0.0 else REACH)


def _common_norm(sample: Matrix) -> float | None:
    """Return the norm of nearly all rows, if they are embeddings; None otherwise.

    Rows of indicators can have one norm, too, but no column has more than two numbers then; and
    so can rows with a column that is far from 0, but then they are all nearly the same.
    """
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


def _repeated(scored: Matrix, counts: NDArray[np.int64]) -> list[int]:
    """Find columns of more than two numbers that say the same as one before them."""
    first: dict[bytes, int] = {}
    numeric = np.flatnonzero(counts > 2).tolist()
    return [j for j in numeric if first.setdefault((scored[j].round(6) + 0.0).tobytes(), j) != j]


def rounded(size: float) -> float:
    """Leave the last bits out, which depend on how a machine adds: what is kept is the same."""
    return float(f"{size:.9g}")


@lru_cache(maxsize=4096)
def _normal_quantile(share: float) -> float:
    return NormalDist().inv_cdf(share)
