"""Features: how an item is represented, given the items above it."""

from longrank.features.base import Features
from longrank.features.coverage import Coverage
from longrank.features.mixture import Mixture
from longrank.features.plain import Plain
from longrank.features.records import Records
from longrank.packing import Tree
from longrank.parts import Kinds

__all__ = [
    "Coverage",
    "Features",
    "Mixture",
    "Plain",
    "Records",
    "from_state",
]

KINDS = Kinds(
    "feature map",
    Features,  # type: ignore[type-abstract]
    "longrank.features",
    (Plain, Coverage, Records),
)


def from_state(state: Tree) -> Features:
    """Rebuild a feature map from its :meth:`Features.state`."""
    kind, current = KINDS.read(state)
    return kind.from_state(current)
