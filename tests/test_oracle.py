"""What somebody who knows the truth would play, against brute force over all sequences."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, ndtr

import transcription
from longrank import Coverage, Oracle, Payoffs

SHAPES = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "linear": lambda b: Payoffs.linear(b, attempt_cost=1 / (b + 1), give_up=-0.1),
}
GAINS = {
    "probabilistic": None,
    "capped sum": np.minimum,
    "largest": lambda remaining, c: np.maximum(c - (1.0 - remaining), 0.0),
}
cases = settings(max_examples=1000, deadline=None, derandomize=True)


def value(sequence, topics, u, payoffs, gain=np.multiply, sigma=expit):
    """The expected reward of a sequence of the dependent model."""
    remaining, earned, failed = np.ones(len(u)), 0.0, 1.0
    for place, item in enumerate(sequence):
        gains = gain(remaining, topics[item])
        p = sigma((2 * gains - 1) @ u / np.sqrt(len(u)))
        earned += failed * p * payoffs.rewards[place]
        failed *= 1 - p
        remaining = remaining - gains
    return earned + failed * payoffs.losses[len(sequence)]


def sequences(k, b):
    return (order for s in range(min(k, b) + 1) for order in permutations(range(k), s))


@st.composite
def payoffs_of(draw, b):
    name = draw(st.sampled_from([*SHAPES, "any"]))
    if name != "any":
        return SHAPES[name](b)
    numbers = draw(arrays(float, 2 * b + 1, elements=st.floats(0, 1), fill=st.nothing()))
    return Payoffs(np.sort(numbers[:b])[::-1], -np.sort(numbers[b:]))


@st.composite
def problems(draw):
    k, b, d = draw(st.integers(1, 6)), draw(st.integers(0, 4)), draw(st.integers(1, 4))
    topics = draw(arrays(float, (k, d), elements=st.floats(0, 1, width=32), fill=st.nothing()))
    u = draw(arrays(float, d, elements=st.floats(-8, 8, width=32), fill=st.nothing()))
    return topics, u, draw(payoffs_of(b))


def random_problem(seed, k=8, b=4, d=5):
    rng = np.random.default_rng(seed)
    u = rng.normal(0.0, 4.0, d)
    return rng.dirichlet(np.full(d, 0.5), k), u, list(SHAPES.values())[seed % 3](b)


@pytest.mark.parametrize("gain", GAINS)
def test_the_exact_search_finds_the_best_of_all_sequences(gain):
    @cases
    @given(problems(), st.sampled_from([("logistic", expit), ("probit", ndtr)]))
    def check(problem, link):
        (topics, u, payoffs), (name, sigma) = problem, link
        k, d = topics.shape
        rule = GAINS[gain] or np.multiply
        features = Coverage(np.eye(d), gain=GAINS[gain])
        ranking = Oracle(u, features=features, link=name, exact=True).rank(topics, payoffs)
        best = max(value(s, topics, u, payoffs, rule, sigma) for s in sequences(k, payoffs.budget))
        assert ranking.value == pytest.approx(best, abs=1e-12)
        assert value(ranking.order, topics, u, payoffs, rule, sigma) == pytest.approx(best)
        greedy = Oracle(u, features=features, link=name).rank(topics, payoffs)
        assert greedy.value <= ranking.value + 1e-12

    check()


@pytest.mark.parametrize("exact", [True, False])
def test_after_the_sequence_it_tells_what_every_longer_one_is_worth(exact):
    topics, u, _ = random_problem(11)
    payoffs = Payoffs.linear(4, success=0.4, attempt_cost=0.1)
    oracle = Oracle(np.abs(u), features=Coverage(np.eye(5)), exact=exact)
    ranking = oracle.rank(topics, payoffs)
    assert len(ranking) < 4
    assert len(ranking.values) == 5
    assert ranking.values[len(ranking) + 1 :].max() < ranking.value


@pytest.mark.parametrize("exact", [True, False])
def test_of_equal_values_the_longer_sequence_wins_and_of_equal_items_the_first(exact):
    nothing = Payoffs(np.zeros(3), np.zeros(4))
    oracle = Oracle(np.ones(2), features=Coverage(np.eye(2)), exact=exact)
    assert oracle.rank(np.full((5, 2), 0.5), nothing).order.tolist() == [0, 1, 2]
    rising = np.linspace(0.1, 0.9, 5)[:, None] * np.ones(2)
    first = [0, 1, 2] if exact else [4, 3, 2]  # the exact search does not look for the likeliest
    assert oracle.rank(rising, nothing).order.tolist() == first


def test_the_oracle_of_dependent_outcomes_is_the_paper_s_greedy():
    for seed in range(30):
        topics, u, payoffs = random_problem(seed, k=12, b=8)
        greedy = transcription.Dep(d=5, b=8, D=1.0, alpha=0.0, rate=1.0)
        greedy.w = u
        order, _ = greedy.rank(topics, payoffs.rewards, payoffs.losses)
        ranking = Oracle(u, features=Coverage(np.eye(5))).rank(topics, payoffs)
        assert ranking.order.tolist() == order.tolist()
        assert ranking.value == pytest.approx(value(order, topics, u, payoffs), abs=1e-12)


@cases
@given(st.data())
def test_with_plain_features_the_exact_oracle_is_lemma_1_and_best_of_all_sequences(data):
    k, b = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 4))
    numbers = st.floats(-0.5, 0.5, width=32)
    items = data.draw(arrays(float, (k, 2), elements=numbers, fill=st.nothing()))
    weights = st.floats(-8, 8, width=32) | st.sampled_from([-900.0, 900.0])
    u = data.draw(arrays(float, 2, elements=weights, fill=st.nothing()))
    payoffs = data.draw(payoffs_of(b))
    ranking = Oracle(u, exact=True).rank(items, payoffs)
    assert ranking == Oracle(u).rank(items, payoffs)
    p = expit(items @ u)
    lemma = transcription.E(np.sort(p)[::-1][:b], payoffs.rewards, payoffs.losses)
    assert ranking.value == pytest.approx(float(max(lemma)), abs=1e-12)
    best = max(
        float(transcription.E(p[list(s)], payoffs.rewards, payoffs.losses)[-1])
        for s in sequences(k, b)
    )
    assert ranking.value == pytest.approx(best, abs=1e-12)


def test_sets_of_any_size_are_allowed_where_the_budget_is_small():
    oracle = Oracle(np.array([2.0, 1.0]), features=Coverage(np.eye(2)), exact=True)
    items = np.random.default_rng(0).random((300, 2))
    ranking = oracle.rank(items, Payoffs.vanilla(8), budget=1)
    assert ranking.order.tolist() == [int(np.argmax(items @ [2.0, 1.0]))]
