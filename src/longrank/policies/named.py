"""Policies by name: the paper's, and what else needs no more than a name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longrank.errors import InvalidInput
from longrank.features import Coverage, Features
from longrank.features.coverage import Topics
from longrank.learners import MaximumLikelihood, OnlineNewton, Ridge
from longrank.links import LOGISTIC, Link
from longrank.policies.base import Policy
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.recommended import belief, recommended
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB


def _thompson(
    *,
    dim: int,
    max_budget: int | None = None,
    scale: float = 1.0,
    forgetting: float = 0.0,
    rng: np.random.Generator | int,
) -> Policy:
    learner, features = belief(dim, max_budget, forgetting)
    return Thompson(learner, features=features, scale=scale, rng=rng)


def _plackett_luce(
    *,
    dim: int,
    max_budget: int | None = None,
    temperature: float = 1.0,
    forgetting: float = 0.0,
    rng: np.random.Generator | int,
) -> Policy:
    learner, features = belief(dim, max_budget, forgetting)
    return PlackettLuce(learner, features=features, temperature=temperature, rng=rng)


def _ind(
    *,
    dim: int,
    max_budget: int,
    exploration: float = 0.1,
    rate: float | None = None,
    radius: float = 1.0,
    link: Link | str = LOGISTIC,
) -> Policy:
    learner = OnlineNewton(dim, max_budget=max_budget, radius=radius, rate=rate, link=link)
    return UCB(learner, exploration=exploration)


def _dep(
    *,
    dim: int,
    topics: Topics | ArrayLike,
    max_budget: int,
    exploration: float = 0.1,
    rate: float | None = None,
    radius: float = 1.0,
    link: Link | str = LOGISTIC,
) -> Policy:
    learner = OnlineNewton(dim, max_budget=max_budget, radius=radius, rate=rate, link=link)
    return UCB(learner, features=Coverage(topics), exploration=exploration)


def _eps(
    *,
    dim: int,
    max_budget: int,
    epsilon: float = 0.1,
    rng: np.random.Generator | int,
    rate: float | None = None,
    radius: float = 1.0,
    link: Link | str = LOGISTIC,
) -> Policy:
    learner = OnlineNewton(dim, max_budget=max_budget, radius=radius, rate=rate, link=link)
    return EpsilonGreedy(learner, epsilon=epsilon, rng=rng)


def _c_ucb1(*, dim: int, exploration: float = 0.1) -> Policy:
    return UCB(Ridge(dim), exploration=exploration)


def _gl_cdcm(
    *, dim: int, penalty: float = 1.0, exploration: float = 0.1, link: Link | str = LOGISTIC
) -> Policy:
    return UCB(MaximumLikelihood(dim, penalty=penalty, link=link), exploration=exploration)


def _rand(*, rng: np.random.Generator | int) -> Policy:
    return Random(rng=rng)


def _oracle(
    *,
    weights: ArrayLike,
    features: Features | None = None,
    link: Link | str = LOGISTIC,
    exact: bool = False,
) -> Policy:
    return Oracle(weights, features=features, link=link, exact=exact)


_MAKERS: dict[str, Callable[..., Policy]] = {
    "recommended": recommended,
    "thompson": _thompson,
    "plackett-luce": _plackett_luce,
    "rand": _rand,
    "eps": _eps,
    "c-ucb1": _c_ucb1,
    "gl-cdcm": _gl_cdcm,
    "ind": _ind,
    "dep": _dep,
    "oracle": _oracle,
}
NAMES = tuple(_MAKERS)


def named(name: str, /, **settings: Any) -> Policy:
    """A policy by its name: the one that we recommend, two that act on its belief by chance, and
    those of the paper.

    =============  ====================================================================
    recommended    dim, max_budget=None, forgetting=0.0
    thompson       dim, max_budget=None, scale=1.0, forgetting=0.0, rng
    plackett-luce  dim, max_budget=None, temperature=1.0, forgetting=0.0, rng
    ind            dim, max_budget, exploration=0.1, rate=None, radius=1.0, link
    dep            dim (the number of topics), topics, and those of ind
    eps            dim, max_budget, epsilon=0.1, rng, rate=None, radius=1.0, link
    c-ucb1         dim, exploration=0.1
    gl-cdcm        dim, penalty=1.0, exploration=0.1, link
    rand           rng
    oracle         weights, features=Plain(), link, exact=False
    =============  ====================================================================

    >>> named("ind", dim=10, max_budget=5).exploration
    0.1
    """
    maker = _MAKERS.get(name.lower())
    if maker is None:
        raise InvalidInput("name", f"be one of {', '.join(NAMES)}", repr(name))
    known = inspect.signature(maker).parameters
    for setting in settings:
        if setting not in known:
            raise InvalidInput("settings", f"be among {', '.join(known)} for {name!r}", setting)
    for setting, parameter in known.items():
        if parameter.default is parameter.empty and setting not in settings:
            raise InvalidInput("settings", f"include {setting!r} for {name!r}", sorted(settings))
    return maker(**settings)
