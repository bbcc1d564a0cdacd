"""Plans with costs and values, against all sequences of few candidates."""

from functools import cache, partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.kernels import best_stop, top
from longrank.kernels.narrowing import _SAMPLE, narrow, narrow_bounds
from longrank.kernels.order_dp import Schedule, choose, index_of, sort_by, value_of
from longrank.kernels.planning import plan
from longrank.kernels.slopes import slopes_of

MANY, BIG = 200, 3_000


def frozen(numbers):
    """A read-only array, as payoffs have: so that one compiled plan serves all tests."""
    array = np.array(numbers, np.float64)
    array.flags.writeable = False
    return array


def planned(p, c, v, rewards, losses, q=1.0, count=None):
    count = len(rewards) if count is None else count
    return plan(np.array(p, np.float64), *map(frozen, (c, v, rewards, losses)), float(q), count)


def along(order, p, c, v, rewards, losses, q):
    """The expected reward of one sequence, from the end."""
    value = losses[len(order)]
    for m in range(len(order) - 1, -1, -1):
        i = order[m]
        failed = (1.0 - q) * losses[m + 1] + q * value
        value = p[i] * (rewards[m] + v[i]) - c[i] + (1.0 - p[i]) * failed
    return value


def optimum(p, c, v, rewards, losses, q=1.0):
    """The same over sets: what is to come depends on those that failed as a set only."""
    most = min(len(p), len(rewards))

    @cache
    def ahead(tried):
        m = tried.bit_count()
        values = [losses[m]]
        for i in range(len(p) if m < most else 0):
            if not tried >> i & 1:
                failed = (1.0 - q) * losses[m + 1] + q * ahead(tried | 1 << i)
                values.append(p[i] * (rewards[m] + v[i]) - c[i] + (1.0 - p[i]) * failed)
        return max(values)

    return ahead(0)


seeds = st.integers(0, 2**32 - 1)  # drawn cases would take longer to draw than to check


def some_of(rng, n, low, high, special):
    """Random numbers, among them special ones, and ties."""
    numbers = rng.uniform(low, high, n)
    chosen = rng.random(n) < rng.choice([0.0, 0.3, 0.9])
    return np.where(chosen, rng.choice(special, n), numbers).tolist()


def candidates(rng, least=0, most=6):
    k = int(rng.integers(least, most + 1))
    return (
        some_of(rng, k, 0.0, rng.choice([0.2, 1.0]), [0.0, 0.25, 0.5, 1.0, 1e-310]),
        some_of(rng, k, 0.0, rng.choice([0.05, 0.5]), [0.0, 0.125]),
        some_of(rng, k, -1.0, 1.0, [0.0, -0.5, -3.0]),
    )


def falling(rng, least=0, most=6):
    """Any payoffs."""
    b = int(rng.integers(least, most + 1))
    rewards = sorted(some_of(rng, b, 0.0, 1.0, [0.0, 1.0]), reverse=True)
    return rewards, sorted(some_of(rng, b + 1, -1.0, 0.0, [-1.0, 0.0]), reverse=True)


def straight(rng, parallel=False):
    """Rewards that fall by one step; any losses, or those that fall by the same step."""
    _, losses = falling(rng)
    step = float(rng.choice([0.0, 0.05, rng.uniform(0.0, 0.16)]))
    rewards = [1.0 - step * m for m in range(len(losses) - 1)]
    return rewards, [losses[0] - step * m for m in range(len(losses))] if parallel else losses


def patience_of(rng):
    return float(rng.choice([1.0, rng.uniform(0.05, 1.0)]))


@settings(max_examples=MANY // 4)
@given(seeds)
def test_the_programme_over_sets_finds_the_best_of_all_sequences(seed):
    rng = np.random.default_rng(seed)
    items, (rewards, losses), q = candidates(rng), falling(rng), patience_of(rng)
    k, most = len(items[0]), min(len(items[0]), len(rewards))
    orders = (order for n in range(most + 1) for order in permutations(range(k), n))
    best = max(along(order, *items, rewards, losses, q) for order in orders)
    assert optimum(*items, rewards, losses, q) == pytest.approx(best, abs=1e-13)


def agreeable(rng):
    """More candidates than are planned freely; who is likelier is cheaper and worth more."""
    p, c, v = map(sorted, candidates(rng, least=11, most=12))
    return p[::-1], c, v[::-1]


def alike(rng):
    p, c, v = candidates(rng)
    return p, c[:1] * len(p), v[:1] * len(p)


def certain(_):
    return 1.0


EXACT = {  # candidates, payoffs and a patience for which a plan is the best of all
    "constant or linear rewards, any losses": (candidates, straight, certain),
    "losses that fall by one step": (candidates, partial(straight, parallel=True), patience_of),
    "equal costs and values": (alike, falling, patience_of),
    "few candidates": (candidates, falling, patience_of),
    "agreeable candidates": (agreeable, partial(falling, most=4), certain),
}


@pytest.mark.parametrize("kind", EXACT)
@settings(max_examples=MANY)
@given(seed=seeds)
def test_a_plan_that_says_so_is_the_best_of_all_and_worth_what_it_says(kind, seed):
    rng = np.random.default_rng(seed)
    items, payoffs, q = (draw(rng) for draw in EXACT[kind])
    order, length, value, bound = planned(*items, *payoffs, q)
    assert bound == 0.0
    assert len(order) == min(len(items[0]), len(payoffs[0])) == len(set(order.tolist()))
    assert value == pytest.approx(along(order[:length], *items, *payoffs, q), abs=1e-12)
    assert value == pytest.approx(optimum(*items, *payoffs, q), abs=1e-11)


# -- where no order is exact ----------------------------------------------------------------------


def searched(rng, q=None, b=4):
    """A round that no order is exact for; what was found for it, what that is worth, the bound."""
    q = patience_of(rng) if q is None else q
    items, payoffs = candidates(rng, least=11, most=12), falling(rng, least=2, most=b)
    order, length, value, bound = planned(*items, *payoffs, q)
    chosen = order[:length].tolist()
    assert len(set(chosen)) == len(chosen) <= b
    assert value == pytest.approx(along(chosen, *items, *payoffs, q), abs=1e-12)
    return (*items, *payoffs, q), chosen, value, bound


def changed(sequence, k, b):
    """All sequences that are one change away: one taken out or none, then one put in or a cut."""
    for gap in range(len(sequence) + 1):
        rest = sequence[:gap] + sequence[gap + 1 :]
        yield from (rest[:n] for n in range(len(rest) + 1))
        for n in range(len(rest) + 1 if len(rest) < b else 0):
            yield from ([*rest[:n], i, *rest[n:]] for i in range(k) if i not in rest)


@settings(max_examples=MANY // 2)
@given(seeds)
def test_the_search_loses_at_most_its_bound_and_no_single_change_improves_it(seed):
    this, chosen, value, bound = searched(np.random.default_rng(seed))
    best = optimum(*this)
    assert value <= best + 1e-12
    assert best <= value + bound + 1e-12
    enough = value + 2e-7 * (value + bound - this[4][0]) + 1e-12
    for other in changed(chosen, len(this[0]), len(this[3])):
        assert along(other, *this) <= enough


@pytest.mark.parametrize("q", [0.5, 1.0])
def test_on_random_rounds_it_loses_next_to_nothing(q):
    rng, losses_of, bounds = np.random.default_rng(3), [], []
    for _ in range(MANY // 2):
        k, b = int(rng.integers(11, 13)), int(rng.integers(2, 5))
        p, c, v = rng.random(k) * rng.choice([0.3, 1.0]), 0.2 * rng.random(k), 0.3 * rng.random(k)
        rewards, losses = np.sort(rng.random(b))[::-1], -np.sort(rng.random(b + 1))
        _, _, value, bound = planned(p, c, v, rewards, losses, q)
        losses_of.append(optimum(p, c, v, rewards, losses, q) - value)
        bounds.append(bound)
    assert max(losses_of) <= 0.02
    assert np.mean(losses_of) <= 1e-4  # the table in docs/planning.md has more
    assert max(bounds) > 0.0
    assert np.mean(bounds) <= 0.0165


@settings(max_examples=MANY)
@given(seeds)
def test_the_bound_is_at_most_twice_the_distance_from_a_line(seed):
    (*_, rewards, _, _), _, _, bound = searched(np.random.default_rng(seed), q=1.0)
    lines = np.linspace(0.0, 1.0, 201)[:, None] * np.arange(len(rewards)) + rewards
    distance = 0.5 * (lines.max(axis=1) - lines.min(axis=1)).min()
    assert bound <= 2.0 * distance + 1e-9


@settings(max_examples=MANY)
@given(seeds)
def test_a_last_loss_that_forbids_to_give_up_does_not_make_rewards_straight(seed):
    rng = np.random.default_rng(seed)
    (p, c, v), (rewards, losses), q = candidates(rng, least=1), falling(rng), patience_of(rng)
    p[int(rng.integers(len(p)))] = 1.0
    losses[-1] = -(10.0 ** int(rng.integers(13, 100)))
    order, length, _, bound = planned(p, c, v, rewards, losses, q)
    found = along(order[:length], p, c, v, rewards, losses, q)
    best = optimum(p, c, v, rewards, losses, q)
    assert best - found <= bound + 1e-11 * (1.0 + abs(best))


# -- the paper as a special case -------------------------------------------------------------------


@settings(max_examples=MANY)
@given(seeds)
def test_without_prices_the_plan_is_that_of_the_paper_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    (p, _, _), payoffs, q = candidates(rng, most=12), falling(rng, most=8), patience_of(rng)
    rewards, losses = (np.array(each) for each in payoffs)
    zeros = np.zeros(len(p))
    order, length, value, bound = planned(p, zeros, zeros, rewards, losses, q)
    expected = top(np.array(p), min(len(p), len(rewards)))
    assert order.tolist() == expected.tolist()
    assert (length, value) == best_stop(np.array(p)[expected], rewards, losses, q)
    assert bound == 0.0


# -- narrowing down -------------------------------------------------------------------------------


def many(rng, kind, k):
    p, c, v = rng.random(k) ** 2, 0.2 * rng.random(k), 0.4 * rng.random(k) - 0.2
    if kind == "ties":
        return np.round(p, 1), np.round(c, 1), np.round(v, 1)
    if kind == "curve":  # each is the best at one worth
        return np.sort(p), 0.3 * np.sort(p) ** 2, np.zeros(k)
    if kind == "sorted":
        return np.sort(p), c, v
    if kind == "unlikely":
        return 0.01 * p, 0.01 * c, v
    if kind == "margins":  # so large that most are not worth a try as long as others are left
        return p, c, np.exp(2.0 * rng.normal(size=k))
    if kind == "worthless":
        return p, c + 1.0, v
    return p, c, v


KINDS = ["random", "ties", "curve", "sorted", "unlikely", "margins", "worthless"]


def best_in_order(p, c, v, rewards, losses, q, some=None):
    """The value of the best sequence of some of the candidates in the one order that is exact."""
    schedule = Schedule(rewards, losses, (1.0 - q) * losses[1:], q)
    order, gains = np.arange(len(p)), p * v - c
    sort_by(index_of(p, c, v, slopes_of(schedule)[-1], q), p, order)
    order = order if some is None else order[np.isin(order, some)]
    return value_of(choose(order, p, gains, schedule), p, gains, schedule)


def straight_payoffs(rng):
    b, step = int(rng.integers(1, 8)), float(rng.choice([0.0, 0.04]))
    return 1.0 - step * np.arange(b), -rng.random() - step * np.arange(b + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_narrowing_down_loses_nothing(kind):
    for k in (65, 70, 500, BIG):
        for q in (0.3, 0.6, 1.0):
            rng = np.random.default_rng(k)
            for _ in range(2 if k > 100 else 6):
                this = *many(rng, kind, k), *straight_payoffs(rng), q
                best = pytest.approx(best_in_order(*this), abs=1e-12)
                assert best_in_order(*this, some=narrow(*this)) == best
                _, _, value, bound = planned(*this)
                assert (value, bound) == (best, 0.0)
    if kind in ("random", "margins", "worthless"):
        p, c, v = many(np.random.default_rng(0), kind, 5 * BIG)
        assert len(narrow(p, c, v, np.ones(10), np.zeros(11), 1.0)) < BIG // 2


@pytest.mark.parametrize("kind", KINDS)
def test_narrowing_down_keeps_a_best_pair_whatever_the_payoffs(kind):
    rng = np.random.default_rng(5)
    for _ in range(4):
        p, c, v = many(rng, kind, 400)
        q = float(rng.choice([0.5, 1.0]))
        rewards, losses = np.sort(rng.random(2))[::-1].copy(), -np.sort(rng.random(3))

        def pairs(p, c, v, rewards=rewards, losses=losses, q=q):
            last = p * (rewards[1] + v) - c + (1.0 - p) * losses[2]
            gain = p * (rewards[0] + v) - c + (1.0 - p) * (1.0 - q) * losses[1]
            both = gain[:, None] + q * (1.0 - p)[:, None] * np.maximum(last, losses[1])
            np.fill_diagonal(both, gain + q * (1.0 - p) * losses[1])
            return max(both.max(), losses[0])

        some = narrow(p, c, v, rewards, losses, q)
        assert (np.diff(some) > 0).all()
        assert len(some) <= len(p)
        assert pairs(p[some], c[some], v[some]) == pytest.approx(pairs(p, c, v), abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_on_chances_lose_nothing_whatever_the_chances_are(kind):
    for q in (0.6, 1.0):
        rng, k, b = np.random.default_rng(6), BIG // 2, 4
        rewards, losses = 1.0 - 0.04 * np.arange(b), -0.1 - 0.04 * np.arange(b + 1)
        p, c, v = many(rng, kind, k)
        v = 4.0 * v - 2.0 if kind == "sorted" else v  # a success may be worse than failing
        sure, able = p * rng.random(k), p + (1.0 - p) * 0.1 * rng.random(k)
        turn = (able - sure) * np.maximum(-(v + (rewards - losses[1:]).min()), 0.0)
        some = narrow_bounds(sure, c + turn, able, c - turn, v, rewards, losses, q, b)
        for share in (0.0, 1.0, rng.random(k), rng.integers(0, 2, k)):
            true = sure + share * (able - sure)
            best = planned(true, c, v, rewards, losses, q)
            found = planned(true[some], c[some], v[some], rewards, losses, q)
            assert found[2] == pytest.approx(best[2], abs=1e-12)
            tail = true * v - c + (rewards[-1] - losses[-1]) * true  # the best at the last position
            assert np.sort(tail[some])[-b:].tolist() == np.sort(tail)[-b:].tolist()


def test_more_tries_than_candidates_in_a_sample_are_all_kept():
    rng, k, b = np.random.default_rng(7), 3 * _SAMPLE, _SAMPLE + 500
    p, c = rng.random(k), np.zeros(k)
    p[::3] = 0.5 * (1.0 + p[::3])  # as luck would have it, those of the sample are the best
    p[1::3] *= 0.5
    p[2::3] *= 0.5
    some = narrow(p, c, c, np.ones(b), np.zeros(b + 1), 1.0)
    assert set(np.argsort(-p)[:b]) <= set(some.tolist())


# -- what the optimum does when the numbers change ------------------------------------------------


def test_of_equals_one_is_tried_the_likelier_first_and_the_rest_follows_beyond_the_length():
    order, length, *_ = planned([0.0, 0.25, 0.5], [0.0, 0.25, 0.5], [0.0] * 3, [1.0] * 2, [0.0] * 3)
    assert order[:length].tolist() == [2, 1]
    p, c, v = [0.5, 0.0, 0.1, 0.2], [0.1, 0.0, 0.4, 0.4], [0.0] * 4
    order, length, _, _ = planned(p, c, v, [1.0] * 4, [0.0] * 5)
    assert order.tolist() == [0, 1, 3, 2]  # the second neither costs nor earns anything
    assert length == 2
    for q in (0.5, 1.0):  # whoever cannot succeed and costs something is not tried
        order, length, value, _ = planned([0, 0.4], [0.2, 0.1], [5, 0], [1.0] * 2, [0.0] * 3, q)
        assert order[:length].tolist() == [1]
        assert value == pytest.approx(0.3)


@pytest.mark.parametrize(("k", "count"), [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_nothing_to_try_and_less_than_allowed(k, count):
    p, c, v = np.full(k, 0.5), np.linspace(0.1, 0.2, k), np.zeros(k)
    order, length, value, bound = planned(p, c, v, [1.0] * 3, [-0.5] * 4, 1.0, count)
    assert (len(order), length, bound) == (min(k, count), min(k, count), 0.0)
    assert value == pytest.approx(optimum(p, c, v, [1.0] * 3, [-0.5] * 4) if length else -0.5)


def test_more_positions_than_bits_of_a_word():
    rng = np.random.default_rng(0)
    p, c = 0.02 * rng.random(150), 0.001 * rng.random(150)
    free = np.zeros(150), np.ones(100), np.zeros(101)
    order, length, value, _ = planned(p, c, *free)
    assert length == 100
    chosen = order[:length]
    inside, outside = p[chosen] - c[chosen], np.delete(p - c, chosen)
    assert np.sort(inside)[5] > np.sort(outside)[-1] - 0.002
    assert value == pytest.approx(along(chosen, p, c, *free, 1.0))
