"""Payoffs: the value of a sequence, its best length, and Lemma 1."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import LOGISTIC, InvalidInput, Oracle, Outcome, Payoffs

SHAPES = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "linear": lambda b: Payoffs.linear(b, attempt_cost=0.19, give_up=-0.1),
}


def test_vanilla_pays_one_for_a_success_anywhere():
    assert Payoffs.vanilla(3) == Payoffs([1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0])


def test_exponential_is_the_schedule_of_the_paper():
    payoffs = Payoffs.exponential(3)
    np.testing.assert_allclose(payoffs.rewards, [1.0, 0.5, 0.25], rtol=1e-15)
    np.testing.assert_allclose(payoffs.losses, [-0.2, -0.6, -0.8, -0.9], rtol=1e-15)


def test_linear_charges_every_try_the_same():
    payoffs = Payoffs.linear(3, success=2.0, attempt_cost=0.5, give_up=-1.0)
    assert payoffs == Payoffs([1.5, 1.0, 0.5], [-1.0, -1.5, -2.0, -2.5])


def test_linear_may_use_up_the_success_but_not_more():
    assert Payoffs.linear(3, success=0.3, attempt_cost=0.1).rewards[-1] == 0.0
    with pytest.raises(InvalidInput, match=r"^budget must be at most 3, so that .*, got 4$"):
        Payoffs.linear(4, success=0.3, attempt_cost=0.1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("budget", [0, 1, 5])
def test_the_budget_is_the_number_of_rewards(shape, budget):
    payoffs = SHAPES[shape](budget)
    assert (payoffs.budget, len(payoffs.losses)) == (budget, budget + 1)


def test_an_outcome_earns_the_reward_or_the_loss_of_its_last_try():
    payoffs = Payoffs([3.0, 2.0], [-1.0, -4.0, -5.0])
    outcomes = [Outcome(1, True), Outcome(2, True), *(Outcome(i, False) for i in range(3))]
    assert [payoffs.reward(outcome) for outcome in outcomes] == [3.0, 2.0, -1.0, -4.0, -5.0]
    with pytest.raises(InvalidInput, match=r"^outcome.tried must be at most 2, got 3$"):
        payoffs.reward(Outcome(3, False))


def test_the_tries_of_a_round_are_the_budget_or_all():
    payoffs = Payoffs.vanilla(4)
    assert [payoffs.tries(None), payoffs.tries(0), payoffs.tries(4)] == [4, 0, 4]


BAD = {
    r"losses must have 3 numbers, one more than rewards, got 2": ([1.0, 1.0], [0.0, 0.0]),
    r"losses must have 1 numbers, one more than rewards, got 0": ([], []),
    r"rewards must be at least 0, got -0.5 at index 1": ([1.0, -0.5], [0.0, 0.0, 0.0]),
    r"losses must be at most 0, got 0.5 at index 0": ([1.0], [0.5, 0.0]),
    r"rewards must be non-increasing, got 1.0 before 2.0 at index 0": ([1.0, 2.0], [0, 0, 0]),
    r"losses must be non-increasing, got -1.0 before -0.5 at index 1": ([1, 1], [0, -1, -0.5]),
    r"rewards must be finite, got nan at index 0": ([float("nan")], [0.0, 0.0]),
    r"losses must be finite, got -inf at index 1": ([1.0], [0.0, float("-inf")]),
    r"rewards must have 1 dimensions, got shape \(1, 2\)": ([[1.0, 1.0]], [0.0, 0.0, 0.0]),
    r"rewards must hold numbers, got values of type <U1": (["a"], [0.0, 0.0]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_payoffs_are_refused_in_one_sentence(message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        Payoffs(*BAD[message])


@pytest.mark.parametrize("verb", ["values", "best_length"])
@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ([0.5, 0.5, 0.5], r"have at most 2 numbers, got 3"),
        ([0.5, 1.5], r"be between 0 and 1, got 1.5 at index 1"),
        ([-0.1], r"be between 0 and 1, got -0.1 at index 0"),
        ([float("nan")], r"be finite, got nan at index 0"),
    ],
)
def test_bad_probabilities_are_refused_in_one_sentence(verb, chances, message):
    with pytest.raises(InvalidInput, match=f"^probabilities must {message}$"):
        getattr(Payoffs.vanilla(2), verb)(chances)


def test_payoffs_cannot_be_changed():
    rewards = np.ones(2)
    payoffs = Payoffs(rewards, np.zeros(3))
    rewards[0] = 7.0
    assert payoffs.rewards[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        payoffs.losses[0] = -1.0
    with pytest.raises(AttributeError, match="cannot be changed"):
        payoffs.rewards = rewards


def test_payoffs_are_equal_by_their_numbers():
    assert Payoffs.vanilla(2) != Payoffs.vanilla(3)
    assert Payoffs.vanilla(2) != "vanilla"
    assert eval(repr(Payoffs.exponential(3))) == Payoffs.exponential(3)


# -- the best length ------------------------------------------------------------------------------


def exact_values(chances, payoffs):
    """E of every length, in fractions."""
    total, survival = Fraction(0), Fraction(1)
    values = [Fraction(float(payoffs.losses[0]))]
    for p, reward, loss in zip(chances, payoffs.rewards, payoffs.losses[1:], strict=False):
        total += survival * Fraction(p) * Fraction(float(reward))
        survival *= 1 - Fraction(p)
        values.append(total + survival * Fraction(float(loss)))
    return values


def sequences(number, chance, most=8):
    """Chances, and any monotone payoffs that cover them."""

    def build(draw):
        n = draw(st.integers(0, most))
        rewards = sorted((draw(number) for _ in range(n)), reverse=True)
        losses = sorted((-draw(number) for _ in range(n + 1)), reverse=True)
        return [draw(chance) for _ in range(n)], Payoffs(rewards, losses)

    return st.composite(build)()


eighths = st.integers(0, 7).map(lambda i: i / 8.0)  # sums and products of few are exact in floats


@settings(max_examples=1000)
@given(sequences(eighths, eighths))
def test_the_best_length_is_the_longest_of_the_best_in_exact_arithmetic(sequence):
    chances, payoffs = sequence
    values = exact_values(chances, payoffs)
    longest = max(i for i, value in enumerate(values) if value == max(values))
    assert payoffs.best_length(chances) == longest
    assert payoffs.values(chances).tolist() == [float(value) for value in values]


@settings(max_examples=1000)
@given(sequences(st.floats(0.0, 1e6), st.floats(0.0, 1.0), most=12))
def test_no_length_is_worth_more_than_the_best_one_by_more_than_rounding(sequence):
    chances, payoffs = sequence
    values = exact_values(chances, payoffs)
    scale = max(abs(x) for x in [*payoffs.rewards, *payoffs.losses])
    best = payoffs.best_length(chances)
    assert max(values) - values[best] <= Fraction(1e-13 * scale)


@pytest.mark.parametrize(
    ("rewards", "losses", "chances"),
    [
        ([1.0] * 4, [0.0] * 5, [0.5, 0.0, 0.0, 0.0]),
        ([0.0] * 3, [0.0] * 4, [0.5] * 3),
        ([1.0], [0.0, -1.0], [0.5]),
        ([1.0] * 3, [0.0, -1.0, -1.0, -3.0], [0.5] * 3),
    ],
)
def test_ties_go_to_the_longer_sequence(rewards, losses, chances):
    payoffs = Payoffs(rewards, losses)
    values = payoffs.values(chances)
    assert values[-1] == values.max() == np.sort(values)[-2]
    assert payoffs.best_length(chances) == len(chances)


BITS = 40
ONE = 1 << BITS


def longest_best_length(chances, rewards, losses):
    """The exact search over all lengths; every argument counts multiples of 2^-40."""
    gained, survival, best, length = 0, 1, losses[0], 0
    for i, p in enumerate(chances):
        gained = (gained << BITS) + survival * p * rewards[i]
        survival *= ONE - p
        value = gained + survival * losses[i + 1]
        best <<= BITS
        if value >= best:
            best, length = value, i + 1
    return length


LONG = 10_000


def long_chances(rng, kind):
    tiny, sure = rng.integers(0, 1 << 12, LONG), ONE - rng.integers(1, 1 << 12, LONG)
    kinds = {
        "tiny": tiny,
        "saturated": sure,
        "saturated, then tiny": np.where(np.arange(LONG) < LONG // 2, sure, tiny),
        "mixed": np.where(rng.random(LONG) < 0.5, sure, tiny),
        "even": np.full(LONG, ONE // 2),
    }
    return [int(p) for p in kinds[kind]]


@pytest.mark.parametrize("kind", ["tiny", "saturated", "saturated, then tiny", "mixed", "even"])
def test_the_best_length_of_ten_thousand_tries_is_exact(kind):
    rng = np.random.default_rng(1)
    chances = long_chances(rng, kind)
    rewards = np.sort(rng.integers(0, ONE, LONG))[::-1].tolist()
    # Giving up costs little more at each try, about what a tiny chance is worth; from some point
    # on it costs so much that a further try does not pay.
    steps = rng.integers(0, 1 << 10, LONG + 1)
    steps[rng.integers(LONG // 2, LONG)] = ONE // 2
    losses = (-np.cumsum(steps)).tolist()
    payoffs = Payoffs(np.array(rewards) / ONE, np.array(losses) / ONE)
    found = payoffs.best_length(np.array(chances) / ONE)
    assert found == longest_best_length(chances, rewards, losses)


@pytest.mark.parametrize("chance", [1e-300, 0.5, 1.0 - 1e-16, 1.0])
def test_in_vanilla_the_longest_sequence_is_always_best(chance):
    assert Payoffs.vanilla(LONG).best_length(np.full(LONG, chance)) == LONG


# -- Lemma 1 --------------------------------------------------------------------------------------


def best_of_all(chances, payoffs):
    """The largest expected reward over all sequences of distinct items."""
    most = min(payoffs.budget, len(chances))
    rewards, losses = payoffs.rewards.tolist(), payoffs.losses.tolist()
    best = losses[0]
    for order in permutations(range(len(chances)), most):
        total, survival = 0.0, 1.0
        for i, item in enumerate(order):
            total += survival * chances[item] * rewards[i]
            survival *= 1.0 - chances[item]
            best = max(best, total + survival * losses[i + 1])
    return best


scores = st.floats(-1.0, 1.0) | st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
monotone = sequences(st.floats(0.0, 10.0), st.none(), most=4).map(lambda sequence: sequence[1])
payoffs_of = {
    **{name: st.integers(0, 4).map(make) for name, make in SHAPES.items()},
    "any monotone": monotone,
}


@pytest.mark.parametrize("shape", payoffs_of)
def test_the_oracle_earns_what_the_best_of_all_sequences_earns(shape):
    @settings(max_examples=1000)
    @given(
        st.lists(scores, max_size=5), st.sampled_from([0.5, 4.0, 40.0, 900.0]), payoffs_of[shape]
    )
    def check(items, weight, payoffs):
        column = np.array(items).reshape(-1, 1)
        chances = LOGISTIC.probability(weight * column[:, 0])
        ranking = Oracle([weight]).rank(column, payoffs)
        scale = max(1.0, *payoffs.rewards, *-payoffs.losses)
        best = best_of_all(chances.tolist(), payoffs)
        assert ranking.value == pytest.approx(best, rel=0.0, abs=1e-13 * scale)

    check()
