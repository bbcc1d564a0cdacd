"""A warm-started policy equals the one that learned online, bit for bit."""

import numpy as np
import pytest
from small_world import PAYOFFS

from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    MaximumLikelihood,
    OnlineNewton,
    Outcome,
    PlackettLuce,
    Ridge,
    recommended,
    unit_rows,
)
from longrank.logs import History, learn_from, record, write

TOPICS = np.abs(np.random.default_rng(5).normal(size=(4, 3))) / 4
MAKERS = {
    "newton": lambda: UCB(OnlineNewton(4, max_budget=3, rate=5.0), exploration=0.5),
    "ridge": lambda: UCB(Ridge(4), exploration=0.5),
    "likelihood": lambda: UCB(MaximumLikelihood(4), exploration=0.5),
    "coverage": lambda: UCB(
        OnlineNewton(3, max_budget=3), features=Coverage(TOPICS), exploration=0.5
    ),
    "epsilon": lambda: EpsilonGreedy(OnlineNewton(4, max_budget=3), epsilon=0.3, rng=2),
    "recommended": lambda: recommended(dim=4, max_budget=3, forgetting=0.001),
    "plackett-luce": lambda: PlackettLuce(OnlineNewton(4, max_budget=3), temperature=1.0, rng=2),
}


def lived(policy, rounds=60):
    """Let a policy learn online; returns the log."""
    rng = np.random.default_rng(1)
    rows = []
    for t in range(rounds):
        items = np.abs(unit_rows(rng.normal(size=(6, 4))))
        ranking = policy.rank(items, PAYOFFS)
        tried = int(rng.integers(0, len(ranking) + 1))
        outcome = Outcome(tried, bool(tried and rng.random() < 0.5))
        policy.learn(ranking, outcome)
        rows.append(record(t, ranking, outcome, PAYOFFS, items=items))
    return rows


@pytest.mark.parametrize(("number", "name"), list(enumerate(MAKERS)))
def test_a_warm_start_gives_the_state_of_learning_online(number, name, tmp_path):
    online = MAKERS[name]()
    rows = lived(online)
    path = tmp_path / f"log.{('parquet', 'csv', 'jsonl')[number % 3]}"
    write(path, rows)
    without = [{k: v for k, v in row.items() if k != "features"} for row in rows]
    for history in (History(path), History(without)):  # whose rows are made from its items
        by_method, by_function = MAKERS[name](), MAKERS[name]()
        assert by_method.learn_from(history) == learn_from(by_function, history) == 60
        for policy in (by_method, by_function):
            assert policy.learner.state().keys() == online.learner.state().keys()
            for part, value in online.learner.state().items():
                assert np.array_equal(policy.learner.state()[part], value)


def test_rows_of_another_feature_map_are_made_anew():
    history, settings = History(lived(MAKERS["newton"]())), {"exploration": 0.5}
    settings["features"] = Coverage(np.eye(4))
    for make in (lambda: UCB(OnlineNewton(4, max_budget=3), **settings), MAKERS["recommended"]):
        policy, online = make(), make()
        assert learn_from(policy, history) == 60
        for decision in history.decisions():
            online.learn(*decision.observed_by(online.features))
        assert policy.learner.weights.tobytes() == online.learner.weights.tobytes()
        assert np.abs(policy.learner.weights).max() > 0.0


def test_progress_is_told_from_the_first_to_the_last():
    told = []
    history = History(lived(MAKERS["ridge"](), 2100))
    learn_from(MAKERS["ridge"](), history, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2100), (1000, 2100), (2000, 2100), (2100, 2100)]
