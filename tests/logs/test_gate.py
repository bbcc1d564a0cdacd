"""The gate: bounds that hold at all times together, whatever the log does."""

import json
import math
from itertools import product

import numpy as np
import pytest
from exact_world import LOGS, logged_by
from hypothesis import given
from hypothesis import strategies as st
from small_world import always, believing, one_try, said

from longrank import PlackettLuce
from longrank.errors import InvalidInput
from longrank.logs import History, fit, gate
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import IntervalSettings, constant_lower, mixture
from longrank.logs.evaluation.judging import GateDecision, check_gate
from longrank.logs.evaluation.sample import Sample
from longrank.logs.evaluation.verdict import Difference

SETTINGS = IntervalSettings()
EARNABLE = 0.0, 32.0  # of payoffs that double five times


def rows_with(*chances):
    """A row for each item, whether it won, and the chance that it was played with."""
    kinds = product(range(3), (False, True), chances)
    return one_try([(0, item, chance, won) for item, won, chance in kinds])


def paying(*rewards):
    """A row for each reward, item of an even choice, and whether it won."""
    kinds = [*product(rewards, range(3), (False, True))]
    rows = one_try([(0, item, 1.0 / 3.0, won) for _, item, won in kinds])
    return [row | {"rewards": [reward]} for row, (reward, *_) in zip(rows, kinds, strict=True)]


def evidence(rows):
    """What a log says about a policy that always plays the first item."""
    history = History(rows)
    return gather(always(0), history, fit(history), draws=0)


def growing(rng, n=240):
    """Items that are all alike, and payoffs that double every 40 decisions: numbers of SOME."""
    items, won = rng.integers(3, size=n), rng.random(n) < 0.5
    return 6 * (np.arange(n) // 40) + 2 * items + won


SOME = paying(*(2.0**scale for scale in range(6)))


@given(
    st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(0.01, 1.0)), min_size=1, max_size=3),
    st.floats(0.0, 3.0),
    st.integers(1, 4),
)
def test_the_capital_is_expected_not_to_grow_if_the_mean_is_no_larger(points, more, n):
    values, odds = np.array(points).T
    odds = odds / odds.sum()
    mean = float(values @ odds) + more + 1e-9
    expected = sum(
        math.prod(odds[list(course)]) * math.exp(mixture(values[list(course)], mean)[-1])
        for course in product(range(len(values)), repeat=n)
    )
    assert expected <= 1.0 + 1e-9


def test_what_later_decisions_pay_does_not_change_what_earlier_looks_saw():
    found = evidence(SOME).take(growing(np.random.default_rng(0)))
    whole = Sample(found, SETTINGS, "refuse", EARNABLE).against_log()
    for n in (30, 41, 200):
        part = Sample(found.take(np.arange(n)), SETTINGS, "refuse", EARNABLE).against_log()
        for ours, theirs in zip(part[:2], whole[:2], strict=True):
            np.testing.assert_array_equal(ours, theirs[:n])


def test_an_equal_policy_is_seldom_promoted_while_payoffs_grow():
    """Asking again with each prefix, as one does who looks every day."""
    found, rng, streams, promoted = evidence(SOME), np.random.default_rng(1), 100, 0
    for _ in range(streams):
        here = found.take(growing(rng))
        parts = [here.take(np.arange(n)) for n in range(40, 241, 40)]
        looks = [check_gate(part, SETTINGS, earnable=EARNABLE) for part in parts]
        promoted += "promote" in [one.answer for one in looks]
    assert promoted <= 0.05 * streams


def test_where_decisions_can_earn_different_amounts_it_must_be_told_which():
    found = evidence(SOME).take(growing(np.random.default_rng(0)))
    decision = check_gate(found, SETTINGS)
    assert decision.answer == "not enough data"
    assert "differs between decisions" in decision.reason
    with pytest.raises(InvalidInput, match=r"earnable must hold .* 0 to 32"):
        check_gate(found, SETTINGS, earnable=(0.0, 20.0))


def test_rare_decisions_of_great_worth_do_not_promote_who_fails_there():
    """One decision in 50 is worth 100 times as much; the first item wins all the others."""
    found, rng, promoted = evidence(paying(1.0, 100.0)), np.random.default_rng(6), 0
    for _ in range(60):
        rare, item = rng.random(150) < 0.02, rng.integers(3, size=150)
        won = np.where(rare, item > 0, item == 0)
        here = found.take(6 * rare + 2 * item + won)
        looks = [
            check_gate(here.take(np.arange(n)), SETTINGS, earnable=(0.0, 100.0)) for n in (50, 150)
        ]
        promoted += "promote" in [one.answer for one in looks]
    assert promoted <= 3


def test_a_log_that_has_become_better_than_the_policy_is_not_given_up_for_it():
    """The policy wins 6 of 10; the log first 3 of 10, and in the end 8 of 10."""
    rows = rows_with(0.1, 0.8)
    found, rng, promoted = evidence(rows), np.random.default_rng(7), 0
    wins = np.array([0.6, 0.9, 0.2])
    for _ in range(40):
        stream = []
        for t in range(900):
            liked = 2 if t < 150 else 1
            item = liked if rng.random() < 0.7 else int(rng.integers(3))
            won = bool(rng.random() < wins[item])
            stream.append(4 * item + 2 * won + (item == liked))
        promoted += check_gate(found.take(np.array(stream)), SETTINGS).answer == "promote"
    assert promoted <= 2


def test_what_the_log_hardly_ever_plays_does_not_promote():
    """The first item earns nothing and is played once in 10,000 times; the model likes it."""
    kinds = product(range(3), (False, True))
    rows = one_try([(0, item, 0.49995 if item else 1e-4, won) for item, won in kinds])
    found, rng, promoted = evidence([*rows[2:], *rows[:2]]), np.random.default_rng(2), 0
    for _ in range(100):
        items = np.where(rng.random(400) < 1e-4, 2, rng.integers(2, size=400))
        here = found.take(2 * items + ((items < 2) & (rng.random(400) < 0.8)))
        promoted += check_gate(here, SETTINGS).answer == "promote"
    assert promoted <= 5


def test_a_log_that_learns_does_not_promote_a_policy_that_is_no_better():
    """All items are alike, and the log plays more of what succeeded last."""
    rows = rows_with(0.02, 0.96)
    found, rng, promoted = evidence(rows), np.random.default_rng(3), 0
    for _ in range(100):
        stream, liked = [], 0
        for _ in range(300):
            item, won = int(rng.integers(3)), bool(rng.random() < 0.4)
            item = liked if rng.random() < 0.94 else item
            stream.append(4 * item + 2 * won + (item == liked))
            liked = item if won else int(rng.integers(3))
        promoted += check_gate(found.take(np.array(stream)), SETTINGS).answer == "promote"
    assert promoted <= 5


def grown(found):
    """The logarithm of the capital against the claim that the policy earns no more."""
    return mixture(Sample(found, SETTINGS, "refuse").against_log()[0], 1.0)


def test_it_finds_a_better_policy_sooner_than_by_a_single_bet():
    """A single bet that falls with the time found it in 22 % of such streams."""
    make, payoffs = LOGS["uniform"]
    world, rng = logged_by(make(), payoffs), np.random.default_rng(5)
    found = world.evidence(PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3))
    streams = [found.take(world.sample(1500, rng)) for _ in range(60)]
    promoted = [grown(stream)[49::50].max() >= math.log(20.0) for stream in streams]  # daily
    assert np.mean(promoted) >= 0.35
    for stream in streams[:5]:
        now = grown(stream)[-1] >= math.log(20.0)
        assert (check_gate(stream, SETTINGS).answer == "promote") == now


def test_bounds_at_all_times_are_those_of_now():
    values = np.random.default_rng(0).exponential(size=400)
    bound = constant_lower(values, 0.05)
    assert 0.7 < bound < 1.0
    assert constant_lower(np.append(values, np.zeros(400)), 0.05) < 0.6 * bound


def test_its_answer_in_json_has_no_number_that_json_lacks(monkeypatch, tmp_path):
    told = GateDecision("not enough data", Difference("mine", "log", math.nan, -math.inf, math.inf))
    monkeypatch.setattr("longrank.logs.gate", lambda *_, **__: {"mine": told})
    rows = one_try([(0, t % 3, 1.0 / 3.0, True) for t in range(9)])
    result = said(tmp_path, rows, "--gate", "--json", "-")
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert result.exit_code == 4
    assert found["gain"] == {"value": None, "low": None, "high": None}


def test_outcomes_that_are_missing_at_random_keep_their_weights_while_the_log_grows():
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(300):
        item = int(rng.integers(3))
        won = bool(rng.random() < 0.5)
        rows.append((0, item, 1.0 / 3.0, won if rng.random() < 0.9 - 0.2 * item else None))
    rows = one_try(rows)
    whole = Sample(evidence(rows), SETTINGS, "at random")
    part = Sample(evidence(rows[:120]), SETTINGS, "at random")
    np.testing.assert_array_equal(part.known, whole.known[:120])
    np.testing.assert_array_equal(part.against_log()[0], whole.against_log()[0][:120])
    answer = gate(rows, {"x": always(0)}, missing="at random")["x"].answer
    assert answer == "not enough data"
