"""The verdict: it covers the truth, or says why it cannot be given."""

import json
import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from exact_world import LOGS, ROUNDS, logged_by, true_value
from small_world import JUDGED, always, believing, chance, greedy, logged, one_try, said, weighted

from longrank import Payoffs, PlackettLuce, Random
from longrank.logs import History, evaluate, fit, gate
from longrank.logs.evaluation.estimators import importance
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import IntervalSettings, lower, mean_interval
from longrank.logs.evaluation.judging import comparable, differ, judge
from longrank.logs.evaluation.sample import Sample, betting_bounds
from longrank.logs.evaluation.support import no_support, wrong_propensities
from longrank.logs.evaluation.verdict import Difference, Verdict

SETTINGS = IntervalSettings(resamples=2)


def taken(found, numbers):
    """The evidence of a log of these decisions."""
    names = ("decisions", "with_items", "with_payoffs", "with_propensity", "with_prefix")
    counted = dict.fromkeys((*names, "randomised"), len(numbers))
    return replace(found.take(numbers), log=replace(found.log, **counted))


def sampled(world, found, n, rng):
    """The evidence of a log of n decisions."""
    return taken(found, world.sample(n, rng))


@pytest.mark.parametrize(
    ("log", "temperature", "n"),
    [("Plackett-Luce", 0.5, 50), ("uniform", 0.2, 200), ("epsilon-greedy", 0.5, 50)],
)
def test_it_covers_the_truth_at_few_decisions(log, temperature, n):
    make, payoffs = LOGS[log]
    policy = PlackettLuce(believing([1.5, -1.0]), temperature=temperature, rng=3)
    world, truth = logged_by(make(), payoffs), true_value(policy, payoffs)
    found, rng = world.evidence(policy), np.random.default_rng(0)
    more = truth - world.chances @ found.rewards
    covered, gained = 0, 0
    for _ in range(150):
        verdict = judge(Sample(sampled(world, found, n, rng), SETTINGS))
        covered += verdict.low <= truth <= verdict.high
        gained += verdict.gain.low <= more <= verdict.gain.high
    assert min(covered, gained) >= 0.93 * 150


def test_missing_outcomes_are_refused_bounded_or_weighted():
    """Failures that nobody reported: doubly robust on the rest said 0.795 where 0.6 is true."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(1000):
        item = int(rng.integers(3))
        won = bool(rng.random() < 0.6)
        rows.append((0, item, 1.0 / 3.0, won if won or rng.random() < 0.4 else None))
    log = one_try(rows)
    found = evaluate(log, {"x": always(0)}, resamples=2)
    gone = sum(row[3] is None for row in rows)
    verdict = found.verdicts["x"]
    assert found.missing == verdict.missing == gone
    assert f"{gone} of 1000 decisions" in verdict.refused
    assert "'at random'" in verdict.refused
    assert "'bounds'" in verdict.refused
    assert math.isnan(verdict.value)
    assert f"{gone} of 1000 decisions" in str(verdict)
    told = [e for e in found if not e.refused]
    assert {e.estimator for e in told} == {"mean reward", "bounds"}
    for e in told:
        assert any(str(gone) in note for note in e.notes)
        assert e.low <= 0.6 <= e.high
    bounded = evaluate(log, {"x": always(0)}, resamples=2, missing="bounds").verdicts["x"]
    assert not bounded.refused
    for one in (verdict, bounded):
        assert one.low <= 0.6 <= one.high


def test_outcomes_that_are_missing_at_random_given_what_was_played_are_weighted():
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(1200):
        item = int(rng.integers(3))
        won = bool(rng.random() < (0.2, 0.5, 0.8)[item])
        rows.append((0, item, 1.0 / 3.0, won if rng.random() < (0.3, 0.6, 0.9)[item] else None))
    even = PlackettLuce(believing([0.0] * 6), temperature=1.0, rng=0)
    verdict = evaluate(one_try(rows), {"x": even}, resamples=2, missing="at random").verdicts["x"]
    assert verdict.low <= 0.5 <= verdict.high  # a third of 0.2, 0.5 and 0.8 each
    assert verdict.high - verdict.low < 0.2
    assert verdict.missing == sum(row[3] is None for row in rows)


def test_few_missing_outcomes_widen_the_interval_by_their_share():
    rows = one_try([(0, t % 3, 1.0 / 3.0, t % 2 == 0) for t in range(1200)])
    pair = {"x": always(0), "y": always(1)}
    before = evaluate(rows, pair, resamples=2)
    for row in rows[:11]:
        row |= {"tried": None, "succeeded": None}
    after = evaluate(rows, pair, resamples=2)
    assert not after.verdicts["x"].refused
    assert after.differences[-1].method == "normal"
    for full, some in (
        (before.verdicts["x"], after.verdicts["x"]),
        (before.differences[-1], after.differences[-1]),
    ):
        assert some.high - some.low > full.high - full.low + 0.005


def test_replay_is_refused_without_support():
    """Propensity 0.5 everywhere, but other items in other contexts."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(400):
        context = int(rng.integers(2))
        item = int(rng.integers(2)) if context == 0 else 1 + int(rng.integers(2))
        rows.append((context, item, 0.5, bool(rng.random() < (0.9 if context == 0 else 0.1))))
    found = evaluate(one_try(rows), {"x": always(0)}, resamples=2)
    by = {e.estimator: e for e in found}
    for name in ("replay", "importance sampling", "doubly robust"):
        assert "could not occur in the log" in by[name].refused
    verdict = found.verdicts["x"]
    assert "could not occur in the log" in verdict.refused
    assert verdict.low <= 0.5 <= verdict.high


@pytest.mark.parametrize("n", [50, 300])
def test_lengths_that_the_log_never_played_are_known_by_its_prefixes_or_refused(n):
    """A log that always tries two of three, and a policy that tries one."""
    policy, payoffs = greedy([6.0, 0.0]), Payoffs([1.0, 0.0, 0.0], [0.0, 0.0, -0.5, -1.0])
    world = logged_by(Random(rng=0), Payoffs(payoffs.rewards[:2], payoffs.losses[:3]))
    for row in world.rows:
        row |= {"rewards": payoffs.rewards.tolist(), "losses": payoffs.losses.tolist()}
    truth, found = true_value(policy, payoffs), world.evidence(policy)
    lengths = {len(policy.rank(each, payoffs)) for each in ROUNDS}
    assert 1 in lengths
    rng, covered = np.random.default_rng(2), 0
    for _ in range(100):
        here = sampled(world, found, n, rng)
        assert "no support" in no_support(here) or not here.masses[:, 0].any()
        verdict = judge(Sample(here, SETTINGS))
        covered += bool(verdict.refused) or verdict.low <= truth <= verdict.high
    assert covered >= 93


def test_weights_are_checked_on_both_sides_with_their_standard_error():
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=(20_000, 1))
    weights /= weights.mean()
    assert no_support(weighted(weights)) == ""
    assert "average 0.860 instead of 1" in no_support(weighted(0.86 * weights))
    assert "began as this policy would" in no_support(weighted(0.0 * weights))
    assert "propensities in the log are too small" in no_support(weighted(2.0 * weights[:400]))
    few = weights[:400] / weights[:400].mean()
    assert wrong_propensities(weighted(1.05 * few)) == ""


def test_no_value_is_above_what_can_be_earned():
    estimate = importance(Sample(weighted(np.full((400, 1), 1.04)), SETTINGS))
    assert estimate.value <= estimate.high <= 1.0
    assert any("limited to what can be earned" in note for note in estimate.notes)


def test_no_interval_has_no_width():
    low, high, _ = mean_interval(np.full(200, -0.1), (-0.1, 1.0), SETTINGS)
    assert low == pytest.approx(-0.1)
    assert -0.1 < high < 0.0
    rows = [(0, t % 3, 1.0 / 3.0, False) for t in range(200)]
    found = evaluate(one_try(rows), {"x": always(0)}, resamples=50)
    for one in (*found[:-1], found.verdicts["x"]):
        assert one.low < one.high, str(one)


def test_differences_between_policies_are_paired():
    make, payoffs = LOGS["Plackett-Luce"]
    world = logged_by(make(), payoffs)
    pair = [PlackettLuce(believing([1.5, -1.0]), temperature=t, rng=3) for t in (0.5, 0.7)]
    truth = true_value(pair[0], payoffs) - true_value(pair[1], payoffs)
    first, second = (world.evidence(each) for each in pair)
    narrow, covered = [], []
    for seed in range(40):
        a, b = (sampled(world, e, 1500, np.random.default_rng(seed)) for e in (first, second))
        samples = Sample(a, SETTINGS), Sample(b, SETTINGS)
        alone, other = map(judge, samples)
        sides = comparable(samples[0], alone), comparable(samples[1], other)
        found = differ(*sides, SETTINGS)
        if found.method == "normal":
            narrow.append((found.high - found.low) / (alone.high - alone.low))
            covered.append(found.low <= truth <= found.high)
    assert len(covered) > 20
    assert np.mean(covered) >= 0.9
    assert np.mean(narrow) < 1.0


def test_an_evaluation_has_sentences_a_calibrated_model_and_differences():
    policies = {"a": chance(temperature=0.8), "b": chance(temperature=0.9)}
    found = evaluate(logged(chance(), 300), policies, resamples=2)
    a, b, pair = found.verdicts["a"], found.verdicts["b"], found.differences[-1]
    text = str(a)
    assert text.startswith("`a` would earn ")
    assert "than what was played (95 %)" in text
    assert "effective decisions; " in text
    everything = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert everything["verdicts"]["a"]["sentence"] == text
    assert len(everything["estimates"]) == len(found)
    model = next(e for e in found if e.estimator == "model")
    assert math.isfinite(model.value)
    assert np.isnan([model.low, model.high]).all()
    assert any(note.startswith("calibration: ") for note in model.notes)
    assert "[" not in str(model)
    sides = [("a", "the log itself"), ("b", "the log itself"), ("a", "b")]
    assert [(one.policy, one.other) for one in found.differences] == sides
    assert pair.value == pytest.approx(a.value - b.value, abs=1e-9)
    assert found.differences[0] == a.gain


def test_a_difference_is_told_in_as_many_digits_as_it_deserves():
    for low, high, text in (
        (0.0, 0.0, "exactly as much as"),
        (0.5, 0.5, "0.5 more than"),
        (-0.0004, -0.0004, "0.0004 less than"),
        (-0.25, 0.0, "0.00 to 0.25 less than"),
        (-0.012, 2.0, "between 0.01 less and 2.0 more than"),
        (-43.0, 1400.0, "between 40 less and 1400 more than"),
        (-2e-5, 0.01, "between 0.00002 less and 0.010 more than"),
        (-1e308, 1.7e308, "between 1e+308 less and 1.7e+308 more than"),
        (1e-13, 3e-13, "1e-13 to 3e-13 more than"),
    ):
        told = str(Difference("x", "the log", 0.0, low, high))
        assert told == f"x would earn {text} the log"
    gain = Difference("x", "the log itself", 0.02, -0.10, 0.13)
    verdict = Verdict("x", 1.0, 0.9, 1.1, effective=40.0, gain=gain, advice="try", share=0.1)
    assert str(verdict) == (
        "`x` would earn between 0.10 less and 0.13 more per decision than what was played (95 %), "
        "best estimate +0.02; 40 effective decisions; it looks better, but the log does not prove "
        "it: try it on 10 % of the traffic"
    )


def test_few_decisions_do_not_promise_more_than_is_possible():
    # one decision in 30 is worth 20 times as much, and items nearly always succeed
    rows = one_try([(t % 2, t % 3, 1.0 / 3.0, t % 10 > 0) for t in range(300)])
    for row in rows[::30]:
        row["rewards"] = [20.0]
    judged = gather(always(0), History(rows), fit(History(rows)))
    sample = Sample(judged, IntervalSettings(interval="betting"))
    verdict = judge(sample, "x")
    assert verdict.method == verdict.gain.method == "betting"
    possible = float((judged.bounds[:, 1] - judged.rewards).mean())
    assert verdict.gain.high < possible + 1.0
    earned, missed, *certain = sample.scaled()
    known = betting_bounds(earned, missed, *certain, 0.05)
    alone = betting_bounds(earned, missed, *(0.0 * each for each in certain), 0.05)
    assert known[1] < 0.6 * alone[1]
    assert (verdict.low, verdict.high) == sample.betting_interval(0.05)
    assert judged.bounds[:, 1].mean() < verdict.high


def test_what_is_not_known_is_not_certain():
    """Decisions without an outcome count neither for nor against."""
    rows = one_try([(t % 2, t % 3, 1.0 / 3.0, None if t % 4 == 0 else True) for t in range(60)])
    found = gather(always(0), History(rows), fit(History(rows)))
    sample = Sample(found, IntervalSettings(), "bounds")
    assert not sample.surely_missed()[~found.observed].any()
    assert not sample.scaled()[3][~found.observed].any()


def covered(rows, drawn, policy, value, more, **settings):
    """How often value and gain are in their intervals, of logs that repeat rows as ``drawn``."""
    history = History(rows)
    found = gather(policy, history, fit(history), draws=0)
    hits = np.zeros(2)
    for numbers in drawn:
        verdict = judge(Sample(taken(found, numbers), IntervalSettings(**settings)))
        gain = verdict.gain
        hits += verdict.low <= value <= verdict.high, gain.low <= more <= gain.high
    return hits / len(drawn)


def test_costs_that_are_known_afterwards_are_not_taken_for_certain():
    """An attempt at the first item is planned to cost 0.5, and really costs 0.2."""
    rows = one_try([(0, item, 1.0 / 3.0, won) for item in range(3) for won in (False, True)])
    for row in rows:
        row["costs"] = [0.5, 0.1, 0.1]
        row["outcome_costs"] = [0.2 if row["order"] == [0] else 0.1]
    rng, drawn = np.random.default_rng(0), []
    for _ in range(40):
        item = rng.integers(3, size=300)
        drawn.append(2 * item + (rng.random(300) < np.array([0.95, 0.5, 0.5])[item]))
    more = 0.75 - (0.75 + 0.4 + 0.4) / 3.0
    assert covered(rows, drawn, always(0), 0.75, more, interval="betting").min() >= 0.9


def test_a_cascade_that_ends_because_of_what_comes_next_is_not_taken_for_certain():
    """The first item fails; before item 1 everybody leaves, and item 2 wins 6 of 10."""
    some = [(1, 1, False), (2, 2, True), (2, 2, False)]
    rows = [
        row
        | {"order": [0, item], "tried": tried, "succeeded": won}
        | {"rewards": [1.0, 1.0], "losses": [0.0] * 3, "propensity": 0.5}
        | {"prefix_propensities": [1.0, 0.5]}
        for row, (item, tried, won) in zip(one_try([(0, 0, 1.0, True)] * 3), some, strict=True)
    ]
    policy, rng = greedy([5.0, 0.0, 2.0, 0.0, 0.0, 0.0]), np.random.default_rng(0)
    drawn = [rng.choice(3, 60, p=[0.5, 0.3, 0.2]) for _ in range(60)]
    assert covered(rows, drawn, policy, 0.6, 0.3, interval="betting").min() >= 0.9


def test_a_log_that_learned_is_not_said_to_be_worse_than_it_was():
    """The policy wins 7 of 10, as the whole log does: less at first, and 8 of 10 in the end."""
    wins, early, late = np.array([0.7, 0.9, 0.05]), (0.4, 0.05, 0.55), (0.05, 0.9, 0.05)
    worse, better = 0.7 - wins @ early, 0.7 - wins @ late
    n, chances = 1000, sorted({*early, *late})
    cut = round(n * better / (better - worse))
    rows = one_try([(0, *kind) for kind in product(range(3), chances, (False, True))])
    rng, drawn = np.random.default_rng(7), []
    for _ in range(40):
        odds = np.where(np.arange(n)[:, np.newaxis] < cut, early, late)
        item = (rng.random((n, 1)) > odds.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        won, chance = rng.random(n) < wins[item], odds[np.arange(n), item]
        drawn.append(2 * (len(chances) * item + np.searchsorted(chances, chance)) + won)
    more = (cut * worse + (n - cut) * better) / n
    assert covered(rows, drawn, always(0), 0.7, more).min() >= 0.9


def test_what_is_certain_counts_where_weights_know_nothing():
    nothing, n = np.zeros(1000), 1000
    low, high = betting_bounds(nothing, nothing, np.full(n, 0.4), np.full(n, 0.5), 0.05)
    assert 0.375 < low < 0.4
    assert 0.5 < high < 0.525


def test_a_better_policy_has_an_uplift_and_is_promoted_if_bounds_for_any_number_agree(monkeypatch):
    rows = one_try([(0, t % 2, 0.5, t % 2 == 0 or t % 4 == 1) for t in range(400)])
    verdict = evaluate(rows, {"x": always(0)}, resamples=2).verdicts["x"]
    assert (verdict.method, verdict.advice, verdict.gain.low > 0.0) == ("normal", "promote", True)
    assert verdict.played == pytest.approx(0.75)
    assert verdict.uplift == pytest.approx(verdict.gain.value / 0.75)
    assert re.search(r"\(95 %\), best estimate \+0\.\d+ or \+\d\d %;", str(verdict))
    worthless = replace(verdict, played=0.0)
    assert math.isnan(worthless.uplift)
    assert " or " not in str(worthless)
    monkeypatch.setattr(Sample, "bounded_gain", lambda _: (-0.1, 0.5))
    assert evaluate(rows, {"x": always(0)}, resamples=2).verdicts["x"].advice == "try"


def test_bets_bound_the_mean_of_numbers_without_an_upper_limit():
    rng, above = np.random.default_rng(0), 0
    for _ in range(200):
        values = rng.pareto(2.1, size=80) * 0.55
        above += lower(values, 0.05) > 0.5 * 1.0
    assert above <= 0.05 * 200 + 6
    assert lower(np.zeros(10), 0.05) == 0.0
    assert 0.9 < lower(np.ones(200), 0.05) < 1.0


def test_the_gate_has_an_answer_for_pipelines(tmp_path):
    def at(rates, n=900):
        rng = np.random.default_rng(0)
        items = rng.integers(3, size=n)
        rows = [(0, int(i), 1.0 / 3.0, bool(rng.random() < rates[i])) for i in items]
        result = said(tmp_path, one_try(rows), "--gate", "--json", "-")
        return result.exit_code, json.loads(result.stdout)

    code, told = at((0.9, 0.1, 0.1))
    assert (code, told["answer"]) == (0, "promote")
    assert told["gain"]["low"] > 0.0
    code, told = at((0.1, 0.9, 0.9))
    assert (code, told["answer"]) == (3, "keep")
    code, told = at((0.5, 0.5, 0.5), 90)
    assert (code, told["answer"]) == (4, "not enough data")
    assert gate(str(tmp_path / "log.jsonl"), {"x": always(0)})["x"].answer == "not enough data"


def test_policies_are_judged_alike_one_by_one_and_all_at_once(monkeypatch):
    history = History(logged(chance(), 120))
    policies = {name: make() for name, make in JUDGED.items()}
    together = evaluate(history, policies, resamples=2)
    monkeypatch.setattr("longrank.logs.evaluation.comparison._ROOM", 1)
    assert evaluate(history, policies, resamples=2).to_dict() == together.to_dict()


def test_the_effective_number_that_is_told_is_that_of_the_weights_up_to_the_outcomes():
    history = History(logged(chance(), 150))
    policy = JUDGED["chance"]()
    weights = gather(policy, history, fit(history)).final_masses
    verdict = evaluate(history, {"x": policy}, resamples=2).verdicts["x"]
    assert verdict.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert 1.0 < verdict.effective < 150.0


def of_random_order(at, k, rng):
    """A decision whose whole order was drawn at random, each attempt approved with 0.3."""
    wins = rng.random(k) < 0.3
    prefixes = np.cumprod([1.0 / (k - j) for j in range(k)])
    return {
        "id": str(at), "items": [[1.0, float(i)] for i in range(k)],
        "order": rng.permutation(k).tolist(),
        "tried": int(np.argmax(wins)) + 1 if wins.any() else k, "succeeded": bool(wins.any()),
        "propensity": float(prefixes[-1]), "prefix_propensities": prefixes.tolist(),
        "rewards": [1.0] * k, "losses": [0.0] * (k + 1),
    }  # fmt: skip


def test_a_verdict_does_not_depend_on_where_in_the_log_the_long_sequences_are():
    rng = np.random.default_rng(0)
    short = [of_random_order(t, 2, rng) for t in range(1030)]
    long = [of_random_order(2000 + t, 3, rng) for t in range(1030)]
    found = [
        evaluate(History(rows), {"rand": Random(rng=0)}).verdicts["rand"]
        for rows in (short + long, long + short)
    ]
    assert not any(one.refused for one in found)
    assert [round(one.effective) for one in found] == [2060, 2060]
