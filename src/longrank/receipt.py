"""Receipts as they are stored: a tree is checked, and becomes the parts of a ranking."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.contents import MAX_COUNT, Contents, check, numbers, show, wholes
from longrank.errors import BadFile
from longrank.explanation import Names, read_names

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

VERSION = 4  # of a receipt's layout; receipts without one were written before it was counted
PRICES = 3  # that of receipts without a sample, which has not changed
RECORDS = 2  # that of receipts without prices, which has not changed
ARRAYS = 1  # that of receipts without names and prices, which has not changed
PARTS = ("estimates", "features", "order", "probabilities", "values")
_NAMED = ("ids", "reasons", "rows")
_PRICED = ("costs", "success_values", "loss_bound")
_MAX = sys.float_info.max
_CONTENTS: Contents = {
    "order": wholes("tries"),
    "probabilities": numbers("tries", minimum=-_MAX, maximum=_MAX, missing=True),
    "estimates": numbers("tries", minimum=-_MAX, maximum=_MAX, missing=True),
    "values": numbers("lengths", minimum=-_MAX, maximum=_MAX, missing=True),
    "features": numbers("tries", "dim"),  # a learner would never recover
}
_UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Prices(NamedTuple):
    """What a receipt has in addition where candidates have costs and values of their own."""

    costs: Vector
    values: Vector
    loss_bound: float

    def take(self, positions: Sequence[int]) -> Prices:
        """Return those of some tries."""
        kept = list(positions)
        return Prices(self.costs[kept], self.values[kept], self.loss_bound)


class Parts(NamedTuple):
    """What a receipt is made of, checked."""

    order: NDArray[np.int64]
    probabilities: Vector
    estimates: Vector
    values: Vector
    features: Matrix
    names: Names | None
    prices: Prices | None
    sample: Matrix | None


def read_tree(tree: Mapping[str, Any]) -> Parts:
    """Read what :func:`longrank.packing.unpack` returned."""
    _check_version(tree.get("version", 0))
    if set(tree) - {*_NAMED, *_PRICED, "sample", "version"} != set(PARTS):
        raise BadFile(f"the ranking must have the parts {PARTS}")
    return _read(tree)


def read_lists(data: Mapping[str, Any]) -> Parts:
    """Read plain lists and numbers, as from JSON."""
    try:
        _check_version(data.get("version", 0))
        parts = {name: np.array(data[name], np.float64) for name in PARTS}
        order, dim = parts["order"], data["dim"]
        if not ((np.abs(order) <= MAX_COUNT) & (order == np.trunc(order))).all():
            raise ValueError("order must hold whole numbers")
        if type(dim) is not int or not 0 <= dim <= MAX_COUNT:
            raise ValueError(f"dim must be a whole number, got {show(dim)}")
        whole = order.astype(np.int64)
        features = parts["features"].reshape(len(whole), dim)
        return _read({**data, **parts, "order": whole, "features": features})
    except BadFile:
        raise
    except _UNFIT as error:
        raise BadFile(f"not a ranking: {error!s:.200}") from error


def _read(tree: Mapping[str, Any]) -> Parts:
    check("not a ranking", _CONTENTS, tree)
    order, count = tree["order"], len(tree["order"])
    try:
        if len(tree["values"]) <= count:
            raise ValueError("its parts have lengths that do not fit together")
        if len(set(order.tolist())) < count:
            raise ValueError("order must hold no candidate twice")
        arrays = {name: tree[name] for name in PARTS}
        names, prices = read_names(tree, count), _read_prices(tree, count)
        return Parts(**arrays, names=names, prices=prices, sample=_read_sample(tree))
    except BadFile:
        raise
    except _UNFIT as error:
        raise BadFile(f"not a ranking: {error!s:.200}") from error


def _check_version(found: object) -> None:
    if type(found) is not int or not 0 <= found <= VERSION:
        raise BadFile(
            f"the ranking was saved in version {show(found)} of its layout, and this longrank "
            f"reads versions up to {VERSION}: upgrade longrank to read it"
        )


def _read_prices(tree: Mapping[str, Any], count: int) -> Prices | None:
    if "costs" not in tree:
        return None
    costs, values = (np.array(tree[name], np.float64) for name in _PRICED[:2])
    if not costs.shape == values.shape == (count,):
        raise ValueError("its parts have lengths that do not fit together")
    if not (np.isfinite(costs).all() and np.isfinite(values).all() and (costs >= 0.0).all()):
        raise ValueError("costs and values must be finite, and costs at least 0")
    bound = tree["loss_bound"]
    return Prices(costs, values, math.nan if bound is None else float(bound))


def _read_sample(tree: Mapping[str, Any]) -> Matrix | None:
    if "sample" not in tree:
        return None
    sample = np.array(tree["sample"], np.float64)
    if sample.ndim != 2 or not np.isfinite(sample).all():
        raise ValueError("the sample must be finite numbers, the same in every row")
    return sample
