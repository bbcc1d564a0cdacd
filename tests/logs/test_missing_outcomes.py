"""Decisions without an outcome: read on demand, and counted."""

import numpy as np
import pytest
from small_world import FORMS, JUDGED, chance, logged

from longrank.logs import History, check, fit
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.sample import outcome_probabilities

GONE = (0, 3, 4, 19)


def holey(rounds=20, gone=GONE):
    """A log in which some rows have no outcome, and its rows with one."""
    rows = logged(chance(), rounds)
    for i in gone:
        rows[i] |= {"tried": None, "succeeded": None}
    return rows, [row for i, row in enumerate(rows) if i not in gone]


@pytest.mark.parametrize("form", FORMS)
def test_they_are_counted_and_read_on_demand(form, tmp_path):
    rows, ended = holey()
    for history in (History(FORMS[form](rows, tmp_path)), History(rows).keep()):
        assert [int(one.id) for one in history.decisions()] == [row["id"] for row in ended]
        every = list(history.decisions(missing=True))
        assert [int(one.id) for one in every] == [row["id"] for row in rows]
        assert [one.row for one in every if one.outcome is None] == [i + 1 for i in GONE]
        assert (len(history), history.missing) == (16, 4)
        assert sum(1 for _ in history) == 16
        checked = check(history)
        assert (checked.decisions, checked.missing) == (16, 4)
        assert "4 more without an outcome" in checked.abilities[0].reason


def test_parts_of_a_log_share_them_out():
    history = History(holey()[0])
    for whole in (history, history.keep()):
        parts = [whole.part(0, 5), whole.part(5, 16), whole.part(16)]
        assert [len(one) for one in parts] == [5, 11, 0]
        assert [one.missing for one in parts] == [3, 1, 0]
        for one in (*parts, parts[0].keep(), parts[1].keep(), parts[1].part(1)):
            every = list(one.decisions(missing=True))
            assert sum(each.outcome is None for each in every) == one.missing
            assert len(every) == len(one) + one.missing


def test_a_decision_may_come_again_with_its_outcome():
    rows = logged(chance(), 5)
    history = History([rows[0] | {"tried": None, "succeeded": None}, *rows])
    assert (len(history), history.missing) == (5, 1)


def test_one_that_is_broken_is_counted_all_the_same():
    rows, _ = holey()
    rows[3] = {"id": None, "order": None, "tried": None, "succeeded": None}
    history = History(rows)
    assert (len(history), history.missing) == (16, 4)
    evidence = gather(JUDGED["chance"](), history, fit(history))
    assert len(evidence.observed) == 19
    assert evidence.log.missing == 4


def test_evidence_says_what_the_log_and_the_policy_chose_in_them():
    rows, ended = holey()
    policy, model = JUDGED["chance"](), fit(ended)
    every, known = (gather(policy, History(log), model, draws=0) for log in (rows, ended))
    assert np.flatnonzero(~every.observed).tolist() == list(GONE)
    assert np.isnan(every.rewards[list(GONE)]).all()
    assert not every.deltas[list(GONE)].any()
    low, high, exact = every.bounds[list(GONE)].T
    assert (low < high).all()
    assert (exact < 1.0).all()
    whole = gather(policy, History(logged(chance(), 20)), model, draws=0)
    np.testing.assert_array_equal(every.weights, whole.weights)
    for name in ("rewards", "weights", "deltas", "starts", "expected", "bounds"):
        np.testing.assert_array_equal(getattr(every.ended(), name), getattr(known, name))


def test_what_is_expected_of_a_decision_does_not_depend_on_whether_its_outcome_is_known():
    """Else a model that saw later outcomes would speak for some decisions and not for others."""
    policy, rows = JUDGED["greedy"](), logged(chance(), 60)
    for i in (0, 7, 31, 58):
        without = [dict(row) for row in rows]
        without[i] |= {"tried": None, "succeeded": None}
        known, unknown = (
            gather(policy, History(each), fit(History(each)), draws=0) for each in (rows, without)
        )
        assert unknown.starts[i] == known.starts[i]
        assert not unknown.observed[i]


def test_decisions_without_an_outcome_are_expected_by_all_that_a_foreign_model_learned():
    rows, gone = logged(chance(), 20), logged(chance(seed=2), 6)
    for i, row in enumerate(gone):
        row["id"] = f"other {i}"
    model, policy = fit(History(rows)), JUDGED["greedy"]()
    known = gather(policy, History(gone), model, draws=0)
    without = [row | {"tried": None, "succeeded": None} for row in gone[:3]] + gone[3:]
    np.testing.assert_array_equal(gather(policy, History(without), model).starts, known.starts)


def test_weights_for_missing_outcomes_come_from_decisions_before():
    rows = logged(chance(), 80)
    for i in range(5, 80, 4):
        rows[i] |= {"tried": None, "succeeded": None}
    policy, weights = JUDGED["greedy"](), []
    for last in (True, False):
        if not last:
            rows[79] |= {"tried": None, "succeeded": None}
        history = History(rows)
        weights.append(outcome_probabilities(gather(policy, history, fit(history), draws=0)))
    np.testing.assert_array_equal(*weights)
    assert (weights[0][:6] == 1.0).all()  # none was missing so far
    assert 0.5 < weights[0][-10:].mean() < 0.9
