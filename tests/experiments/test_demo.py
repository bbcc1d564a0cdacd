"""The demo, run for real on few rounds."""

import matplotlib.image
import pytest

from longrank.experiments.demo import PARTS, POLICIES, SCENARIOS, DeskRun, Player, demo, draw
from longrank.jobs import Jobs

Parts = tuple[DeskRun, list[Player]]


def play(jobs: Jobs | None = None) -> Parts:
    desk, *players = demo(60, 0, jobs)
    assert isinstance(desk, DeskRun)
    assert all(isinstance(player, Player) for player in players)
    assert 1 + len(players) == PARTS
    return desk, players


@pytest.fixture(scope="module")
def parts():
    return play()


def test_the_desk_earns_more_with_longrank_than_at_random_and_less_than_perfect_knowledge(parts):
    desk = parts[0]
    players = ("random order", "longrank", "perfect knowledge")
    earned = [desk.accounts[who].earned for who in players]
    assert earned == sorted(earned)
    assert desk.payments == 240
    assert "costs" in desk.explained
    assert "patience" in desk.explained


def test_every_learner_beats_random_orders_and_none_beats_the_truth(parts):
    rand, *others = parts[1]
    assert [player.policy for player in parts[1]] == list(POLICIES)
    for player in others:
        assert list(player.runs) == list(SCENARIOS)
        for scenario, run in player.runs.items():
            assert run.expected.sum() <= run.optimum.sum() + 1e-9
            assert run.expected.sum() > rand.runs[scenario].expected.sum(), player


def test_two_processes_give_the_same_numbers_and_pictures(parts, tmp_path):
    desk, players = play(Jobs(2))
    assert desk == parts[0]
    for one, other in zip(parts[1], players, strict=True):
        for scenario in SCENARIOS:
            assert one.runs[scenario].rewards.tobytes() == other.runs[scenario].rewards.tobytes()
    png, svg = draw(parts[1], tmp_path / "one")
    assert svg.read_bytes() == draw(players, tmp_path / "two")[1].read_bytes()
    assert matplotlib.image.imread(png).std() > 0.05
    assert svg.read_text().count("<path") > 50
