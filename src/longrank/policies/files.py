"""Reading saved policies."""

import os
from pathlib import Path

from longrank import features as feature_maps
from longrank.errors import BadFile
from longrank.features import Features
from longrank.packing import unpack
from longrank.parts import Kinds
from longrank.policies.base import Policy
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.lcb import LCB
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB

KINDS = Kinds(
    "policy",
    Policy,  # type: ignore[type-abstract]
    "longrank.policies",
    (UCB, LCB, EpsilonGreedy, PlackettLuce, Thompson, Random, Oracle),
)

# What states from outside the package may raise, whose contents are not declared.
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def load(path: str | os.PathLike[str], *, features: Features | None = None) -> Policy:
    """Load a policy written by :meth:`Policy.save`, identical bit for bit.

    ``features`` is needed only if the saved ones contain a function of yours, which cannot be
    stored. Files of older versions are migrated; a damaged file, or one from a newer longrank, is
    rejected by name.
    """
    return from_bytes(Path(path).read_bytes(), features=features, source=os.fspath(path))


def from_bytes(data: bytes, *, features: Features | None = None, source: str = "data") -> Policy:
    """Rebuild the policy that :meth:`Policy.to_bytes` packed."""
    tree = unpack(data, source)
    if "policy" not in tree:
        held = "a ranking" if "order" in tree else "something else"
        raise BadFile(f"{source} holds {held}, not a policy")
    try:
        kind, state = KINDS.read(tree["policy"])
        if features is None:
            kept = state.get("features")
            features = feature_maps.Plain() if kept is None else feature_maps.from_state(kept)
        return kind.from_state(state, features)
    except _UNFIT as error:
        if isinstance(error, BadFile):
            raise BadFile(f"{source}: {error}") from error
        raise BadFile(f"{source} holds a policy that does not fit together: {error!r}") from error
