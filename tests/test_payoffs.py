"""Payoffs: the value of a sequence, its best length, and Lemma 1."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import InvalidInput, Outcome, Payoffs


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
    r"losses must have 1 number, one more than rewards, got 0": ([], []),
    r"rewards must be at least 0, got -0.5 at index 1": ([1.0, -0.5], [0.0, 0.0, 0.0]),
    r"losses must be at most 0, got 0.5 at index 0": ([1.0], [0.5, 0.0]),
    r"rewards must be non-increasing, got 1.0 before 2.0 at index 0": ([1.0, 2.0], [0, 0, 0]),
    r"losses must be non-increasing, got -1.0 before -0.5 at index 1": ([1, 1], [0, -1, -0.5]),
    r"rewards must be finite, got nan at index 0": ([float("nan")], [0.0, 0.0]),
    r"losses must be finite, got -inf at index 1": ([1.0], [0.0, float("-inf")]),
    r"rewards must have 1 dimensions, got shape \(1, 2\)": ([[1.0, 1.0]], [0.0, 0.0, 0.0]),
    r"rewards must hold numbers, got 'a' at index 0": (["a"], [0.0, 0.0]),
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


# -- costs and values of candidates ---------------------------------------------------------------

PRICED = Payoffs.linear(3, attempt_cost=0.1, give_up=-0.2).priced(
    costs=[0.3, 0.05, 0.0, 0.1], values=[0.5, 0.0, -0.4, 0.0]
)


def test_prices_are_kept_beside_the_payoffs_by_position():
    assert PRICED.costs.tolist() == [0.3, 0.05, 0.0, 0.1]
    assert PRICED.success_values.tolist() == [0.5, 0.0, -0.4, 0.0]
    assert Payoffs(PRICED.rewards, PRICED.losses, PRICED.costs, PRICED.success_values) == PRICED
    assert Payoffs.vanilla(2).costs is Payoffs.vanilla(2).success_values is None
    with pytest.raises(ValueError, match="read-only"):
        PRICED.costs[0] = 1.0


def test_costs_or_values_that_are_not_given_are_zero():
    assert Payoffs.vanilla(1).priced([0.1, 0.2]).success_values.tolist() == [0.0, 0.0]
    assert Payoffs.vanilla(1).priced(None, [0.1, 0.2]).costs.tolist() == [0.0, 0.0]
    assert PRICED.priced(None) == Payoffs(PRICED.rewards, PRICED.losses)


@pytest.mark.parametrize(
    ("costs", "values", "message"),
    [
        ([0.1, -0.1], None, r"costs must be at least 0, got -0.1 at index 1"),
        ([0.1, float("inf")], None, r"costs must be finite, got inf at index 1"),
        ([0.1], [0.0, 1.0], r"values must have 1 number, as many as costs, got 2"),
        (None, [float("nan")], r"values must be finite, got nan at index 0"),
        (0.1, None, r"costs must have 1 dimensions, got shape \(\)"),
    ],
)
def test_bad_prices_are_refused_in_one_sentence(costs, values, message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        Payoffs.vanilla(1).priced(costs, values)


ALONG = PRICED.along([1, 0])


@pytest.mark.parametrize("payoffs", [PRICED, ALONG, Payoffs.exponential(2)])
def test_all_payoffs_survive_pickling_and_are_shown_as_they_are_made(payoffs):
    again = pickle.loads(pickle.dumps(payoffs))
    assert again == payoffs
    assert repr(again) == repr(payoffs)
    made = payoffs is not ALONG  # those along a sequence come from the payoffs of the round
    assert not made or eval(repr(payoffs)) == payoffs


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


def test_without_prices_the_payoffs_along_a_sequence_are_the_first_positions():
    payoffs = Payoffs.exponential(3)
    assert payoffs.along([7, 4]) == Payoffs(payoffs.rewards[:2], payoffs.losses[:3])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 4], r"hold items from 0 to 3, got \[0, 4\]"),
        ([0, 0], r"hold no item twice, got \[0, 0\]"),
        ([0, 1, 2, 3], r"have at most 3 numbers, got 4"),
    ],
)
def test_bad_orders_are_refused_in_one_sentence(order, message):
    with pytest.raises(InvalidInput, match=f"^order must {message}$"):
        PRICED.along(order)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: PRICED.values([0.5]),
        lambda: PRICED.best_length([0.5]),
        lambda: PRICED.reward(Outcome(1, True)),
    ],
)
def test_what_needs_positions_points_to_the_payoffs_along_a_sequence(ask):
    message = (
        r"^payoffs must be by position: .*along\(order\).*best_sequence.*, got costs of 4 cand"
    )
    with pytest.raises(InvalidInput, match=message):
        ask()


def test_the_best_sequence_is_worth_what_its_payoffs_say():
    p = np.array([0.9, 0.5, 0.3, 0.05])
    found = PRICED.best_sequence(p)
    values = PRICED.along(found.order).values(p[found.order])
    assert found.value == pytest.approx(values[-1], abs=1e-14)
    assert values[-1] == values.max()
    assert found.loss_bound == 0.0
    assert found.order.dtype == np.int64
    assert len(PRICED.best_sequence(p, budget=1).order) == 1


def test_the_best_sequence_without_prices_is_that_of_the_paper():
    p, payoffs = np.array([0.2, 0.9, 0.5, 0.9]), Payoffs.exponential(3)
    expected = np.array([1, 3, 2])
    assert payoffs.best_sequence(p).order.tolist() == expected.tolist()
    assert payoffs.best_sequence(p).value == pytest.approx(payoffs.values(p[expected]).max())


def test_payoffs_along_a_sequence_show_no_private_names():
    shown = repr(Payoffs.vanilla(2).priced([0.25, 0.5]).along([1]))
    parts = "rewards=[0.5], losses=[0.0, -0.5], spent=[0.0, 0.5]"
    assert shown == f"<Payoffs along a sequence: {parts}>"


@pytest.mark.parametrize("name", ["costs", "values"])
def test_a_price_that_is_missing_is_named_with_its_index(name):
    with pytest.raises(InvalidInput, match=f"^{name} must hold numbers, got None at index 1$"):
        Payoffs.vanilla(2).priced(**{name: [0.1, None]})


def test_patience_counts_in_values_lengths_and_sequences():
    payoffs, p = Payoffs([1.0, 1.0], [0.0, -0.3, -0.3]), [0.1, 0.9]
    assert payoffs.best_length(p) == 2
    assert payoffs.best_length(p, patience=0.1) == 0
    expected = 0.1 + 0.9 * (0.5 * -0.3 + 0.5 * (0.9 + 0.1 * -0.3))
    assert payoffs.values(p, patience=0.5)[2] == pytest.approx(expected)
    priced = payoffs.priced([0.0, 0.3])
    assert priced.best_sequence(p, patience=0.5).value < priced.best_sequence(p).value


@pytest.mark.parametrize("patience", [0.0, 1.5, float("nan"), "much"])
@pytest.mark.parametrize("verb", ["values", "best_length", "best_sequence"])
def test_bad_patience_is_refused(verb, patience):
    with pytest.raises(InvalidInput, match=r"^patience must be .*, got"):
        getattr(Payoffs.vanilla(2), verb)([0.5], patience=patience)


def test_bad_calls_of_best_sequence_are_refused_in_one_sentence():
    with pytest.raises(
        InvalidInput, match=r"^probabilities must have 4 numbers, as many .* got 1$"
    ):
        PRICED.best_sequence([0.5])
    with pytest.raises(InvalidInput, match=r"^probabilities must be between 0 and 1, got 2.0 at"):
        PRICED.best_sequence([2.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match=r"^budget must be at most the payoffs' 3, got 4$"):
        PRICED.best_sequence([0.5] * 4, budget=4)
    with pytest.raises(InvalidInput, match=r"^payoffs must not be those along a sequence, got"):
        PRICED.along([0]).best_sequence([0.5])
    with pytest.raises(InvalidInput, match=r"^payoffs must not be those along a sequence, got"):
        PRICED.along([0]).priced([0.5])
