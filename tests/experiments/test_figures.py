"""The figures: something is in them, also without colours."""

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from made_up import row

from longrank.experiments import figures
from longrank.experiments.figures import LOOKS, MARKERS, average_rewards, looks, over_budgets
from longrank.experiments.scores import score_cells
from longrank.experiments.tables import SIX, label

ROUNDS = 60


def drawn(files: list[Path]) -> str:
    """What is written in a picture that is not empty; letters are shapes with a comment."""
    png, svg = files
    assert matplotlib.image.imread(png).std() > 0.02
    text = svg.read_text("utf-8")
    assert text.count("<path") > 20
    return text


@pytest.fixture
def made(monkeypatch):
    """The figures of matplotlib that were written."""
    kept = []
    real = figures.save
    monkeypatch.setattr(figures, "save", lambda one, path: kept.append(one) or real(one, path))
    return kept


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
    return score_cells(rows)


def test_no_two_policies_of_a_figure_look_the_same_also_without_colours():
    assert set(LOOKS) == set(MARKERS) == {label(policy) for policy in SIX} | {"recommended"}
    assert len({str(look["linestyle"]) for look in LOOKS.values()}) == len(LOOKS)
    assert len(set(MARKERS.values())) == len(MARKERS)
    names = [*LOOKS, *(f"policy {i:02}" for i in range(20))]
    styles = looks(names)
    assert list(styles) == names
    assert len({(look["color"], look["linestyle"]) for look in styles.values()}) == len(names)
    assert len({look["color"] for look in list(styles.values())[:15]}) == 15


def test_figure_2_has_the_papers_panels_and_policies_and_names_the_missing(found, tmp_path, shown):
    files, [left_out] = figures.figure_2({}, tmp_path)
    assert files == []
    assert left_out.text.count("b = ") == 8
    assert not list(tmp_path.iterdir())
    files, [picture, left_out] = figures.figure_2(found, tmp_path)
    svg = drawn(files)
    assert svg.count('<g id="axes_') == 2
    assert "MNIST, class 0: vanilla" in svg
    assert "no results" not in svg
    for title in ("MSD: vanilla, b = 1", "Yelp: exponential, b = 10", "MovieLens-25M: vanilla"):
        assert title not in svg
        assert title in left_out.text
    assert "MNIST" not in left_out.text
    assert picture.file == files[1]
    assert "omits Rand" in picture.caption
    curves = shown["MNIST, class 0: vanilla, b = 1"]
    assert list(curves) == ["Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep"]
    rewards = found[("mnist-0", "vanilla", 1, "ind")].rewards
    assert curves["Ind"] == [pytest.approx(rewards)]
    assert list(shown["MNIST, class 0: exponential, b = 10"]) == ["Ind", "Dep"]


def test_the_recommended_policy_is_in_the_figures(tmp_path, shown):
    rows = [row(policy, 50.0, curve=[0.5] * 100) for policy in ("ind", "recommended", "thompson")]
    found = score_cells(rows)
    _, [picture, _] = figures.figure_2(found, tmp_path)
    assert list(shown["MNIST, class 0: vanilla, b = 1"]) == ["Ind", "recommended"]
    assert "“recommended” is not in the paper" in picture.caption
    assert list(figures.seconds(found)["vanilla"]) == ["Ind", "recommended", label("thompson")]
    assert list(figures.lengths(found)["vanilla"]) == ["Ind", "recommended", label("thompson")]


def test_scenarios_with_fees_have_a_figure_of_their_own_cut_where_there_are_many(tmp_path, shown):
    fees = "fees-0.02-0.2"
    rows = [
        row(policy, 50.0, task="digits-3", scenario=fees, budget=budget, curve=[0.5] * 100)
        for policy, budget in (("ind", 1), ("ind", 5), ("recommended", 5))
    ]
    found = score_cells([*rows, row()])
    files, [picture] = figures.figure_of_fees(found, tmp_path)
    drawn(files)
    assert {title: list(curves) for title, curves in shown.items()} == {
        f"digits-3: {fees}, b = 5": ["Ind", "recommended"]
    }
    assert "minus fees" in picture.caption
    assert fees in figures.seconds(found)  # beside the paper's tasks in other scenarios
    assert figures.figure_of_fees(score_cells([row()]), tmp_path) == ([], [])
    rows = [row(task=f"mnist-{i}", scenario="fees-0-1", curve=[0.5] * 100) for i in range(10)]
    _, [_, rest] = figures.figure_of_fees(score_cells(rows), tmp_path)
    assert rest.text == "Not drawn: mnist-8: fees-0-1, b = 1; mnist-9: fees-0-1, b = 1."


def test_figure_3_shows_both_measures_over_the_classes_and_names_what_is_missing(found, tmp_path):
    files, [_] = figures.figure_3(found, tmp_path)
    svg = drawn(files)
    assert svg.count('<g id="axes_') == 4
    for text in ("CR of Dep", "minus CR of Ind", "pivot class"):
        assert text in svg
    assert "<pattern" in svg  # hatched bars
    files, [left_out] = figures.figure_3({}, tmp_path)
    assert files == []
    assert "vanilla, b = 1; exponential, b = 10" in left_out.text
    some = {key: score for key, score in found.items() if key.scenario == "vanilla"}
    files, [_, left_out] = figures.figure_3(some, tmp_path)
    assert drawn(files).count('<g id="axes_') == 2
    assert left_out.text.endswith("no results: exponential, b = 10.")


def test_times_are_medians_and_lengths_parts_of_the_budget():
    rows = [row(task=f"mnist-{i}", seconds=s, budget=10) for i, s in enumerate((1e-3, 2e-3, 9e-3))]
    found = score_cells([*rows, row(task="digits-0", seconds=5.0, budget=10)])
    assert figures.seconds(found) == {"vanilla": {"Ind": {10: pytest.approx(20.0)}}}
    assert figures.lengths(found) == {"vanilla": {"Ind": {10: 0.5}}}
    only = score_cells([row(task="digits-0", seconds=1e-3)])
    assert figures.seconds(only) == {"vanilla": {"Ind": {1: pytest.approx(10.0)}}}


def test_measures_over_budgets_have_a_line_for_each_policy_from_zero_on(tmp_path, made):
    lines = {name: {1: 1.0 + i, 100: 10.0 + i} for i, name in enumerate(LOOKS)}
    files = over_budgets({"vanilla": lines, "exponential": {}}, tmp_path / "x", "time", log=True)
    svg = drawn(files)
    assert svg.count('<g id="axes_') == 2
    for name in LOOKS:
        assert name in svg
    over_budgets({"vanilla": {"Ind": {1: 0.99, 5: 1.0}}}, tmp_path / "y", "length")
    assert made[1].axes[0].get_ylim()[0] == 0.0


def test_a_curve_is_the_mean_of_the_shuffles_in_a_band(tmp_path, made):
    shuffles = [np.full(100, 0.2), np.full(100, 0.6)]
    curves = {"Ind": shuffles, "Dep": shuffles[:1]}
    files = average_rewards({"x": curves}, tmp_path / "x-0.1", columns=2)  # one is not used
    assert files[1].name == "x-0.1.svg"
    assert "no results" not in drawn(files)
    axis, _ = made[0].axes
    assert axis.lines[0].get_ydata() == pytest.approx(np.full(100, 0.4))
    [band] = axis.collections
    extent = band.get_datalim(axis.transData)
    assert (extent.y0, extent.y1) == pytest.approx((0.2, 0.6))


def test_a_legend_has_as_many_columns_as_fit(tmp_path, made):
    curves = {name: [np.linspace(0, 1, 50)] for name in LOOKS}
    average_rewards({"x": curves}, tmp_path / "x", columns=1)
    over_budgets({s: {label(p): {1: 1.0} for p in SIX} for s in "ab"}, tmp_path / "y", "time")
    for figure in made:
        [legend] = figure.legends
        box = legend.get_window_extent()
        assert 0.0 <= box.x0 < box.x1 <= figure.bbox.width
    assert made[1].legends[0]._ncols == len(SIX)


def test_the_same_numbers_give_the_same_files(found, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    for draw in (figures.figure_2, figures.figure_3, figures.figure_of_seconds):
        one, other = (draw(found, tmp_path / folder)[0] for folder in ("a", "b"))
        for a, b in zip(one, other, strict=True):
            assert a.read_bytes() == b.read_bytes()
