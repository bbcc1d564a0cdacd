"""The value and the best length of a sequence, against sums written out in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from longrank.kernels import (
    best_length,
    best_stop,
    probe_is_due,
    sequence_values,
    values_ahead,
)


def exact_values(chances, rewards, losses, patience=1.0):
    """Equation 4 of the paper, for every length; each failure ends all with 1 - patience."""
    p, r, loss = ([Fraction(float(x)) for x in xs] for xs in (chances, rewards, losses))
    q = Fraction(patience)
    values = []
    for length in range(len(p) + 1):
        total, survival = Fraction(0), Fraction(1)
        for i in range(length):
            total += survival * p[i] * r[i]
            total += survival * (1 - p[i]) * (1 - q) * loss[i + 1]
            survival *= (1 - p[i]) * q
        values.append(total + survival * loss[length])
    return values


def random_sequence(rng, n, grid=None):
    """Chances and payoffs; on a grid, where floats are exact, if one is given."""
    chances = rng.random(n)
    rewards, losses = np.sort(rng.random(n))[::-1], -np.sort(rng.random(n + 1))
    if grid is None:
        return chances, rewards.copy(), losses
    return tuple(np.floor(x * grid) / grid for x in (chances, rewards, losses))


ADVERSARIAL = {
    "nothing to try": ([], [], [-0.5]),
    "one item": ([0.5], [1.0], [0.0, -0.25]),
    "never": ([0.0, 0.0], [1.0, 1.0], [0.0, 0.0, 0.0]),
    "always": ([1.0, 1.0], [1.0, 0.5], [0.0, -1.0, -2.0]),
    "no payoffs at all": ([0.5, 0.5], [0.0, 0.0], [0.0, 0.0, 0.0]),
    "not unimodal": ([0.125, 0.875], [1.0, 1.0], [0.0, -0.5, -0.5]),
    "subnormal": ([5e-324, 5e-324], [5e-324, 5e-324], [0.0, -5e-324, -5e-324]),
    "huge": ([0.5, 0.25], [1e300, 1e299], [-1e299, -1e300, -2e300]),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_values_of_adversarial_sequences_are_those_of_the_formula(name):
    arrays = [np.array(x, float) for x in ADVERSARIAL[name]]
    exact = exact_values(*arrays)
    expected = [float(x) for x in exact]
    np.testing.assert_allclose(sequence_values(*arrays, 1.0), expected, rtol=1e-14, atol=1e-320)
    assert exact[best_length(*arrays, 1.0)] == max(exact)


def test_payoffs_beyond_the_sequence_do_not_count():
    chances = np.array([0.5])
    rewards, losses = np.array([1.0, 1.0, 1.0]), np.array([0.0, -0.25, -9.0, -9.0])
    assert best_length(chances, rewards, losses, 1.0) == 1
    assert sequence_values(chances, rewards, losses, 1.0).tolist() == [0.0, 0.375]


def test_probes_come_eight_times_for_every_doubling_and_at_least_once_in_32():
    due = [n for n in range(2000) if probe_is_due(n)]
    assert due[:26] == [*range(1, 17), *range(18, 33, 2), 36, 40]
    assert due[-50:] == list(range(416, 2000, 32))[-50:]
    for rounds in range(1, 257):
        assert sum(n <= rounds for n in due) <= 8 * math.log2(rounds) + 1
    for start in (8, 16, 64, 128):
        assert sum(start <= n < 2 * start for n in due) == 8
    assert probe_is_due(2**40)


def test_the_value_of_the_best_stop_is_that_of_the_best_length_bit_for_bit():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        chances, rewards, losses = random_sequence(rng, int(rng.integers(0, 9)))
        length, value = best_stop(chances, rewards, losses, 1.0)
        assert length == best_length(chances, rewards, losses, 1.0)
        by_hand = float(losses[-1])
        for p, r, loss in zip(chances[::-1], rewards[::-1], losses[-2::-1], strict=True):
            by_hand = max(float(loss), float(p) * float(r) + (1.0 - float(p)) * by_hand)
        assert value == by_hand
        assert value == pytest.approx(float(max(exact_values(chances, rewards, losses))), abs=1e-14)


def test_values_ahead_are_those_of_the_formula():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 9))
        chances, rewards, losses = random_sequence(rng, n)
        stopping = rng.random(n + 1)
        found = values_ahead(chances, rewards, losses, stopping)
        assert found.shape == (n + 1,)
        assert found[n] == losses[n]
        for i in range(n):
            further = chances[i] * rewards[i] + (1.0 - chances[i]) * found[i + 1]
            assert found[i] == stopping[i] * losses[i] + (1.0 - stopping[i]) * further


@pytest.mark.parametrize("patience", [0.25, 0.75, 1.0])
def test_a_cascade_that_may_end_by_itself_has_the_values_of_the_formula(patience):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        arrays = random_sequence(rng, int(rng.integers(0, 7)), grid=8)
        values = exact_values(*arrays, patience)
        np.testing.assert_allclose(
            sequence_values(*arrays, patience), [float(x) for x in values], rtol=0.0, atol=1e-15
        )
        longest = max(i for i, value in enumerate(values) if value == max(values))
        assert best_length(*arrays, patience) == longest
        assert best_stop(*arrays, patience) == (
            longest,
            pytest.approx(float(max(values)), abs=1e-15),
        )
        leaving = np.r_[0.0, np.full(len(arrays[0]), 1.0 - patience)]
        ahead = values_ahead(*arrays, leaving)
        assert ahead[0] == pytest.approx(float(values[-1]), abs=1e-14)
