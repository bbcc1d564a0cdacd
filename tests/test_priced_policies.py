"""Policies on rounds in which candidates have costs and values of their own."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from every_part import POLICIES
from longrank import (
    UCB,
    Blocks,
    Coverage,
    EpsilonGreedy,
    InvalidInput,
    Laplace,
    OnlineNewton,
    Oracle,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Ranking,
    Schema,
    Thompson,
    load,
    recommended,
    unit_rows,
)
from longrank.errors import BadFile
from longrank.policies.oracle import Truth
from longrank.schema import priced
from longrank.simulation import CheckoutWorld, CoverageWorld, LogisticWorld

ITEMS = unit_rows(np.random.default_rng(0).normal(size=(4, 3)))
COSTS, VALUES = [0.1, 0.0, 0.3, 0.05], [0.0, 0.4, 1.5, -0.3]
PAYOFFS = {
    "constant": Payoffs([1.0] * 4, [-0.1] * 5),
    "linear": Payoffs.linear(4, attempt_cost=0.05, give_up=-0.1),
    "falling": Payoffs.exponential(4),
}
RECORDS = [
    {"id": name, "cost": cost, "value": value}
    for name, cost, value in zip("abcd", COSTS, VALUES, strict=True)
]
SQUARES = Coverage(lambda items: items**2)
CONTEXT = {"brand": "visa"}
VANILLA = Payoffs.vanilla(3)


def believing(weights=(1.0, -2.0, 0.5)):
    learner = OnlineNewton(len(weights), max_budget=4)
    learner.weights[:] = weights
    return learner


def taught(policy):
    """A policy of records that knows what succeeds."""
    for order, succeeded in (([0, 2], True), ([1], False), ([3, 0], True)):
        policy.learn(
            policy.receipt(RECORDS, PAYOFFS["linear"], order, context=CONTEXT),
            Outcome(len(order), succeeded),
        )
    return policy


# -- propensities ---------------------------------------------------------------------------------


def rewards_of(kind, draw, b):
    if kind == "constant":
        return Payoffs([1.0] * b, [draw(st.sampled_from([0.0, -0.2]))] * (b + 1))
    if kind == "linear":
        return Payoffs.linear(b, attempt_cost=0.1, give_up=-0.1)
    return Payoffs.exponential(b)


@st.composite
def priced_rounds(draw, most=5, kinds=("constant", "linear", "falling")):
    """Chances, payoffs with prices and a patience."""
    k, b = draw(st.integers(1, most)), draw(st.integers(1, most))
    numbers = arrays(float, k, elements=st.floats(0.0, 1.0, width=16), fill=st.nothing())
    p = 0.02 + 0.96 * draw(numbers)
    payoffs = rewards_of(draw(st.sampled_from(kinds)), draw, b)
    payoffs = payoffs.priced(0.5 * draw(numbers), 4.0 * draw(numbers) - 1.0)
    return p, payoffs.patient(draw(st.sampled_from([1.0, 0.8, 0.3])))


def certain(p):
    """Items and weights of a belief with these chances."""
    logits = np.log(p) - np.log1p(-p)
    scale = max(1.0, float(np.abs(logits).max()))
    return logits[:, np.newaxis] / scale, [scale]


def value_of(order, p, payoffs):
    """The expected reward of a sequence, by its definition."""
    value, reached, spent = 0.0, 1.0, 0.0
    for place, item in enumerate(order):
        spent += payoffs.costs[item]
        won = payoffs.rewards[place] + payoffs.success_values[item]
        value += reached * p[place] * (won - spent)
        reached *= 1.0 - p[place]
        if place + 1 < len(order):
            left = reached * (1.0 - payoffs.patience)
            value += left * (payoffs.losses[place + 1] - spent)
            reached -= left
    return value + reached * (payoffs.losses[len(order)] - spent)


def all_sequences(k, b):
    return [order for n in range(min(k, b) + 1) for order in permutations(range(k), n)]


@settings(max_examples=80)
@given(priced_rounds())
def test_plackett_luce_near_temperature_0_starts_as_the_best_plan_does(case):
    p, payoffs = case
    items, weights = certain(p)
    values: dict[int, float] = {-1: float(payoffs.losses[0])}
    for order in all_sequences(len(p), payoffs.budget)[1:]:
        value = value_of(order, p[list(order)], payoffs)
        values[order[0]] = max(values.get(order[0], -np.inf), value)
    best, second = sorted([*values.values(), -np.inf], reverse=True)[:2]
    assume(best - second > 0.01)
    first = max(values, key=values.__getitem__)
    cold = PlackettLuce(Truth(weights), temperature=1e-4, rng=0)
    assert cold.choices(items, payoffs, [])[0, first] > 0.99


@settings(max_examples=50)
@given(priced_rounds(kinds=("linear",)), st.floats(0.01, 0.2))
def test_plackett_luce_with_equal_prices_is_that_without(case, cost):
    p, payoffs = case
    items, weights = certain(p)
    b, warm = payoffs.budget, PlackettLuce(Truth(weights), temperature=0.8, rng=0)
    one = Payoffs([1.0] * b, [-0.1] * (b + 1), [cost] * len(p), patience=payoffs.patience)
    other = Payoffs(1.0 - cost * np.arange(1, b + 1), -0.1 - cost * np.arange(b + 1))
    other = other.patient(payoffs.patience)
    order = list(range(min(b, len(p))))
    np.testing.assert_allclose(
        warm.choices(items, one, order), warm.choices(items, other, order), atol=1e-9
    )


def test_plackett_luce_never_draws_what_cannot_pay():
    policy = PlackettLuce(believing(), temperature=5.0, rng=0)
    payoffs = Payoffs.vanilla(4).priced([0.0, 0.1, 2.0, 0.0], [-50.0, 0.0, 0.0, 0.0])
    assert policy.choices(ITEMS, payoffs, [])[0, [0, 2, 4]].tolist() == [0.0, 0.0, 0.0]
    hopeless = Payoffs.vanilla(4).priced([0.0] * 4, [-2.0] * 4)
    assert policy.choices(ITEMS, hopeless, [])[0].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert len(policy.rank(ITEMS, hopeless)) == 0


# -- equal prices ---------------------------------------------------------------------------------

DETERMINISTIC = {
    "ucb": lambda: UCB(believing(), exploration=0.3),
    "ucb/coverage": lambda: UCB(believing(), features=SQUARES, exploration=0.3),
    "oracle": lambda: Oracle([1.0, -2.0, 0.5]),
    "oracle/exact": lambda: Oracle([1.0, -2.0, 0.5], features=SQUARES, exact=True),
    "greedy": lambda: EpsilonGreedy(believing(), epsilon=0.0, rng=1),
    "thompson": lambda: Thompson(believing(), scale=0.3, rng=1),
    "ucb/records": lambda: taught(UCB(Blocks(), exploration=0.3)),
    "recommended/records": lambda: taught(recommended()),
}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_equal_costs_are_the_cost_of_an_attempt_and_prices_of_0_change_nothing(name):
    make = DETERMINISTIC[name]
    policy, records = make(), "records" in name

    @settings(max_examples=30)
    @given(
        st.integers(0, 2**31),
        st.integers(1, 6),
        st.sampled_from([0.01, 0.05, 0.1]),
        st.sampled_from([1.0, 0.7]),
    )
    def check(seed, k, cost, patience):
        items = unit_rows(np.random.default_rng(seed).normal(size=(k, 3)))
        if records:
            items = [{"id": "abcdefgh"[i]} for i in np.random.default_rng(seed).permutation(8)[:k]]
        free = Payoffs([1.0] * 4, [-0.1] * 5).patient(patience)
        linear = Payoffs.linear(4, attempt_cost=cost, give_up=-0.1).patient(patience)
        for plain, with_prices in (
            (linear, free.priced([cost] * k, [0.0] * k)),
            (linear, linear.priced([0.0] * k)),
        ):
            one, other = policy.propose(items, plain), policy.propose(items, with_prices)
            assert one.order.tolist() == other.order.tolist()
            np.testing.assert_allclose(one.values, other.values, atol=1e-12)
            np.testing.assert_array_equal(one.probabilities, other.probabilities)

    check()


# -- the oracle -----------------------------------------------------------------------------------


@settings(max_examples=100)
@given(priced_rounds())
def test_the_oracle_earns_what_the_best_of_all_sequences_does(case):
    p, payoffs = case
    items, weights = certain(p)
    ranking = Oracle(weights).rank(items, payoffs)
    best = max(value_of(o, p[list(o)], payoffs) for o in all_sequences(len(p), payoffs.budget))
    assert ranking.value == pytest.approx(best, abs=1e-9)
    played = value_of(ranking.order, p[ranking.order], payoffs)
    assert ranking.value == pytest.approx(played, abs=1e-9)
    assert ranking.loss_bound <= 1e-12


def covered(rng, k, d=4):
    """Topics of k items, weights of a truth, and payoffs with prices."""
    payoffs = [Payoffs.vanilla, Payoffs.exponential][int(rng.integers(2))](4)
    payoffs = payoffs.priced(rng.uniform(0.0, 0.3, k), rng.normal(0.0, 0.5, k))
    patience = float(rng.choice([1.0, 0.7]))
    return rng.dirichlet(np.full(d, 0.5), k), rng.normal(0.0, 4.0, d), payoffs.patient(patience)


def dependent_value(order, topics, u, payoffs):
    rows = Coverage(np.eye(len(u))).along(topics, np.array(order, np.int64))
    return value_of(order, 1.0 / (1.0 + np.exp(-rows @ u)), payoffs)


def test_the_exact_oracle_of_dependent_outcomes_finds_the_best_of_all_sequences():
    rng = np.random.default_rng(3)
    for k in (1, 2, 3, 4, 5) * 6:
        topics, u, payoffs = covered(rng, k)
        features = Coverage(np.eye(len(u)))
        ranking = Oracle(u, features=features, exact=True).rank(topics, payoffs)
        prepared = features.encode(topics, len(u))
        best = max(dependent_value(order, prepared, u, payoffs) for order in all_sequences(k, 4))
        assert ranking.value == pytest.approx(best, abs=1e-12)
        assert dependent_value(ranking.order, prepared, u, payoffs) == pytest.approx(best)
        assert ranking.loss_bound == 0.0


def test_planning_anew_after_each_failure_is_near_the_optimum_and_above_the_likeliest_first():
    rng, losses = np.random.default_rng(4), []
    for _ in range(60):
        topics, u, payoffs = covered(rng, 8)
        oracle = Oracle(u, features=Coverage(np.eye(len(u))))
        prepared = oracle.features.encode(topics, len(u))
        best = Oracle(u, features=oracle.features, exact=True).rank(topics, payoffs).value
        rolling = oracle.rank(topics, payoffs)
        played = dependent_value(rolling.order, prepared, u, payoffs)
        assert rolling.value == pytest.approx(played, abs=1e-12)
        assert np.isnan(rolling.loss_bound)
        assert rolling.value <= best + 1e-12
        likeliest = oracle.rank(topics, Payoffs.vanilla(4)).order
        naive = max(dependent_value(likeliest[:n], prepared, u, payoffs) for n in range(5))
        losses.append((best - rolling.value, best - naive))
    lost, baseline = np.mean(losses, axis=0)
    assert lost < 0.02
    assert lost < 0.25 * baseline


# -- patience -------------------------------------------------------------------------------------

PATIENT = {
    "ucb": lambda: UCB(OnlineNewton(3, max_budget=4), exploration=0.1, patient=True),
    "thompson": lambda: Thompson(Laplace(3), rng=1, patient=True),
    "epsilon-greedy": lambda: EpsilonGreedy(Laplace(3), epsilon=0.3, rng=1, patient=True),
    "plackett-luce": lambda: PlackettLuce(Laplace(3), temperature=0.3, rng=1, patient=True),
}


@pytest.mark.parametrize("name", PATIENT)
def test_patience_counts_the_failures_after_which_a_cascade_went_on_or_stopped(name, tmp_path):
    policy = PATIENT[name]()
    receipt = policy.receipt(ITEMS, PAYOFFS["linear"], [0, 1, 2])
    assert (policy.patience.now, policy.patience.went_on, policy.patience.stopped) == (1.0, 0, 0)
    counts = []
    for outcome in (
        Outcome(3, True),  # two failures, both gone on from
        Outcome(1, True),
        Outcome(3, False),  # the last failure ends every cascade
        Outcome(0, False),  # nothing was tried
        Outcome(2, False),  # one gone on from, one early stop
        Outcome(1, False),
    ):
        policy.learn(receipt, outcome)
        counts.append((policy.patience.went_on, policy.patience.stopped))
    assert counts == [(2, 0), (2, 0), (4, 0), (4, 0), (5, 1), (5, 2)]
    assert policy.patience.now == 15.0 / 17.0
    policy.save(tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert (again.patience.went_on, again.patience.stopped) == (5, 2)
    assert again.rank(ITEMS, PAYOFFS["linear"]) == policy.rank(ITEMS, PAYOFFS["linear"])
    ranking = again.receipt(ITEMS, PAYOFFS["linear"], [0, 1])
    along = PAYOFFS["linear"].values(ranking.probabilities, patience=15.0 / 17.0)
    np.testing.assert_allclose(ranking.values, along)
    given = again.receipt(ITEMS, PAYOFFS["linear"].patient(0.5), [0, 1])  # what is given counts
    along = PAYOFFS["linear"].values(ranking.probabilities, patience=0.5)
    np.testing.assert_allclose(given.values, along)


# -- receipts and input ---------------------------------------------------------------------------


def test_a_random_receipt_knows_the_prices_and_what_was_earned():
    payoffs = Payoffs.vanilla(4)
    ranking = Random(rng=1).rank(RECORDS, payoffs)
    order = ranking.order
    assert ranking.costs.tolist() == [COSTS[i] for i in order]
    assert ranking.success_values.tolist() == [VALUES[i] for i in order]
    outcome = Outcome(2, True)
    assert ranking.reward(payoffs, outcome) == priced(payoffs, RECORDS).along(order).reward(outcome)
    receipt = Random(rng=1).receipt(ITEMS, payoffs.priced(COSTS), [2, 1])
    assert receipt.costs.tolist() == [0.3, 0.0]
    with pytest.raises(InvalidInput, match=r"^payoffs.costs must have 4 numbers, .*, got 2$"):
        Random(rng=1).rank(ITEMS, payoffs.priced([1.0, 2.0]))


def test_a_probe_says_what_it_misses():
    policy = UCB(believing(), exploration=0.0, probing=True)
    policy.given_up = 1
    ranking = policy.propose(ITEMS, Payoffs.vanilla(4).priced([0.9, 0.95, 0.9, 0.95]))
    assert len(ranking) == 1
    assert ranking.value < 0.0
    assert ranking.loss_bound == pytest.approx(-ranking.value)
    assert len(policy.propose(ITEMS, Payoffs.vanilla(4).priced([1.0, 1.5, 2.0, 50.0]))) == 0


def test_a_receipt_with_prices_that_are_none_is_refused():
    payoffs = PAYOFFS["constant"].priced(COSTS, VALUES)
    stored = UCB(believing(), exploration=0.0).receipt(ITEMS, payoffs, [2, 1]).to_dict()
    assert Ranking.from_dict(stored).costs.tolist() == [0.3, 0.0]
    for change, message in (
        ({"costs": [0.1]}, "costs must have shape"),
        ({"costs": [[0.1], [0.2]]}, "costs must be an array"),
        ({"costs": [float("nan"), 0.0]}, "costs must hold numbers from 0"),
        ({"success_values": [float("inf"), 0.0]}, "success_values must hold numbers"),
        ({"costs": [-1.0, 0.0]}, "costs must hold numbers from 0"),
        ({"success_values": None}, "not a ranking"),
        ({"loss_bound": "x"}, "not a ranking"),
    ):
        with pytest.raises(BadFile, match=message):
            Ranking.from_dict(stored | change)


def test_rewards_are_asked_for_with_the_payoffs_of_the_round_and_no_other_prices():
    payoffs = PAYOFFS["constant"].priced(COSTS, VALUES)
    ranking = UCB(believing(), exploration=0.0).receipt(ITEMS, payoffs, [2, 1])
    for array in (ranking.costs, Ranking.from_bytes(ranking.to_bytes()).success_values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert ranking.reward(payoffs, Outcome(2, True)) == pytest.approx(1.0 + 0.4 - 0.3)
    assert ranking.reward(payoffs, Outcome(2, True, (1.0, 2.0))) == pytest.approx(1.4 - 3.0)
    with pytest.raises(InvalidInput, match="payoffs must not be those along a sequence"):
        ranking.reward(payoffs.along([2, 1]), Outcome(1, True))
    with pytest.raises(InvalidInput, match="payoffs must cover the 2 tries of the outcome, got 1"):
        ranking.reward(Payoffs.vanilla(1), Outcome(2, True))
    plain = Payoffs(payoffs.rewards, payoffs.losses)
    earned = ranking.reward(payoffs, Outcome(1, True))
    assert ranking.reward(plain, Outcome(1, True)) == earned
    for other in (payoffs.priced(payoffs.costs + 1.0, payoffs.success_values), plain.priced([9.0])):
        with pytest.raises(InvalidInput, match=r"^(payoffs must have the costs|order must hold)"):
            ranking.reward(other, Outcome(1, True))
    free = UCB(believing(), exploration=0.0).receipt(ITEMS, plain, [2, 1])
    assert free.reward(payoffs, Outcome(1, True)) == earned  # it had none, so these count


KINDS = {
    "ucb": lambda: UCB(believing(), exploration=0.1),
    "epsilon-greedy": lambda: EpsilonGreedy(believing(), epsilon=0.5, rng=0),
    "plackett-luce": lambda: PlackettLuce(believing(), temperature=0.7, rng=0),
    "thompson": lambda: Thompson(believing(), rng=0),
    "oracle": lambda: Oracle([1.0, -2.0, 0.5]),
    "records": recommended,
    "arrays": lambda: recommended(dim=3),
}


@pytest.mark.parametrize("name", [*KINDS, "random"])
def test_payoffs_of_a_sequence_are_refused_and_an_explanation_tells_a_patience_below_one(name):
    policy = KINDS.get(name, lambda: Random(rng=0))()
    items = list("abcd") if name == "records" else ITEMS
    costly = PAYOFFS["constant"].priced(COSTS, VALUES)
    with pytest.raises(InvalidInput, match=r"^payoffs must not be those along a sequence, got <"):
        policy.rank(items, costly.along([2, 1]))
    for payoffs in (costly, PAYOFFS["constant"]) if name in KINDS else ():
        assert "patience" not in policy.rank(items, payoffs).explain()
        for _ in range(4):  # a random round among them, where there are such
            *_, last = policy.rank(items, payoffs.patient(0.8)).explain().splitlines()
            assert last.startswith("It is planned with a patience of 0.8, ")
    if name == "records":  # as it does one that was learned
        policy.learn(policy.receipt(["a", "b"], VANILLA, ["a", "b"]), Outcome(1, False))
        learned = f"a patience of {policy.patience.now:.4g}"
        assert learned in policy.rank(["a"], VANILLA).explain()


def test_a_sequence_that_was_drawn_says_so_where_it_stops():
    payoffs = Payoffs([1.0, 0.5, 0.25], [0.0, -0.4, -0.8, -1.2])
    policy = PlackettLuce(believing(), temperature=1.0, rng=0)
    found = [policy.rank(ITEMS, payoffs) for _ in range(40)]
    cut = [one for one in found if one.value < one.values[len(one) :].max()]
    assert cut
    assert all(" of 3 tries, drawn at random: the best longer" in one.explain() for one in cut)
    dear = Payoffs([1.0, 0.2, 0.1], [0.0, -0.4, -1.5, -3.0])
    words = {"ucb": "1 of 3 tries: the best"}
    words |= {"thompson": "1 of 3 tries, by scores drawn at random:"}
    for name, told in words.items():
        policy = KINDS[name]()
        policy.learner.weights[:] = 0.0
        assert f"It stops after {told}" in policy.rank(ITEMS, dear).explain()


EXTREME = [0.0, 5e-324, 1e-300, 1e-12, 0.1, 1.0, 1e6, 1e12]


@pytest.mark.parametrize("name", POLICIES)
def test_prices_of_any_size_give_finite_values(name):
    policy, rng = POLICIES[name](), np.random.default_rng(1)
    for t in range(8):
        k, b = int(rng.integers(0, 13)), int(rng.integers(0, 6))
        payoffs = (Payoffs.vanilla, lambda b: Payoffs([0.0] * b, [0.0] * (b + 1)))[t % 2](b)
        costs, values = rng.choice(EXTREME, (2, k))
        payoffs = payoffs.priced(costs, values * rng.choice([-1.0, 1.0], k))
        payoffs = payoffs.patient(float(rng.choice([1.0, 0.5, 1e-9])))
        ranking = policy.rank(unit_rows(rng.random((k, 4))), payoffs)
        assert np.isfinite(ranking.values[0 if name == "random" else slice(None)]).all()
        tried = int(rng.integers(0, len(ranking) + 1))
        outcome = Outcome(tried, bool(tried and t % 3), tuple(rng.choice(EXTREME, tried)))
        assert np.isfinite(ranking.reward(payoffs, outcome))
        policy.learn(ranking, outcome)


def test_very_many_candidates_with_prices_are_checked():
    for bad, rule in ((np.nan, "be finite"), (3.0, "have rows of norm")):
        items = np.zeros((1 << 17, 2))
        items[:, 0], items[777, 1] = 0.5, bad
        policy = UCB(OnlineNewton(2, max_budget=2), exploration=0.1)
        with pytest.raises(InvalidInput, match=f"items must {rule}"):
            policy.rank(items, Payoffs.vanilla(2).priced(np.zeros(len(items))))


# -- simulation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "world",
    [
        LogisticWorld([1.0, -1.0], items=4, seed=1),
        CoverageWorld([2.0, -1.0], topics=np.square, dim=2, items=4, seed=1, exact=True),
    ],
    ids=["independent", "dependent"],
)
def test_a_world_in_which_no_cascade_ends_by_itself_is_worth_the_same_however_patient(world):
    for payoffs in (PAYOFFS["falling"], PAYOFFS["falling"].priced(COSTS, VALUES)):
        for t in range(5):
            dealt = world.deal(t)
            for ask in (
                lambda dealt, paid: dealt.value(np.array([2, 0, 1]), paid),
                type(dealt).optimum,
            ):
                assert ask(dealt, payoffs.patient(0.5)) == ask(dealt, payoffs)


def test_expected_rewards_with_fees_are_the_mean_of_what_is_earned():
    payoffs, rng = Payoffs.linear(3, attempt_cost=0.02, give_up=-0.1), np.random.default_rng(5)
    dealt = CheckoutWorld(4, seed=2, fees=True).deal(3)
    dealt.finals = np.full(4, 0.4)
    paid, order = priced(payoffs, dealt.items), np.array([2, 0, 3])
    earned = []
    for _ in range(20_000):
        dealt.draws = rng.random(4)
        earned.append(paid.along(order).reward(dealt.play(order)))
    error = np.std(earned) / np.sqrt(len(earned))
    assert dealt.value(order, paid) == pytest.approx(np.mean(earned), abs=4.0 * error)
    every = [np.array(each, np.int64) for each in all_sequences(4, 3)]
    assert dealt.optimum(paid) == pytest.approx(max(dealt.value(each, paid) for each in every))


@pytest.mark.parametrize("schema", [Schema({"cost": "number"}), Schema(ignore=["cost"])])
def test_a_cost_that_the_schema_names_is_no_price(schema):
    ranking = recommended(schema=schema).rank([{"id": "a", "cost": 5.0}], VANILLA)
    assert len(ranking) == 1
    assert ranking.costs is None


def test_planning_with_the_patience_of_a_world_earns_more_than_without():
    payoffs, world = Payoffs.linear(5, attempt_cost=0.0), CheckoutWorld(seed=5, fees=True)
    earned = []
    for t in range(150):
        dealt = world.deal(t)
        paid = priced(payoffs, dealt.items)
        plans = (paid.best_sequence(dealt.chances, patience=q).order for q in (1.0, 0.85))
        earned.append([dealt.value(plan, paid) for plan in plans] + [dealt.optimum(paid)])
    without, patient, optimum = np.mean(earned, axis=0)
    assert without < patient < optimum
    assert optimum - patient < 0.6 * (optimum - without)
