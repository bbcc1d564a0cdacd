"""Learners: the belief about what succeeds."""

from __future__ import annotations

from longrank.errors import BadFile
from longrank.learners.base import Learner
from longrank.learners.laplace import Laplace
from longrank.learners.likelihood import MaximumLikelihood
from longrank.learners.newton import OnlineNewton
from longrank.learners.ridge import Ridge
from longrank.packing import Tree

__all__ = ["Laplace", "Learner", "MaximumLikelihood", "OnlineNewton", "Ridge", "from_state"]

_KINDS: dict[str, type[Learner]] = {
    kind.__name__: kind for kind in (OnlineNewton, Ridge, MaximumLikelihood, Laplace)
}


def from_state(state: Tree) -> Learner:
    """The learner that :meth:`Learner.state` described, equal bit for bit."""
    if state.get("kind") not in _KINDS:
        raise BadFile(f"unknown learner {state.get('kind')!r}: known are {sorted(_KINDS)}")
    return _KINDS[state["kind"]].from_state(state)
