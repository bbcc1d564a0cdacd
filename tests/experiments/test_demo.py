"""The demo, run for real on few rounds."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import pytest

from longrank.experiments.demo import BUDGET, SCENARIOS, Demo, demo

POLICIES = ["Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep", "recommended"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Demo, list[str]]:
    names: list[str] = []
    return demo(tmp_path_factory.mktemp("demo") / "new", 120, 0, names.append), names


def test_every_policy_lives_in_every_world_and_scenario(result: tuple[Demo, list[str]]) -> None:
    cells = [(c.world, c.scenario, c.policy) for c in result[0].cells]
    worlds = ["payments (simulated)", "digits (real)"]
    assert cells == [(w, s, p) for w in worlds for s in SCENARIOS for p in POLICIES]
    assert result[1] == ["payment desk", *(", ".join(cell) for cell in cells)]


def test_the_desk_earns_more_with_longrank_than_at_random_and_less_than_with_perfect_knowledge(
    result: tuple[Demo, list[str]],
) -> None:
    found = {one.who: one for one in result[0].accounts}
    earned = [found[who].earned for who in ("random order", "longrank", "perfect knowledge")]
    assert earned == sorted(earned)
    assert result[0].payments == 480
    assert result[0].priced.costs is not None
    assert "costs" in result[0].priced.explain()


def test_every_learner_beats_chance_and_none_beats_the_truth(
    result: tuple[Demo, list[str]],
) -> None:
    for cell in result[0].cells:
        chance = next(
            c.run.expected.sum()
            for c in result[0].cells
            if (c.world, c.scenario, c.policy) == (cell.world, cell.scenario, "Rand")
        )
        assert cell.run.expected.sum() <= cell.run.optimum.sum() + 1e-9
        if cell.policy != "Rand":
            assert cell.run.expected.sum() > chance, cell


def test_the_explained_ranking_stops_before_the_budget_does(
    result: tuple[Demo, list[str]],
) -> None:
    assert 0 < len(result[0].ranking) < BUDGET
    assert "It stops after" in result[0].ranking.explain()


def test_the_pictures_show_something(result: tuple[Demo, list[str]]) -> None:
    png, svg = result[0].pictures
    assert matplotlib.image.imread(png).std() > 0.05
    assert svg.read_text().count("<path") > 100


def test_the_same_seed_gives_the_same_numbers(
    result: tuple[Demo, list[str]], tmp_path: Path
) -> None:
    again = demo(tmp_path, 120, 0)
    for one, other in zip(result[0].cells, again.cells, strict=True):
        assert one.run.rewards.tobytes() == other.run.rewards.tobytes()
    assert again.pictures[1].read_bytes() == result[0].pictures[1].read_bytes()
