"""The outcome model learns in time order: nothing is predicted by a model that has seen it."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import JUDGED, chance, logged, payments

from longrank.logs import History, fit
from longrank.logs.batch import fingerprint, fingerprints
from longrank.logs.evaluation.evidence import gather

ROWS = logged(chance(), 300, 5)


def flipped(rows, first):
    """The same log with other outcomes from a decision on."""
    return [
        row if i < first else row | {"tried": 1, "succeeded": i % 2 == 0, "outcome_costs": [9.0]}
        for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize("make", [lambda: ROWS, lambda: payments(150, fewer=True)[1]])
@pytest.mark.parametrize("first", [0, 1, 40, 77, 119])
def test_a_prediction_does_not_depend_on_what_came_later(make, first):
    rows = [row for row in make() if len(row["order"])]
    one, other = fit(rows), fit(flipped(rows, first))
    for decision in list(History(rows).decisions())[: first + 1]:
        np.testing.assert_array_equal(one.predict(decision), other.predict(decision))
    new = replace(decision, id="one that neither has seen")
    assert not np.array_equal(one.predict(new), other.predict(new))


def test_the_first_decision_is_predicted_without_data_and_all_better_than_without():
    model = fit(ROWS)
    [first, *_] = History(ROWS).decisions()
    np.testing.assert_array_equal(model.predict(first), 0.5)
    predicted, won = model.predictions
    loss = -np.log(np.where(won, predicted, 1.0 - predicted))
    assert loss.mean() < 0.9 * np.log(2.0)


def test_an_attempt_is_predicted_by_what_was_known_before_its_block():
    model, decisions = fit(ROWS), list(History(ROWS).decisions())
    wanted = [model.predict(d)[d.order[: d.outcome.tried]] for d in decisions]
    assert len(model.seen.begins) < len(decisions)  # some blocks hold several
    np.testing.assert_allclose(model.predictions.predicted, np.concatenate(wanted), rtol=1e-12)


def test_a_model_handles_right_the_rows_that_it_saw_wherever_they_are():
    """On a part of its log, in another order, among others: by what was known before each."""
    model = fit(ROWS)
    policy = JUDGED["greedy"]()
    whole = gather(policy, History(ROWS), model)
    part = gather(policy, History(ROWS).part(200), model)
    np.testing.assert_array_equal(part.starts, whole.starts[200:])
    mixed = [ROWS[250] | {"time": 0}, ROWS[3] | {"time": 1}, ROWS[9] | {"id": "new", "time": 2}]
    found = gather(policy, History(mixed), model)
    np.testing.assert_array_equal(found.starts[:2], whole.starts[[250, 3]])
    assert found.starts[2] == found.modelled[2]  # by all that the model has learned
    assert whole.starts[9] != whole.modelled[9]


def test_rows_that_a_model_has_not_seen_are_predicted_by_all_that_it_learned():
    early, late = History(ROWS).part(0, 200), History(ROWS).part(200)
    model = fit(early)
    found = gather(JUDGED["greedy"](), late, model)
    np.testing.assert_array_equal(found.starts, found.modelled)
    seen = gather(JUDGED["greedy"](), early, model)
    assert not np.array_equal(seen.starts, seen.modelled)


def test_fingerprints_tell_texts_from_whole_numbers():
    ids = ["7", 7, -7, "a", 2**63, 0]
    assert len(set(fingerprints(ids).tolist())) == len(ids)
    assert fingerprints(ids).tolist() == [fingerprint(each) for each in ids]
