"""The figures: something is in them, also without colours."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from made_up import row

from longrank.experiments import figures
from longrank.experiments.figures import (
    LOOKS,
    MARKERS,
    average_rewards,
    over_budgets,
    over_classes,
)
from longrank.experiments.latent import latent
from longrank.experiments.scores import scores
from longrank.experiments.tables import LABELS, SIX

ROUNDS = 60


def texts(svg: Path) -> str:
    """What is written in a picture; the letters are shapes, the text beside them a comment."""
    return svg.read_text("utf-8")


def drawn(files: list[Path]) -> None:
    png, svg = files
    assert matplotlib.image.imread(png).std() > 0.02
    assert svg.read_text("utf-8").count("<path") > 20


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    rows = []
    for task in ("mnist-0", "mnist-1", "mnist-2", "mnist-3"):
        for scenario, budget in (("vanilla", 1), ("exponential", 10)):
            for policy in (*SIX, "ind-gmm"):
                curve = rng.random(ROUNDS).tolist()
                made = row(policy, sum(curve), task=task, scenario=scenario, budget=budget)
                made["curve"] = curve
                rows.append(made)
    return scores(rows)


def test_every_policy_has_a_look_of_its_own_without_colours():
    assert set(LOOKS) == set(MARKERS) == {LABELS[policy] for policy in SIX} | {"recommended"}
    assert len({str(look["linestyle"]) for look in LOOKS.values()}) == len(LOOKS)
    assert len(set(MARKERS.values())) == len(MARKERS)


def test_figure_2_has_eight_panels_and_the_empty_ones_say_so(found, tmp_path: Path):
    files, picture = figures.figure_2(found, tmp_path)
    drawn(files)
    svg = texts(files[1])
    assert svg.count('<g id="axes_') == 8
    for title in ("MSD: vanilla, b = 1", "Yelp: exponential, b = 10", "MNIST, class 0: vanilla"):
        assert title in svg
    for task in ("msd", "yelp", "movielens-25m"):
        assert svg.count(f"of {task}") == 2
    assert "of mnist-0" not in svg
    assert picture.file == files[1]


def test_figure_2_shows_averages_of_the_rewards_so_far(found, tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(
        figures, "average_rewards", lambda panels, path, **_: shown.update(panels) or [path] * 2
    )
    figures.figure_2(found, tmp_path)
    curves = shown["MNIST, class 0: vanilla, b = 1"]
    assert list(curves) == ["Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep"]
    rewards = found[("mnist-0", "vanilla", 1, "ind")].rewards
    assert curves["Ind"][9] == pytest.approx(rewards[:10].mean())
    assert list(shown["MNIST, class 0: exponential, b = 10"]) == ["Ind", "Dep"]


def test_figure_3_shows_both_measures_over_the_classes(found, tmp_path: Path):
    files, _ = figures.figure_3(found, tmp_path)
    drawn(files)
    svg = texts(files[1])
    assert svg.count('<g id="axes_') == 4
    for text in ("CR of Dep", "minus CR of Ind", "pivot class"):
        assert text in svg
    assert "<pattern" in svg  # hatched bars


def test_figure_3_without_results_says_so(tmp_path: Path):
    files = over_classes([latent({}, "vanilla", 1)], tmp_path / "figure")
    assert "no results of Dep, Ind" in texts(files[1])


def test_times_are_medians_and_lengths_parts_of_the_budget():
    rows = [row(task=f"mnist-{i}", seconds=s, budget=10) for i, s in enumerate((1e-3, 2e-3, 9e-3))]
    found = scores([*rows, row(task="digits-0", seconds=5.0, budget=10)])
    assert figures.seconds(found) == {"vanilla": {"Ind": {10: pytest.approx(20.0)}}}
    assert figures.lengths(found) == {"vanilla": {"Ind": {10: 0.5}}}
    only = scores([row(task="digits-0", seconds=1e-3)])
    assert figures.seconds(only) == {"vanilla": {"Ind": {1: pytest.approx(10.0)}}}


def test_measures_over_budgets_have_a_line_for_each_policy(tmp_path: Path):
    lines = {name: {1: 1.0 + i, 100: 10.0 + i} for i, name in enumerate(LOOKS)}
    files = over_budgets({"vanilla": lines, "exponential": {}}, tmp_path / "x", "time", log=True)
    drawn(files)
    svg = texts(files[1])
    assert svg.count('<g id="axes_') == 2
    for name in LOOKS:
        assert name in svg


def test_the_same_numbers_give_the_same_files(found, tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    for draw in (figures.figure_2, figures.figure_3, figures.figure_of_seconds):
        one, other = (draw(found, tmp_path / folder)[0] for folder in ("a", "b"))
        for a, b in zip(one, other, strict=True):
            assert a.read_bytes() == b.read_bytes()


def test_unused_panels_are_not_shown(tmp_path: Path):
    files = average_rewards({"one": {"Ind": np.linspace(0, 1, 50)}}, tmp_path / "one", columns=2)
    drawn(files)
    assert "no results" not in texts(files[1])
