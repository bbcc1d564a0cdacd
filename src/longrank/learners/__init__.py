"""Learners: the belief about what succeeds."""

from longrank.learners.base import Learner
from longrank.learners.blocks import Blocks
from longrank.learners.costs import Costs
from longrank.learners.laplace import Laplace
from longrank.learners.likelihood import MaximumLikelihood
from longrank.learners.newton import OnlineNewton
from longrank.learners.ridge import Ridge
from longrank.packing import Tree
from longrank.parts import Kinds

__all__ = [
    "Blocks",
    "Costs",
    "Laplace",
    "Learner",
    "MaximumLikelihood",
    "OnlineNewton",
    "Ridge",
    "from_state",
]

KINDS = Kinds(
    "learner",
    Learner,  # type: ignore[type-abstract]
    "longrank.learners",
    (OnlineNewton, Ridge, MaximumLikelihood, Laplace, Blocks),
)


def from_state(state: Tree) -> Learner:
    """Rebuild the learner that :meth:`Learner.state` described, equal bit for bit."""
    kind, current = KINDS.read(state)
    return kind.from_state(current)
