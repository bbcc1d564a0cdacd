"""The value and the best length of a sequence, beside those in tests/test_payoffs.py."""

import math

import numpy as np
import pytest

from longrank.kernels import best_length, best_stop, probe_is_due, sequence_values


def random_sequence(rng, n):
    return rng.random(n), np.sort(rng.random(n))[::-1].copy(), -np.sort(rng.random(n + 1))


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


@pytest.mark.parametrize("patience", [0.25, 1.0])
def test_the_value_of_the_best_stop_is_that_of_the_best_length_bit_for_bit(patience):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sequence = random_sequence(rng, int(rng.integers(0, 9)))
        length, value = best_stop(*sequence, patience)
        assert length == best_length(*sequence, patience)
        assert value == pytest.approx(sequence_values(*sequence, patience).max(), abs=1e-14)
        if patience == 1.0:
            chances, rewards, losses = sequence
            by_hand = float(losses[-1])
            for p, r, loss in zip(chances[::-1], rewards[::-1], losses[-2::-1], strict=True):
                by_hand = max(float(loss), float(p) * float(r) + (1.0 - float(p)) * by_hand)
            assert value == by_hand
