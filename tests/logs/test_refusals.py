"""What a log cannot say is refused, with the reason."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import (
    FREE,
    JUDGED,
    PAYOFFS,
    always,
    chance,
    greedy,
    logged,
    one_try,
    weigh_decision,
    weighted,
)

from longrank import InvalidInput, Outcome, Random
from longrank.logs import ESTIMATORS, History, evaluate, fit
from longrank.logs.decision import Decision
from longrank.logs.evaluation.support import effective_by_design


def test_a_deterministic_log_is_refused_with_the_reason_and_gets_bounds():
    rows = logged(greedy([0.5, 0.5, 0.5, 0.5]), 60)
    without = {e.estimator: e for e in evaluate(History(rows), {"x": JUDGED["greedy"]()})}
    assert "a deterministic policy made the log" in without["importance sampling"].refused
    certain = [
        row | {"propensity": 1.0, "prefix_propensities": [1.0] * len(row["order"])} for row in rows
    ]
    found = {e.estimator: e for e in evaluate(History(certain), {"x": JUDGED["greedy"]()})}
    for name in ("importance sampling", "doubly robust", "importance sampling, self-normalised"):
        assert "a deterministic log gives bounds only" in found[name].refused
    assert "a deterministic log shows only what it played" in found["replay"].refused
    drawn = [{**row, "prefix_propensities": None} for row in logged(chance(), 60)]
    alone = {e.estimator: e for e in evaluate(drawn, {"x": JUDGED["chance"]()})}
    assert not alone["importance sampling"].refused
    assert "no prefix_propensities" in alone["doubly robust"].refused
    for estimates in (without, found):
        assert not estimates["bounds"].refused
        assert estimates["bounds"].low < estimates["bounds"].high
        assert not estimates["model"].refused


def test_a_policy_that_stops_where_the_log_never_does_is_refused():
    history = History(logged(Random(rng=1), 100, items=3))
    stops = greedy([6.0, 0.0, 0.0, 0.0])
    found = {e.estimator: e for e in evaluate(history, {"x": stops}, resamples=10)}
    assert "it always uses up the budget" in found["importance sampling"].refused
    # what stopping earns is known: doubly robust needs no log that stops there
    assert not found["doubly robust"].refused


def test_what_the_log_could_not_have_done_counts_up_to_the_outcome_only():
    """The log's second item is certain, and the policy plays another one."""
    for outcome, lost in ((Outcome(1, True), 0.0), (Outcome(2, True), 1.0)):
        known = {"prefix_propensities": np.array([0.5, 0.5]), "propensity": 0.5, "payoffs": PAYOFFS}
        decision = Decision(1, 1, np.array([0, 1]), outcome, np.zeros((3, 1)), **known)
        weighed = weigh_decision(decision, [0, 2])
        assert weighed["unsupported"] == lost


def test_a_log_without_items_or_decisions_is_refused_with_the_reason(sound):
    rows = [{k: v for k, v in row.items() if k != "items"} for row in sound()]
    found = evaluate(History(rows), {"x": greedy([0.0, 0.0])})
    assert [e.estimator for e in found] == list(ESTIMATORS)
    assert {e.refused for e in found} == {"3 of 3 decisions have no items"}
    with pytest.raises(InvalidInput, match="history must have the items of every decision"):
        fit(History(rows))
    found = evaluate(History(sound()).part(3), {"x": greedy([0.0, 0.0])})
    assert {e.refused for e in found} == {"there are no decisions to evaluate"}


def test_replay_wants_equally_likely_sequences_and_a_match():
    for rows, reason in (
        (logged(chance(), 50), "not equally likely"),
        (logged(Random(rng=1), 3, 0, FREE), "none of the 3 decisions played"),
    ):
        found = {e.estimator: e for e in evaluate(rows, {"x": JUDGED["greedy"]()})}
        assert reason in found["replay"].refused


@pytest.mark.parametrize(("n", "refused"), [(20, False), (300, True)])
def test_a_verdict_is_not_silent_where_chance_may_have_kept_the_policy_out_of_the_log(n, refused):
    """One of three items, never that of the policy: chance in 20 decisions, but not in 300."""
    rows = one_try([(0, 1 + t % 2, 1.0 / 3.0, t % 5 == 0) for t in range(n)])
    verdict = evaluate(rows, {"x": always(0)}, resamples=2).verdicts["x"]
    assert bool(verdict.refused) == refused
    assert (verdict.low, verdict.high) == (0.0, 1.0)
    assert verdict.advice == "not enough data"


def test_how_decisions_ended_has_no_part_in_the_effective_number():
    rng = np.random.default_rng(0)
    found = weighted(rng.exponential(size=(300, 3)))
    numbers = {
        effective_by_design(replace(found, last=last))
        for last in (np.zeros(300, np.int64), np.full(300, 2), rng.integers(3, size=300))
    }
    assert len(numbers) == 1
    assert 100 < numbers.pop() < 200
    half = replace(found, observed=np.arange(300) % 2 == 0)  # what has not ended is no evidence
    assert effective_by_design(half) == effective_by_design(found) / 2.0


def test_a_position_that_is_drawn_is_not_hidden_by_those_that_are_certain():
    """Nine certain positions, and a tenth drawn from forty: it alone decides."""
    rng = np.random.default_rng(0)
    masses = np.ones((1000, 10))
    masses[:, 9] = 40.0 * (rng.integers(40, size=1000) == 0)
    assert effective_by_design(weighted(masses)) == effective_by_design(weighted(masses[:, 9:]))
    assert effective_by_design(weighted(masses)) < 40
    assert effective_by_design(weighted(np.zeros((10, 3)))) == 0.0
    assert effective_by_design(weighted(np.full((10, 3), 1e200))) == 0.0
