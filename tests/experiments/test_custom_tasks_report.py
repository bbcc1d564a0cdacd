"""The report on tasks that the paper does not have: who earned most, and how sure that is."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from made_up import row, save
from typer.testing import CliRunner

from longrank import __version__, cli
from longrank.experiments.report import report
from longrank.experiments.results import origin, read_results, write_cell
from longrank.experiments.runner import run_cell
from longrank.experiments.settings import Cell


def own(policy: str = "ind", reward: float = 90.0, **more):
    """A row of a task that the paper does not have."""
    rng = np.random.default_rng(int(reward * 10))
    curve = rng.random(100)
    curve = (curve * reward / curve.sum()).tolist()
    return row(policy, reward, **{"task": "shop", "curve": curve, **more})


def written(tmp_path: Path, rows) -> str:
    """The report of these rows as Markdown; the files are in the folder report."""
    report([save(tmp_path / "results", rows)], tmp_path / "report")
    return (tmp_path / "report" / "report.md").read_text("utf-8")


def latex(tmp_path: Path) -> str:
    return (tmp_path / "report" / "tables" / "shop.tex").read_text("utf-8")


def table(text: str, title: str) -> list[str]:
    """The lines of the first table after a heading."""
    after = text.split(f"### {title}\n", 1)[1]
    return re.findall(r"^\|.*\|$", after.split("\n### ")[0].split("\n## ")[0], re.MULTILINE)


def two_shuffles(**rewards: tuple[float, float]):
    """Rows of a search on shuffles 0 and 1, and of the best settings on 2 and 3."""
    rows = []
    for policy, (searched, later) in rewards.items():
        for s in (0, 1):
            rows.append(own(policy, searched + s, seed=s, settings={"rate": s}))
            held_out = own(policy, later + 2 * s, seed=2 + s, protocol="held-out")
            rows.append(held_out | {"settings": '{"rate": 7}'})
    return rows


def test_rand_is_what_was_measured_also_where_it_is_the_best(tmp_path):
    text = written(tmp_path, [own("rand", 55.0), own("ind", 50.0), own("recommended", 45.0)])
    line = table(text, "Best of the grid, on the same stream")[-1]
    assert line == f"| 1 | **{45 / 90:.2f}** | {40 / 90:.2f} | {35 / 90:.2f} |"
    assert "Rand earned most" in text
    with (tmp_path / "report" / "tables" / "shop.csv").open(encoding="utf-8") as file:
        values = {line["policy"]: float(line["ncr"]) for line in csv.DictReader(file)}
    assert values["rand"] == pytest.approx(0.5)
    assert r"1 & \textbf{0.50} & 0.44" in latex(tmp_path)
    assert "“On Learning to Rank Long Sequences with Contextual Bandits” (Santara" in text
    assert " cells" not in text
    assert "the paper" not in text.lower()


def test_held_out_results_come_first_with_deviations_and_settings_in_page_latex_and_csv(tmp_path):
    text = written(tmp_path, two_shuffles(ind=(80.0, 60.0), recommended=(70.0, 65.0)))
    assert text.index("### Held out") < text.index("### Best of the grid")
    ind, recommended = (60 + 1 - 10) / 90, (65 + 1 - 10) / 90
    spread = np.std([0.0, 2 / 90], ddof=1)
    line = f"| 1 | {ind:.2f} (± {spread:.2f}) | **{recommended:.2f}** (± {spread:.2f}) |"
    assert table(text, "Held out")[-1] == line
    pieces = latex(tmp_path).split(r"\begin{table}")
    assert "played no part in choosing" in pieces[1]
    assert rf"\textbf{{{recommended:.2f}}} {{\scriptsize $\pm$ {spread:.2f}}}" in pieces[1]
    assert "100 rounds, 2 shuffles" in pieces[1]
    assert "of the best setting of the grid" in pieces[2]
    assert latex(tmp_path).count("{") == latex(tmp_path).count("}")
    held_out, each = text.split("### Settings and rewards")[1].split("The best settings of each")
    assert "| vanilla | 1 | Ind | rate 7 | 2 |" in held_out
    assert "61.0" in held_out  # the CR of these runs
    assert "| vanilla | 1 | Ind | rate 0 / rate 1 | 2 |" in each
    with (tmp_path / "report" / "tables" / "shop.csv").open(encoding="utf-8") as file:
        assert next(csv.DictReader(file))["held_out_settings"] == '{"rate": 7}'


def test_curves_of_every_budget_end_at_the_reward_of_the_table(tmp_path, shown):
    rows = [
        own("ind", 50.0 + budget + 10 * seed, scenario=scenario, budget=budget, seed=seed)
        for scenario in ("linear-0.1", "vanilla")
        for budget in (1, 3, 10)
        for seed in (0, 1)
    ]
    text = written(tmp_path, rows)
    titles = [f"{s}, b = {b}" for s in ("vanilla", "linear-0.1") for b in (1, 3, 10)]
    assert list(shown) == titles  # the order of the tables
    ends = [curve.sum() for curve in shown["vanilla, b = 3"]["Ind"]]
    assert ends == pytest.approx([53.0, 63.0])
    assert "the mean of 2 shuffles, in a band" in text
    files = [tmp_path / "report" / name for name in re.findall(r"\((figures/rewards.*?)\)", text)]
    assert len(files) == 6
    assert all(file.exists() for file in files)


def test_with_many_cases_every_scenario_has_a_curve(tmp_path):
    rows = [
        own(scenario=scenario, budget=budget)
        for scenario in ("vanilla", "exponential")
        for budget in range(1, 10)
    ]
    text = written(tmp_path, rows)
    assert text.count("(figures/rewards") == 12
    assert "Not drawn: vanilla, b = 7;" in text
    assert "exponential, b = 9." in text


def test_it_says_who_earned_most_in_how_many_cases_and_whether_that_is_clear(tmp_path):
    rows = [
        own(policy, reward + seed, budget=budget, seed=seed, protocol=protocol)
        for budget in (1, 5)
        for policy, reward in (("ind", 80.0), ("recommended", 60.0), ("rand", 10.0))
        for seed, protocol in ((0, "grid"), (1, "held-out"), (2, "held-out"), (3, "held-out"))
    ]
    text = written(tmp_path, rows)
    [sentence] = [line for line in text.splitlines() if "earned most" in line]
    assert "Ind earned most: mean NCR 0.80 over 2 combinations of scenario and budget" in sentence
    assert "the highest in 2 of them; 0.222 more than recommended" in sentence
    assert re.search(r"\(95% interval 0\.\d+ to 0\.\d+, 3 shuffles\): probably more", sentence)
    assert "random orders" not in sentence
    line = table(text, "Differences from recommended")[-1]
    assert re.fullmatch(
        r"\| 5 \| \*\*−0.56\*\* \(−0.\d\d to −0.\d\d\) \| \*\*\+0.22\*\* \(0.\d\d to 0.\d\d\) \|",
        line,
    )


def test_a_lead_that_may_be_chance_is_called_so(tmp_path):
    noisy = [("ind", 1, 60.0), ("ind", 2, 12.0), ("dep", 1, 11.0), ("dep", 2, 55.0)]
    rows = [own(p, r, seed=s, protocol="held-out") for p, s, r in noisy]
    text = written(tmp_path, [own("ind", 50.0), own("dep", 50.0), *rows])
    [sentence] = [line for line in text.splitlines() if "earned most" in line]
    assert "this may be chance" in sentence
    assert "None is clearly better than random orders." in sentence
    assert "Differences from Ind" in text  # the best, without recommended


def test_one_shuffle_has_no_deviation_nothing_held_out_and_equal_lengths_are_a_sentence(tmp_path):
    rows = [own("ind", 60.0), own("recommended", 70.0)]
    text = written(tmp_path, rows).split("## How to read this")[0]
    assert "All policies used 0.50 of the budget everywhere" in text
    assert not (tmp_path / "report" / "figures" / "lengths-vanilla.svg").exists()
    assert "One shuffle cannot tell a lead from luck" in text
    assert "There is one shuffle only" in text
    for words in ("deviation", "(±", "### Held out", "held-out runs", "band", "95% interval"):
        assert words not in text, words
    assert "deviation" not in latex(tmp_path)
    text = written(tmp_path / "more", [*rows, own("ind", 50.0, seed=1, protocol="held-out")])
    assert "### Held out\n\nNCR on 1 shuffle that" in text
    assert "deviation" not in text.split("## How to read this")[0]
    assert "(±" not in text


def test_the_task_is_described_and_few_rounds_are_a_warning(tmp_path):
    rows = [own("ind", 60.0), own("dep", 50.0)]
    for one in rows:
        one |= {"items": 10_000, "dimensions": 8, "success_rate": 0.0525}
    text = written(tmp_path, rows)
    assert "10,000 items of 8 dimensions, of which 5.25% succeed, in 100 rounds of 100." in text
    assert "Only 100 rounds: policies have hardly begun to learn" in text
    assert "± 0.10" in text
    assert "Left out: with fewer than 200 rounds" in text.split("## Running time")[1]
    for one in rows:
        one["rounds"] = 200
    text = written(tmp_path / "more", rows)
    assert "hardly begun" not in text
    assert "As numbers, in microseconds per round" in text


def test_rows_describe_the_task_and_files_what_wrote_them(tmp_path):
    cell = Cell("logistic", "vanilla", 1, "rand", "quick", 0)
    rows = run_cell(cell)
    assert (rows[0]["items"], rows[0]["dimensions"]) == (50_000, 10)
    assert 0.05 < rows[0]["success_rate"] < 0.3
    write_cell(tmp_path, cell, rows)
    assert read_results([tmp_path]) == rows
    versions, [date] = origin([tmp_path])
    assert versions == [__version__]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    report([tmp_path], tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert f"by longrank {__version__}, {date}" in text


def test_where_there_is_nothing_to_gain_report_and_terminal_say_so(tmp_path, monkeypatch):
    rows = [own(policy, 10.0, cr_max=10.0) for policy in ("ind", "rand")]
    rows.append(own("ind", 60.0, budget=5))
    text = written(tmp_path, rows)
    assert "| 1 | – (nothing to gain) | – (nothing to gain) |" in text
    assert "random orders already earn all that a clairvoyant could, so there is" in text
    monkeypatch.setattr(cli.run, "run_shown", lambda *_: [])
    results = tmp_path / "run"
    results.mkdir()
    cell = Cell("logistic", "vanilla", 1, "rand", "quick", 0)
    write_cell(results, cell, [own("rand", 10.0, cr_max=10.0, task="logistic")])
    arguments = ["run", "logistic", "--budgets", "1", "--policies", "rand", "--scenario", "vanilla"]
    output = CliRunner().invoke(cli.app, [*arguments, "--out", str(results)])
    assert "nan" not in output.output
    assert "–: random orders already earn all" in output.output


def test_a_scenario_has_a_table_and_a_wide_one_is_stacked_on_narrow_screens(tmp_path):
    policies = ("rand", "eps", "c-ucb1", "gl-cdcm", "ind", "dep", "recommended")
    rows = [own(p, 50.0, scenario=s) for p in policies for s in ("vanilla", "linear-0.1")]
    rows += [own("ind", 50.0, task="small"), own("dep", 40.0, task="small")]
    written(tmp_path, rows)
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    shown = page.split("<h2")[1:3]
    big, small = (part.split("<h3>Settings")[0] for part in shown)
    assert big.count('<table class="stacked">') == big.count("<table") == 2
    assert ">linear-0.1, b = 1</th>" in big  # no title is lost with the head of the table
    assert small.count("<table>") == small.count("<table") == 1
    assert '<th class="group" colspan="2">vanilla</th>' in small
