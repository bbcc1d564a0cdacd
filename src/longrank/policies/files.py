"""Reading saved policies."""

from __future__ import annotations

import os
from pathlib import Path

from longrank import features as feature_maps
from longrank.errors import BadFile
from longrank.features import Features
from longrank.packing import unpack
from longrank.policies.base import Believer, Policy
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB

_KINDS: dict[str, type[Policy]] = {
    kind.__name__: kind for kind in (UCB, EpsilonGreedy, PlackettLuce, Thompson, Random, Oracle)
}


def load(path: str | os.PathLike[str], *, features: Features | None = None) -> Policy:
    """The policy that :meth:`Policy.save` wrote, equal bit for bit, random generators included.

    ``features`` is needed only where the saved ones hold a function of yours, which a file
    cannot. A damaged file or one of another version is refused.
    """
    return from_bytes(Path(path).read_bytes(), features=features, source=os.fspath(path))


def from_bytes(data: bytes, *, features: Features | None = None, source: str = "data") -> Policy:
    """The policy that :meth:`Policy.to_bytes` packed."""
    state = unpack(data, source).get("policy")
    if state is None or state.get("kind") not in _KINDS:
        raise BadFile(f"{source} holds no policy of a kind that this longrank knows")
    try:
        if features is None:
            features = feature_maps.from_state(state["features"])
        policy = _KINDS[state["kind"]].from_state(state, features)
        if isinstance(policy, Believer):
            policy.given_up = state["given_up"]
        return policy
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{source} holds a policy that does not fit together: {error!r}") from error
