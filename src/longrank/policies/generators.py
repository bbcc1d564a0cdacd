"""Generators of random numbers, as they are saved."""

from __future__ import annotations

from typing import Any

import numpy as np

from longrank.contents import Broken, Contents, Sizes, array, show, tree, whole
from longrank.packing import Tree


def _odd(value: Any, sizes: Sizes) -> None:
    """An odd number of 128 bits: with an even one a generator can repeat itself forever."""
    whole(0, 2**128 - 1)(value, sizes)
    if value % 2 == 0:
        raise Broken("be odd", show(value))


_WORD = {"has_uint32": whole(0, 1), "uinteger": whole(0, 2**32 - 1)}
_PCG = {"state": tree({"state": whole(0, 2**128 - 1), "inc": _odd})} | _WORD
_GENERATORS: dict[str, Contents] = {
    "PCG64": _PCG,
    "PCG64DXSM": _PCG,
    "MT19937": {"state": tree({"key": array(np.uint32, 624), "pos": whole(0, 624)})},
    "Philox": {
        "state": tree({"counter": array(np.uint64, 4), "key": array(np.uint64, 2)}),
        "buffer": array(np.uint64, 4),
        "buffer_pos": whole(0, 4),
    }
    | _WORD,
    "SFC64": {"state": tree({"state": array(np.uint64, 4)})} | _WORD,
}


def generator_state(rng: np.random.Generator) -> Tree:
    """Return the state of a generator, as a tree for :mod:`longrank.packing`."""
    state: Tree = dict(rng.bit_generator.state)
    return state


def saved_generator(value: Any, sizes: Sizes) -> None:
    """The state of one of numpy's generators: a rule of :mod:`longrank.contents`."""
    name = value.get("bit_generator") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in _GENERATORS:
        raise Broken(f"be of a known random generator, {', '.join(_GENERATORS)}", show(name))
    tree(_GENERATORS[name])(value, sizes)


def generator_from_state(state: Tree) -> np.random.Generator:
    """Return a generator that continues from a state."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
