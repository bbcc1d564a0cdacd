"""The contest of policies that ask language models: its players earn what they should."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from longrank.datasets.questions import read

ROOT = Path(__file__).parent.parent


@pytest.fixture
def players(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "llm"))
    import players

    yield players
    del sys.modules["players"]


@pytest.fixture
def earn(players, small_questions):
    """Returns what a player earns a question in the second half (or the first)."""
    game = players.Game(read(small_questions), 100, 0.3, 3)

    def earn(name, second=True):
        won, paid = game.spent(players.PLAYERS[name](game))
        part = slice(game.half, None) if second else slice(game.half)
        return float((won - paid)[part].mean())

    earn.game = game
    return earn


def test_who_knows_more_earns_more(players, earn):
    learned = [earn(name) for name in players.LEARNING]
    assert min(learned) > 0.97 * earn(players.KNOWING)
    assert earn(players.CLAIRVOYANT) > max(learned)
    for name in players.BASELINES:
        assert earn(name) < min(learned), name


def test_the_value_of_a_sequence_is_what_it_earns(players, earn):
    game = earn.game
    for order in [(), (2,), (3, 1), (3, 1, 2)]:
        won, paid = game.spent([order] * len(game.shuffled))
        total = players.value(order, game.answered, game.costs)
        assert total == pytest.approx((won - paid).sum())


def test_the_tuned_cascade_is_the_best_of_all_on_the_first_half(players, earn):
    game = earn.game
    first = game.answered[: game.half]
    orders = [order for n in range(4) for order in itertools.permutations(range(4), n)]
    best = max(players.value(order, first, game.costs) for order in orders)
    found = players.tuned_cascade(game)
    assert len(set(found)) == 1
    assert players.value(found[0], first, game.costs) == pytest.approx(best)


def test_lists_by_price_and_by_accuracy_begin_with_the_right_model(players, earn):
    game = earn.game
    names = np.array(game.questions.models)
    assert names[players.cheapest_first(game)[0][0]] == "tiny"
    assert names[players.most_accurate_first(game)[0][0]] == "large"
