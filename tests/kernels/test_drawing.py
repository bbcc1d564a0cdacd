"""Sequences are drawn action by action, with items scored once or anew at each position."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import OnlineNewton, Payoffs, PlackettLuce
from longrank.features import Plain


class InTurn(Plain):
    """The same rows, said to depend on the items above, so that each action is computed anew."""

    independent = False


def policies(seed, k, temperature):
    """The same policy with items scored once and anew at each position, and items."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(k, 3))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    both = []
    for features in (Plain(), InTurn()):
        learner = OnlineNewton(dim=3, max_budget=6)
        learner.weights[:] = np.random.default_rng(seed + 1).normal(size=3) * 3.0
        both.append(PlackettLuce(learner, features=features, temperature=temperature, rng=seed))
    return items, both


def payoffs_of(kind, patience):
    if kind == "free":
        return Payoffs([1.0] * 4, [0.0] * 5)
    if kind == "never":
        return Payoffs([0.1] * 4, [0.0, -1.0, -2.0, -3.0, -4.0])
    rewards = [1.0, 0.9, 0.8, 0.7]
    return Payoffs(rewards, [0.0, -0.1, -0.2, -0.4, -0.5], patience=patience)


@pytest.mark.parametrize("kind", ["free", "never", "priced by the try"])
@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 7),
    temperature=st.sampled_from([1e-6, 0.1, 1.0, 50.0]),
    patience=st.sampled_from([1.0, 0.7]),
)
def test_items_scored_once_are_drawn_as_items_scored_anew(kind, seed, k, temperature, patience):
    items, both = policies(seed, k, temperature)
    payoffs = payoffs_of(kind, patience)
    drawn = [policy.draw(items, payoffs, rng=np.random.default_rng(seed)) for policy in both]
    assert drawn[0].tolist() == drawn[1].tolist()
    along = np.random.default_rng(seed + 2).permutation(k)[: min(k, 5)]
    tables = [policy.choices(items, payoffs, along) for policy in both]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-12, atol=1e-15)
