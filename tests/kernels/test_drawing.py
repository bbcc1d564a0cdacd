"""Sequences that kernels draw are those that are drawn action by action."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import OnlineNewton, Payoffs, PlackettLuce, kernels, unit_rows
from longrank.features import Plain


class InTurn(Plain):
    """The same rows, said to depend on the items above, so that each action is computed anew."""

    independent = False


PAYOFFS = {
    "free": Payoffs([1.0] * 4, [0.0] * 5),
    "never": Payoffs([0.1] * 4, [0.0, -1.0, -2.0, -3.0, -4.0]),
    "priced by the try": Payoffs([1.0, 0.9, 0.8, 0.7], [0.0, -0.1, -0.2, -0.4, -0.5]),
}


@pytest.mark.parametrize("kind", PAYOFFS)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 7),
    temperature=st.sampled_from([1e-6, 0.1, 1.0, 50.0]),
    patience=st.sampled_from([1.0, 0.7]),
)
def test_kernels_draw_and_weigh_as_plain_code_does(kind, seed, k, temperature, patience):
    items = unit_rows(np.random.default_rng(seed).normal(size=(k, 3)))
    payoffs, along = PAYOFFS[kind].patient(patience), np.random.default_rng(seed + 2).permutation(k)
    drawn, tables = [], []
    for features in (Plain(), InTurn()):  # with kernels and without them
        learner = OnlineNewton(dim=3, max_budget=6)
        learner.weights[:] = np.random.default_rng(seed + 1).normal(size=3) * 3.0
        policy = PlackettLuce(learner, features=features, temperature=temperature, rng=seed)
        drawn.append(policy.draw(items, payoffs, rng=np.random.default_rng(seed)).tolist())
        tables.append(policy.choices(items, payoffs, along[:5]))
    assert drawn[0] == drawn[1]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-12, atol=1e-15)


def test_draws_are_as_frequent_as_the_chances_say():
    estimates = np.array([0.5, 0.3, 0.7])
    world = estimates, np.array([1.0, 0.8]), np.array([0.0, -0.2, -0.5]), 0.9, 2, 0.8
    table = kernels.action_chances(world, np.array([2, 0]))
    counts, n = np.zeros(4), 20_000
    for draws in np.random.default_rng(0).random((n, 3)):
        order = kernels.draw_actions(world, draws)
        counts[order[0] if len(order) else 3] += 1
    assert counts / n == pytest.approx(table[0], abs=0.012)
    assert table[2].tolist() == [0.0, 0.0, 0.0, 1.0]  # the budget is used up
