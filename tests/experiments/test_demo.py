"""The demo, run for real on few rounds."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import pytest

from longrank.experiments.demo import BUDGET, SCENARIOS, Desk, Panel, demo, draw
from longrank.jobs import Jobs

POLICIES = ["Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep", "recommended"]


Parts = tuple[Desk, list[Panel]]


def play(jobs: Jobs | None = None) -> Parts:
    desk, *panels = demo(120, 0, jobs)
    assert isinstance(desk, Desk)
    assert all(isinstance(panel, Panel) for panel in panels)
    return desk, panels


@pytest.fixture(scope="module")
def parts() -> Parts:
    return play()


def test_every_policy_lives_in_every_world_and_scenario(parts: Parts) -> None:
    worlds = ["payments (simulated)", "digits (real)"]
    assert [(p.world, p.scenario) for p in parts[1]] == [(w, s) for w in worlds for s in SCENARIOS]
    assert all(list(panel.runs) == POLICIES for panel in parts[1])


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
    for panel in parts[1]:
        for policy, run in panel.runs.items():
            assert run.expected.sum() <= run.optimum.sum() + 1e-9
            if policy != "Rand":
                assert run.expected.sum() > panel.runs["Rand"].expected.sum(), (panel, policy)


def test_the_explained_ranking_stops_before_the_budget_does(parts: Parts) -> None:
    found = parts[1][2].explained
    assert found is not None
    tries = int(found.split("It stops after ")[1].split()[0])
    assert 0 < tries < BUDGET


def test_the_pictures_show_something(parts: Parts, tmp_path: Path) -> None:
    png, svg = draw(parts[1], tmp_path / "new")
    assert matplotlib.image.imread(png).std() > 0.05
    assert svg.read_text().count("<path") > 100


def test_two_processes_give_the_same_numbers_and_pictures(parts: Parts, tmp_path: Path) -> None:
    desk, panels = play(Jobs(2))
    assert desk.accounts == parts[0].accounts
    assert desk.explained == parts[0].explained
    for one, other in zip(parts[1], panels, strict=True):
        for policy in POLICIES:
            assert one.runs[policy].rewards.tobytes() == other.runs[policy].rewards.tobytes()
        assert one.explained == other.explained
    pictures = draw(parts[1], tmp_path / "one")[1], draw(panels, tmp_path / "two")[1]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
