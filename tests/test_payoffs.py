"""Payoffs: the value of a sequence, its best length, and Lemma 1."""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longrank import Outcome, Payoffs

SHAPES = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "linear": lambda b: Payoffs.linear(b, attempt_cost=0.19, give_up=-0.1),
}


def test_each_shape_has_its_numbers():
    assert Payoffs.vanilla(3) == Payoffs([1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0])
    payoffs = Payoffs.exponential(3)
    np.testing.assert_allclose(payoffs.rewards, [1.0, 0.5, 0.25], rtol=1e-15)
    np.testing.assert_allclose(payoffs.losses, [-0.2, -0.6, -0.8, -0.9], rtol=1e-15)
    linear = Payoffs.linear(3, success=2.0, attempt_cost=0.5, give_up=-1.0)
    assert linear == Payoffs([1.5, 1.0, 0.5], [-1.0, -1.5, -2.0, -2.5])
    assert Payoffs.linear(3, success=0.3, attempt_cost=0.1).rewards[-1] == 0.0
    for shape, budget in product(SHAPES.values(), (0, 1, 5)):
        payoffs = shape(budget)
        assert (payoffs.budget, len(payoffs.losses)) == (budget, budget + 1)
        assert [payoffs.tries(None), payoffs.tries(0)] == [budget, 0]


def test_an_outcome_earns_the_reward_or_the_loss_of_its_last_try():
    payoffs = Payoffs([3.0, 2.0], [-1.0, -4.0, -5.0])
    outcomes = [Outcome(1, True), Outcome(2, True), *(Outcome(i, False) for i in range(3))]
    assert [payoffs.reward(outcome) for outcome in outcomes] == [3.0, 2.0, -1.0, -4.0, -5.0]


def test_payoffs_cannot_be_changed_and_are_equal_by_their_numbers():
    rewards = np.ones(2)
    payoffs = Payoffs(rewards, np.zeros(3))
    rewards[0] = 7.0
    assert payoffs.rewards[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        payoffs.losses[0] = -1.0
    with pytest.raises(AttributeError, match="cannot be changed"):
        payoffs.rewards = rewards
    assert payoffs == Payoffs.vanilla(2) != Payoffs.vanilla(3)
    assert payoffs != "vanilla"


# -- the best length ------------------------------------------------------------------------------


def exact_values(chances, payoffs, patience=1.0):
    """Equation 4 of the paper for every length, in fractions; failures may end the cascade."""
    total, going, q = Fraction(0), Fraction(1), Fraction(patience)
    values = [Fraction(float(payoffs.losses[0]))]
    for p, reward, loss in zip(chances, payoffs.rewards, payoffs.losses[1:], strict=False):
        total += going * Fraction(p) * Fraction(float(reward))
        going *= 1 - Fraction(p)
        values.append(total + going * Fraction(float(loss)))
        total += going * (1 - q) * Fraction(float(loss))
        going *= q
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
@given(sequences(eighths, eighths), st.sampled_from([1.0, 0.75, 0.25]))
@example(([0.5, 0.0, 0.0, 0.0], Payoffs.vanilla(4)), 1.0)
@example(([0.5] * 3, Payoffs([0.0] * 3, [0.0] * 4)), 1.0)
@example(([0.5] * 3, Payoffs([1.0] * 3, [0.0, -1.0, -1.0, -3.0])), 1.0)
@example(([0.125, 0.875], Payoffs([1.0, 1.0], [0.0, -0.5, -0.5])), 1.0)  # not unimodal
def test_the_best_length_is_the_longest_of_the_best_in_exact_arithmetic(sequence, patience):
    chances, payoffs = sequence
    values = exact_values(chances, payoffs, patience)
    longest = max(i for i, value in enumerate(values) if value == max(values))
    assert payoffs.best_length(chances, patience=patience) == longest
    expected = [float(value) for value in values]
    assert payoffs.values(chances, patience=patience) == pytest.approx(expected, abs=1e-15)


@settings(max_examples=1000)
@given(sequences(st.floats(0.0, 1e6), st.floats(0.0, 1.0), most=12))
@example(([1.0, 1.0], Payoffs([1.0, 0.5], [0.0, -1.0, -2.0])))
@example(([5e-324] * 2, Payoffs([5e-324] * 2, [0.0, -5e-324, -5e-324])))
@example(([0.5, 0.25], Payoffs([1e12, 1e11], [-1e10, -1e11, -1e12])))
def test_values_and_the_best_length_are_those_of_the_formula_up_to_rounding(sequence):
    chances, payoffs = sequence
    values = exact_values(chances, payoffs)
    close = Fraction(1e-13) * Fraction(max(1e-307, *payoffs.rewards, *-payoffs.losses))
    assert max(values) - values[payoffs.best_length(chances)] <= close
    for value, exact in zip(payoffs.values(chances).tolist(), values, strict=True):
        assert abs(Fraction(value) - exact) <= close


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
    assert Payoffs.vanilla(LONG).best_length(np.array(chances) / ONE) == LONG


# -- costs and values of candidates ---------------------------------------------------------------

PRICED = Payoffs.linear(3, attempt_cost=0.1, give_up=-0.2).priced(
    costs=[0.3, 0.05, 0.0, 0.1], values=[0.5, 0.0, -0.4, 0.0]
)


def test_prices_are_kept_beside_the_payoffs_by_position_and_are_zero_where_not_given():
    assert PRICED.costs.tolist() == [0.3, 0.05, 0.0, 0.1]
    assert PRICED.success_values.tolist() == [0.5, 0.0, -0.4, 0.0]
    assert Payoffs(PRICED.rewards, PRICED.losses, PRICED.costs, PRICED.success_values) == PRICED
    assert Payoffs.vanilla(2).costs is Payoffs.vanilla(2).success_values is None
    with pytest.raises(ValueError, match="read-only"):
        PRICED.costs[0] = 1.0
    assert PRICED.priced(PRICED.costs).success_values.tolist() == [0.0] * 4
    assert PRICED.priced(None, PRICED.success_values).costs.tolist() == [0.0] * 4
    assert PRICED.priced(None) == Payoffs(PRICED.rewards, PRICED.losses) != PRICED
    assert PRICED.priced(PRICED.costs) != PRICED


ALONG = PRICED.along([1, 0])


@pytest.mark.parametrize("payoffs", [PRICED, ALONG, Payoffs.exponential(2)])
def test_all_payoffs_survive_pickling_and_are_shown_as_they_are_made(payoffs):
    again = pickle.loads(pickle.dumps(payoffs))
    assert again == payoffs
    assert repr(again) == repr(payoffs)
    made = payoffs is not ALONG  # those along a sequence come from the payoffs of the round
    assert not made or eval(repr(payoffs)) == payoffs
    assert "rewards=[1.0, 1.0, 1.0, 1.0, 1.0, and 999995 more]" in str(Payoffs.vanilla(1_000_000))
    assert repr(Payoffs([1.0], [0.0, -0.5])) == "Payoffs(rewards=[1.0], losses=[0.0, -0.5])"
    shown = "rewards=[0.5], losses=[0.0, -0.5], spent=[0.0, 0.5]"
    along = Payoffs.vanilla(2).priced([0.25, 0.5]).along([1])
    assert repr(along) == f"<Payoffs along a sequence: {shown}>"


def test_along_a_sequence_prices_are_payoffs_by_position():
    along = PRICED.along([0, 2])
    np.testing.assert_allclose(along.rewards, [0.9 + 0.5 - 0.3, 0.8 - 0.4 - 0.3], atol=1e-15)
    np.testing.assert_allclose(along.losses, [-0.2, -0.3 - 0.3, -0.4 - 0.3], atol=1e-15)
    assert along.budget == 2
    assert along.costs is None
    assert along.reward(Outcome(2, True)) == along.rewards[1]
    p, r, loss = [0.5, 0.25], along.rewards, along.losses
    by_hand = 0.5 * r[0] + 0.5 * (0.25 * r[1] + 0.75 * loss[2])
    assert along.values(p)[2] == pytest.approx(by_hand)
    assert along.best_length([0.5, 0.0]) == 1
    assert along.along([0]) == PRICED.along([0])
    free = Payoffs.exponential(3)
    assert free.along([7, 4]) == Payoffs(free.rewards[:2], free.losses[:3])


def test_the_best_sequence_is_worth_what_its_payoffs_say():
    p = np.array([0.9, 0.5, 0.3, 0.05])
    found = PRICED.best_sequence(p)
    values = PRICED.along(found.order).values(p[found.order])
    assert found.value == pytest.approx(values[-1], abs=1e-14)
    assert values[-1] == values.max()
    assert found.loss_bound == 0.0
    assert found.order.dtype == np.int64
    assert len(PRICED.best_sequence(p, budget=1).order) == 1
    free, p = Payoffs.exponential(3), np.array([0.2, 0.9, 0.5, 0.9])
    assert free.best_sequence(p).order.tolist() == [1, 3, 2]
    assert free.best_sequence(p).value == pytest.approx(free.values(p[[1, 3, 2]]).max())


def test_patience_counts_in_values_lengths_and_sequences():
    payoffs, p = Payoffs([1.0, 1.0], [0.0, -0.3, -0.3]), [0.1, 0.9]
    assert payoffs.best_length(p) == 2
    assert payoffs.best_length(p, patience=0.1) == 0
    expected = 0.1 + 0.9 * (0.5 * -0.3 + 0.5 * (0.9 + 0.1 * -0.3))
    assert payoffs.values(p, patience=0.5)[2] == pytest.approx(expected)
    priced = payoffs.priced([0.0, 0.3])
    assert priced.best_sequence(p, patience=0.5).value < priced.best_sequence(p).value
