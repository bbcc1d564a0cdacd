"""Policies of models that were created before a log began with its policy.

Stores of format 1 held a policy's name and the settings given; the rest was the code's. What it was
then is pinned here, and must stay as it is whatever becomes of names and defaults.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from longrank.features import Coverage, Polynomial
from longrank.learners import Laplace, Learner, MaximumLikelihood, OnlineNewton, Ridge
from longrank.policies import (
    UCB,
    EpsilonGreedy,
    Oracle,
    PlackettLuce,
    Policy,
    Random,
    Thompson,
)
from longrank.service.engine.model import Spec

L = TypeVar("L", bound=Learner)
MAX_FOR_PRODUCTS = 16  # numbers of a candidate, up to which recommended used their products
_NEWTON = {"rate": None, "radius": 1.0, "link": "logistic"}
_LAPLACE = {"penalty": 0.5, "forgetting": 0.0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "recommended": {**_LAPLACE, "exploration": 0.2, "probing": True, "foresight": 10},
    "thompson": {**_LAPLACE, "scale": 1.0},
    "plackett-luce": {**_LAPLACE, "temperature": 1.0},
    "ind": {**_NEWTON, "exploration": 0.1},
    "dep": {**_NEWTON, "exploration": 0.1},
    "eps": {**_NEWTON, "epsilon": 0.1},
    "c-ucb1": {"exploration": 0.1},
    "gl-cdcm": {"penalty": 1.0, "exploration": 0.1, "link": "logistic"},
    "rand": {},
    "oracle": {"link": "logistic", "exact": False},
}


def is_spec(data: bytes) -> bool:
    """Whether a stored spec is of a model of format 1: such a spec has no version."""
    return "version" not in msgspec.json.decode(data, type=dict)


def make_policy(spec: Spec) -> Policy:
    """Make the policy that a model of format 1 began with."""
    request, rng = spec.request, spec.seed
    length = request.dim
    assert length is not None  # there were no records then
    name = request.policy.lower()
    settings = {**DEFAULTS[name], **request.settings}

    def take(*names: str) -> dict[str, Any]:
        return {each: settings[each] for each in names}

    def newton() -> OnlineNewton:
        more = take("radius", "link")
        made = OnlineNewton(length, max_budget=request.max_budget, rate=1.0, **more)
        rate = settings["rate"]
        if rate is None:
            rate = 1.0 / float(made.link.slope(made.radius))
        return _changed(made, rate=rate)

    def belief() -> tuple[Laplace, Polynomial]:
        features = Polynomial(2 if length <= MAX_FOR_PRODUCTS else 1)
        more = take("penalty", "forgetting")
        dim = features.length(length)
        return Laplace(dim, max_budget=request.max_budget, **more), features

    if name == "recommended":
        learner, features = belief()
        return UCB(learner, features=features, **take("exploration", "probing", "foresight"))
    if name == "thompson":
        learner, features = belief()
        return Thompson(learner, features=features, rng=rng, **take("scale"))
    if name == "plackett-luce":
        learner, features = belief()
        return PlackettLuce(learner, features=features, rng=rng, **take("temperature"))
    if name == "ind":
        return UCB(newton(), **take("exploration"))
    if name == "dep":
        return UCB(newton(), features=Coverage(settings["topics"]), **take("exploration"))
    if name == "eps":
        return EpsilonGreedy(newton(), rng=rng, **take("epsilon"))
    if name == "c-ucb1":
        return UCB(Ridge(length), **take("exploration"))
    if name == "gl-cdcm":
        likelihood = MaximumLikelihood(length, **take("link"))
        prior = np.eye(length) / settings["penalty"]
        likelihood = _changed(likelihood, inverse=prior, curvature=prior, **take("penalty"))
        return UCB(likelihood, **take("exploration"))
    if name == "rand":
        return Random(rng=rng)
    return Oracle(settings["weights"], **take("link", "exact"))


def _changed(learner: L, **parts: Any) -> L:
    """Return a learner with other parts of its state, beyond the limits of today as well."""
    return learner.from_state(learner.state() | parts)
