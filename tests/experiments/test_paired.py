"""Paired differences and standings, on numbers with known answers."""

import math

import numpy as np
import pytest
from made_up import row
from scipy import stats

from longrank.experiments.paired import difference, gains, standings
from longrank.experiments.scores import score_cells


def by_seed(*values: float) -> dict[int, np.ndarray]:
    return {seed: np.array([value]) for seed, value in enumerate(values)}


def found(rewards: dict[str, tuple[float, ...]], **more):
    """Scores of policies that earn these rewards on shuffles."""
    rows = [row(p, r, seed=s, **more) for p, each in rewards.items() for s, r in enumerate(each)]
    return list(score_cells(rows).values())


def test_the_interval_over_shuffles_is_that_of_the_paired_t_test():
    one, other = (0.5, 0.7, 0.4, 0.9), (0.4, 0.3, 0.45, 0.5)
    result = difference(by_seed(*one), by_seed(*other))
    expected = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert result is not None
    assert result.ends == pytest.approx((expected.low, expected.high))
    assert (result.shuffles, result.clear) == (4, expected.low > 0.0)


def test_shuffles_that_agree_by_chance_prove_no_more_than_their_rounds():
    rng = np.random.default_rng(0)
    rounds = rng.normal(0.0, 1.0, 50)
    rounds += 0.01 - rounds.mean()  # both shuffles have a sum of 0.5
    result = difference({0: rounds, 1: rounds[::-1]}, {0: np.zeros(50), 1: np.zeros(50)})
    assert result is not None
    assert result.mean == pytest.approx(0.5)
    expected = stats.norm.ppf(0.975) * math.sqrt(50 * rounds.var() / 2)
    assert result.half == pytest.approx(expected)
    assert not result.clear


def test_intervals_cover_the_truth_of_noisy_rounds():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        ours = {s: (rng.random(60) < 0.5) / 60.0 for s in range(3)}
        theirs = {s: (rng.random(60) < 0.3) / 60.0 for s in range(3)}
        result = difference(ours, theirs)
        assert result is not None
        low, high = result.ends
        hits += low <= 0.2 <= high
    assert hits >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05)


def test_one_shuffle_has_no_interval_and_different_shuffles_no_difference():
    result = difference(by_seed(0.5), by_seed(0.1))
    assert result is not None
    assert result.half == math.inf
    assert not result.clear
    assert difference({0: np.array([0.5])}, {1: np.array([0.1])}) is None
    assert difference(by_seed(math.nan), by_seed(0.1)) is None


def test_the_rounds_of_a_shuffle_add_up_to_its_ncr():
    rng = np.random.default_rng(2)
    curve = rng.random(100).tolist()
    [score] = score_cells([row(reward=sum(curve), curve=curve)]).values()
    [rounds] = gains(score).values()
    assert len(rounds) == 100
    assert rounds.sum() == pytest.approx(score.ncr)


def test_the_policy_with_the_highest_mean_over_all_cases_is_first():
    some = found({"ind": (60.0, 62.0), "dep": (50.0, 52.0), "rand": (10.0, 9.0)}, budget=1)
    more = found({"ind": (70.0, 72.0), "dep": (75.0, 77.0), "rand": (10.0, 9.0)}, budget=5)
    result = standings([*some, *more])
    assert result.cases == 2
    first = [(one.policy, one.first) for one in result.policies]
    assert first == [("ind", 1), ("dep", 1), ("rand", 0)]
    assert result.policies[0].mean == pytest.approx((51 + 61) / 90 / 2)


def test_cases_that_not_all_policies_have_or_without_anything_to_gain_do_not_count():
    whole = found({"ind": (60.0,), "dep": (70.0,)}, budget=1)
    half = found({"ind": (90.0,)}, budget=5)
    full = found({"ind": (10.0,), "dep": (10.0,)}, budget=10, cr_max=10.0)
    result = standings([*whole, *half, *full])
    assert result.cases == 1
    assert [one.policy for one in result.policies] == ["dep", "ind"]
    assert standings([*half, *full]).policies == ()
