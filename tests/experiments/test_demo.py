"""The demo, run for real on few rounds."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import pytest

from longrank.experiments.demo import (
    BUDGET,
    PARTS,
    POLICIES,
    SCENARIOS,
    DeskRun,
    Player,
    demo,
    draw,
)
from longrank.jobs import Jobs

Parts = tuple[DeskRun, list[Player]]


def play(jobs: Jobs | None = None) -> Parts:
    desk, *players = demo(120, 0, jobs)
    assert isinstance(desk, DeskRun)
    assert all(isinstance(player, Player) for player in players)
    assert 1 + len(players) == PARTS
    return desk, players


@pytest.fixture(scope="module")
def parts() -> Parts:
    return play()


def test_every_policy_lives_in_every_world_and_scenario(parts: Parts) -> None:
    worlds = ["payments (simulated)", "digits (real)"]
    assert [(p.world, p.policy) for p in parts[1]] == [(w, p) for w in worlds for p in POLICIES]
    assert all(list(player.runs) == list(SCENARIOS) for player in parts[1])


def test_the_desk_earns_more_with_longrank_than_at_random_and_less_than_with_perfect_knowledge(
    parts: Parts,
) -> None:
    desk = parts[0]
    found = {one.who: one for one in desk.accounts}
    earned = [found[who].earned for who in ("random order", "longrank", "perfect knowledge")]
    assert earned == sorted(earned)
    assert desk.payments == 480
    assert "costs" in desk.explained
    assert "patience" in desk.explained


def test_every_learner_beats_chance_and_none_beats_the_truth(parts: Parts) -> None:
    chance = {player.world: player.runs for player in parts[1] if player.policy == "Rand"}
    for player in parts[1]:
        for scenario, run in player.runs.items():
            assert run.expected.sum() <= run.optimum.sum() + 1e-9
            if player.policy != "Rand":
                assert run.expected.sum() > chance[player.world][scenario].expected.sum(), player


def test_the_explained_ranking_stops_before_the_budget_does(parts: Parts) -> None:
    found = parts[1][6].explained
    assert found is not None
    tries = int(found.split("It stops after ")[1].split()[0])
    assert 0 < tries < BUDGET


def test_the_pictures_show_something(parts: Parts, tmp_path: Path) -> None:
    png, svg = draw(parts[1], tmp_path / "new")
    assert matplotlib.image.imread(png).std() > 0.05
    assert svg.read_text().count("<path") > 100


def test_two_processes_give_the_same_numbers_and_pictures(parts: Parts, tmp_path: Path) -> None:
    desk, players = play(Jobs(2))
    assert desk.accounts == parts[0].accounts
    assert desk.explained == parts[0].explained
    for one, other in zip(parts[1], players, strict=True):
        for scenario in SCENARIOS:
            assert one.runs[scenario].rewards.tobytes() == other.runs[scenario].rewards.tobytes()
        assert one.explained == other.explained
    pictures = draw(parts[1], tmp_path / "one")[1], draw(players, tmp_path / "two")[1]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
