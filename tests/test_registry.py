"""The settings of the policies, and the names of the paper."""

import numpy as np
import pytest

from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    Laplace,
    MaximumLikelihood,
    OnlineNewton,
    Oracle,
    Payoffs,
    PlackettLuce,
    Plain,
    Random,
    Ridge,
    Tabular,
    Thompson,
    named,
)
from longrank.policies.registry import names

ITEMS = np.eye(4)[[1, 0, 3, 2, 1]] * 0.9


@pytest.mark.parametrize(
    ("name", "settings", "policy", "learner", "features"),
    [
        ("thompson", {"dim": 4, "rng": 1}, Thompson, Laplace, Tabular),
        ("plackett-luce", {"dim": 4, "rng": 1}, PlackettLuce, Laplace, Tabular),
        ("rand", {"rng": 1}, Random, None, None),
        ("eps", {"dim": 4, "max_budget": 5, "rng": 1}, EpsilonGreedy, OnlineNewton, Plain),
        ("c-ucb1", {"dim": 4}, UCB, Ridge, Plain),
        ("gl-cdcm", {"dim": 4}, UCB, MaximumLikelihood, Plain),
        ("ind", {"dim": 4, "max_budget": 5}, UCB, OnlineNewton, Plain),
        ("dep", {"dim": 4, "max_budget": 5, "topics": np.eye(4)}, UCB, OnlineNewton, Coverage),
        ("oracle", {"weights": np.ones(4)}, Oracle, None, Plain),
    ],
)
def test_names_are_combinations(name, settings, policy, learner, features):
    assert name in names()
    made = named(name.upper(), **settings)
    assert type(made) is policy
    assert learner is None or type(made.learner) is learner
    assert features is None or type(made.features) is features
    assert len(made.rank(ITEMS, Payoffs.vanilla(5))) == 5
