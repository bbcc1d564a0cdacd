"""Contents: what the state of a part holds, validated before use.

A part declares its contents as a dictionary: for each name a rule, which is a function of the
value and of the sizes known so far. Sizes are the whole numbers of the same state, by name, and the
lengths of arrays, which the first array of that size sets::

    {"dim": whole(1), "weights": numbers("dim"), "rows": numbers("n", "dim"), "marks": wholes("n")}
"""

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import BadFile

Sizes = dict[str, int]
Rule = Callable[[Any, Sizes], None]
Contents = dict[str, Rule]

MAX_COUNT = 1 << 53  # counts stay exact as floats, and far below 64 bits
MAX_NUMBER = 1e150  # in a belief, so that squares are finite


class Broken(Exception):
    """A value breaks a rule: its place, the rule, and what was found."""

    def __init__(self, rule: str, found: object, where: str = "") -> None:
        super().__init__(rule, found, where)
        self.rule, self.found, self.where = rule, found, where

    def __str__(self) -> str:
        return f"{self.where} must {self.rule}, got {self.found}"


def check(what: str, contents: Contents, state: Any) -> None:
    """Refuse a state whose contents break a rule."""
    try:
        tree(contents)(state, {})
    except Broken as broken:
        raise BadFile(f"{what}: {broken}" if broken.where else f"{what} {broken}") from None


def tree(contents: Contents) -> Rule:
    """A dictionary with these contents; other keys are ignored."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
        if not isinstance(value, dict):
            raise Broken("be a tree", show(value))
        own: Sizes = {}
        for name, part in contents.items():
            if name not in value:
                raise Broken("be there", "nothing", name)
            _check_entry(part, value[name], own, name)
            if type(value[name]) is int:
                own[name] = value[name]

    return rule


def _check_entry(rule: Rule, entry: Any, sizes: Sizes, name: str) -> None:
    try:
        rule(entry, sizes)
    except Broken as broken:
        where = f"{name}.{broken.where}" if broken.where else name
        raise Broken(broken.rule, broken.found, where) from None


def optional(rule: Rule) -> Rule:
    """None, or what a rule allows."""

    def either(value: Any, sizes: Sizes) -> None:
        if value is not None:
            rule(value, sizes)

    return either


def listed(rule: Rule, maximum: int = MAX_COUNT, exactly: int | None = None) -> Rule:
    """A list whose elements follow a rule."""

    def each(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, list | tuple):
            raise Broken("be a list", show(value))
        if len(value) > maximum or (exactly is not None and len(value) != exactly):
            wanted = f"at most {maximum}" if exactly is None else exactly
            raise Broken(f"have {wanted} entries", len(value))
        for i, entry in enumerate(value):
            _check_entry(rule, entry, sizes, str(i))

    return each


def mapped(rule: Rule, maximum: int = MAX_COUNT) -> Rule:
    """A dictionary with any keys, whose values follow a rule."""

    def each(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict) or len(value) > maximum:
            raise Broken(f"be a tree of at most {maximum} entries", show(value))
        for name, entry in value.items():
            _check_entry(rule, entry, sizes, repr(name))

    return each


def _typed(kind: type, wanted: str) -> Rule:
    """A value of a type."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
        if not isinstance(value, kind):
            raise Broken(wanted, show(value))

    return rule


text, flag = _typed(str, "be text"), _typed(bool, "be true or false")


def one_of(words: Collection[str]) -> Rule:
    """One of some words."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
        if not isinstance(value, str) or value not in words:
            raise Broken(f"be one of {', '.join(sorted(words))}", show(value))

    return rule


def whole(minimum: int = 0, maximum: int = MAX_COUNT) -> Rule:
    """A whole number in a range."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
        if type(value) is not int or not minimum <= value <= maximum:
            raise Broken(f"be a whole number from {minimum} to {maximum}", show(value))

    return rule


def real(
    minimum: float = -MAX_NUMBER, maximum: float = MAX_NUMBER, above: float = -math.inf
) -> Rule:
    """A finite number in a range."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
        if type(value) not in (int, float):
            raise Broken("be a number", show(value))
        if not (minimum <= value <= maximum and value > above):
            least = f"above {above:g}" if above >= minimum else f"from {minimum:g}"
            raise Broken(f"be a number {least} to {maximum:g}", show(value))

    return rule


def numbers(
    *shape: int | str,
    minimum: float = -MAX_NUMBER,
    maximum: float = MAX_NUMBER,
    missing: bool = False,
) -> Rule:
    """An array of finite floats in a range, or NaN where they may be ``missing``."""

    def rule(value: Any, sizes: Sizes) -> None:
        given = _array(value, np.float64, shape, sizes)
        if not given.size or (given.min() >= minimum and given.max() <= maximum):
            return
        fits = (given >= minimum) & (given <= maximum)
        if missing:
            fits |= np.isnan(given)
        if not fits.all():
            shown = float(given[~fits][0])
            raise Broken(f"hold numbers from {minimum:g} to {maximum:g}", shown)

    return rule


def wholes(
    *shape: int | str,
    minimum: int = 0,
    maximum: int = MAX_COUNT,
    below: str = "",
    rising: bool = False,
) -> Rule:
    """An array of whole numbers in a range, or ``below`` a size; each once if ``rising``."""

    def rule(value: Any, sizes: Sizes) -> None:
        given = _array(value, np.int64, shape, sizes)
        last = sizes[below] - 1 if below else maximum
        if given.size and not (given.min() >= minimum and given.max() <= last):
            shown = int(given.min() if given.min() < minimum else given.max())
            raise Broken(f"hold whole numbers from {minimum} to {last}", shown)
        if rising and not (given[1:] > given[:-1]).all():
            raise Broken("hold rising numbers", "others")

    return rule


def array(dtype: type[np.generic], *shape: int | str) -> Rule:
    """An array of keys or flags, whose values are unrestricted."""

    def rule(value: Any, sizes: Sizes) -> None:
        _array(value, dtype, shape, sizes)

    return rule


def covariance(size: str) -> Rule:
    """A square matrix of finite floats with no negative number on its diagonal."""
    square = numbers(size, size)

    def rule(value: Any, sizes: Sizes) -> None:
        square(value, sizes)
        diagonal = np.diagonal(value)
        if diagonal.size and diagonal.min() < 0.0:
            raise Broken("have a diagonal of at least 0", float(diagonal.min()))

    return rule


COUNT = whole()
PART = tree({})  # checked by its own kind


def show(value: Any) -> str:
    """Return a short description of any value, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} in shape {value.shape}"
    if isinstance(value, str):
        return repr(value[:40])
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 128 else "one of more than 128 bits"
    return f"a {type(value).__name__}"


def _array(
    value: Any, dtype: type[np.generic], shape: tuple[int | str, ...], sizes: Sizes
) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != len(shape):
        kind = np.dtype(dtype).name
        raise Broken(f"be an array of {kind} in {len(shape)} dimensions", show(value))
    for size, length in zip(shape, value.shape, strict=True):
        wanted = size if isinstance(size, int) else sizes.setdefault(size, length)
        if length != wanted:
            full = tuple(sizes.get(each, each) if isinstance(each, str) else each for each in shape)
            raise Broken(f"have shape {full}", value.shape)
    return value
