"""Features: how an item looks, given the items above it."""

from __future__ import annotations

from longrank.errors import BadFile
from longrank.features.base import Features
from longrank.features.coverage import Coverage
from longrank.features.mixture import Mixture
from longrank.features.plain import Plain
from longrank.features.polynomial import Polynomial
from longrank.packing import Tree

__all__ = ["Coverage", "Features", "Mixture", "Plain", "Polynomial", "from_state"]

_KINDS: dict[str, type[Features]] = {
    "plain": Plain,
    "coverage": Coverage,
    "polynomial": Polynomial,
}


def from_state(state: Tree) -> Features:
    """The feature map that :meth:`Features.state` described."""
    if state.get("kind") not in _KINDS:
        raise BadFile(f"unknown features {state.get('kind')!r}: known are {sorted(_KINDS)}")
    return _KINDS[state["kind"]].from_state(state)
