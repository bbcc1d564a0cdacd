"""The compiled run, against the same rounds played with the objects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longrank import (
    Coverage,
    Laplace,
    MaximumLikelihood,
    OnlineNewton,
    Payoffs,
    Plain,
    Ridge,
    unit_rows,
)
from longrank.kernels import (
    Rule,
    best_length,
    compose_run,
    enough_to_go_on,
    learn_nothing,
    mixed_rule,
    optimistic_rule,
    probabilities,
    random_rule,
    rows_along,
)
from longrank.kernels.compilation import compose

ROUNDS, DIM = 30, 3

CASES = {
    "ind": (lambda: OnlineNewton(DIM, max_budget=30, radius=0.4, rate=6.0), Plain(), 0.0),
    "dep": (lambda: OnlineNewton(DIM, max_budget=30), Coverage(np.eye(DIM)), 0.0),
    "eps": (lambda: OnlineNewton(DIM, max_budget=30, link="probit"), Plain(), 0.5),
    "eps with coverage": (lambda: Ridge(DIM), Coverage(np.eye(DIM)), 0.5),
    "c-ucb1": (lambda: Ridge(DIM), Plain(), 0.0),
    "gl-cdcm": (lambda: MaximumLikelihood(DIM, penalty=0.5), Plain(), 0.0),
    "rand": (lambda: Ridge(DIM), Plain(), 1.0),
    "laplace": (lambda: Laplace(DIM, penalty=0.5), Plain(), 0.0),
}
PAYOFFS = {
    "vanilla": Payoffs.vanilla(4),
    "linear": Payoffs.linear(4, attempt_cost=0.24),  # at times it gives up at once
    "many tries": Payoffs.exponential(30),
    "many tries, each at a price": Payoffs.linear(30, attempt_cost=0.01, give_up=-0.3),
    "no budget": Payoffs.vanilla(0),
}


def stream(share, most=6):
    """Sets of no item to ``most``; in a share of the rounds the order is random."""
    rng = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, ROUNDS))])
    items = unit_rows(rng.random((starts[-1], DIM)))
    wins = rng.random(len(items)) < items[:, 0] ** 2 * 6.0 / max(most, 6)
    return items, starts, wins, rng.random(ROUNDS) < share, rng.random(len(items))


def play(learner, features, bonus, payoffs, items, starts, wins, at_random, keys):
    """One round after the other: what was earned, the lengths, how many were tried."""
    history = []
    for t in range(ROUNDS):
        part = slice(starts[t], starts[t + 1])
        chunk, won = items[part], wins[part]
        length = count = min(payoffs.budget, len(chunk))
        if at_random[t]:
            order = np.argsort(-keys[part], kind="stable")[:count]
            rows = features.along(chunk, order)
        else:
            order, rows, _, scores = features.greedy(chunk, learner.belief(bonus), count)
            chances = probabilities(learner.link.code, scores)
            length = best_length(chances, payoffs.rewards, payoffs.losses)
        hits = np.flatnonzero(won[order[:length]])
        tried = int(hits[0]) + 1 if hits.size else length
        earned = payoffs.rewards[tried - 1] if hits.size else payoffs.losses[tried]
        learner.observe(np.ascontiguousarray(rows[:tried]), bool(hits.size))
        history.append((float(earned), length, tried))
    return history


@pytest.mark.parametrize("payoffs", PAYOFFS.values(), ids=PAYOFFS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("most", [6, 40])
def test_a_compiled_run_is_the_run_of_the_objects_bit_for_bit(name, payoffs, most):
    make, features, share = CASES[name]
    learner, bonus = make(), math.sqrt(0.3)
    items, starts, wins, at_random, keys = stream(share, most)
    earned, lengths, tried = np.empty(ROUNDS), np.empty(ROUNDS, int), np.empty(ROUNDS, int)
    choice, step = features.compiled_selection(items), learner.compiled_step(len(items))
    rule = Rule(random_rule)
    if share < 1.0:
        rule = Rule(optimistic_rule, (bonus, False, np.zeros(1, np.int64)))
    if 0.0 < share < 1.0:
        rule, bonus = Rule(mixed_rule), 0.0
    enough = enough_to_go_on(payoffs.rewards, payoffs.losses)
    compose_run(rule, choice, step)(
        (choice.items, starts, wins),
        (at_random, keys),
        (payoffs.rewards, payoffs.losses, enough),
        (*step.state[:2], learner.link.code, learner.link.ceiling),
        step.state,
        rule.settings,
        choice.longest,
        (earned, lengths, tried),
    )
    found = list(zip(earned.tolist(), lengths.tolist(), tried.tolist(), strict=True))
    assert found == play(learner, features, bonus, payoffs, *stream(share, most))


def template(items, order):
    """It calls a global name that is bound later."""
    return along(items, order) + 1.0


def along(items, order):
    raise NotImplementedError


def test_a_template_is_compiled_with_its_names_bound():
    bound = compose(template, along=rows_along)
    np.testing.assert_array_equal(bound(np.eye(2), np.array([1])), [[1.0, 2.0]])
    with pytest.raises(NotImplementedError):
        template(np.eye(2), np.array([1]))


def test_a_belief_that_never_changes_learns_nothing():
    weights, inverse = np.ones(2), np.eye(2)
    assert learn_nothing((weights, inverse), np.eye(2), True) is None
    np.testing.assert_array_equal(weights, 1.0)
