"""The report of made-up results and of a real run: the page, the Markdown, the files."""

import csv
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up import as_published, row, save
from small_world import call

from longrank import cli
from longrank.document.blocks import Field, Grid, Prose
from longrank.errors import BadFile, InvalidInput
from longrank.experiments.claims import agreements
from longrank.experiments.report import report, summary
from longrank.experiments.results import read_results
from longrank.experiments.runner import run
from longrank.experiments.scores import score_cells
from longrank.experiments.settings import cells
from longrank.experiments.tables import PAPER_TASKS, tables, to_latex
from markup import Markup

STRANGE = "<script>alert('1')</script> & | *x* _y_ 100% {z}"


class Page(Markup):
    """A page, and what is written on it."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        super().__init__(text)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "svg"):
            self.words.append(data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The report of results that are the paper's numbers, and of a task with a strange name."""
    folder = tmp_path_factory.mktemp("whole")
    rows = [one for one in as_published() if one["task"] != "yelp"]
    rows += [row("eps", 100.0, scenario="exponential"), row(task=STRANGE, budget=3)]
    rows += [row("ind", 90.0 + s, seed=s, protocol="held-out") for s in (1, 2)]
    report([save(folder / "results", rows)], folder / "report")
    return folder / "report"


@pytest.fixture(scope="module")
def page(whole):
    return Page((whole / "report.html").read_text("utf-8"))


def test_the_page_is_well_formed_and_needs_nothing_else(page: Page, whole: Path):
    names = page.values("id")
    assert len(names) == len(set(names))
    assert len(names) > 100  # those in the figures too
    assert {link[1:] for link in page.values("href", "xlink:href")} <= set(names)
    assert all(link.startswith("#") for link in page.values("href", "xlink:href", "src", "srcset"))
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"} == set()
    text = (whole / "report.html").read_text("utf-8")
    assert "@import" not in text
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert ("meta", viewport) in page.tags  # for telephones


def test_the_page_has_every_table_and_figure_with_commands_and_says_how_to_get_the_rest(page):
    words = " ".join(page.words)
    for index, title in enumerate(PAPER_TASKS.values(), start=1):
        assert (f"Table {index}: {title}" in words) == (title != "Yelp")
    assert "Table 2, Yelp. To get the data," in words
    assert "PaperTable" not in words
    assert sum(tag == "svg" for tag, _ in page.tags) == 3  # nothing for Figure 3
    for label in ("Figure 2", "Running time", "Mean sequence length"):
        assert any(value.startswith(label) for value in page.values("aria-label"))
    for text in (
        "Left out of Figure 3, as there are no results: vanilla, b = 1",
        "± 0.01",
        "mean over 2 other shuffles",
        "longrank run mnist-0 --scenario vanilla --budgets 1 --policies ind",
        "exponential (ours only)",
        "longrank data add yelp PATH",
        "longrank run yelp --grid paper --held-out 4",
    ):
        assert text in words
    assert "longrank data get msd" not in words


def test_a_table_has_ours_the_papers_and_the_difference_with_the_best_in_bold(whole):
    text = (whole / "report.html").read_text("utf-8")
    start = text.index('id="table-01-msd"')
    table = text[start : text.index("</table>", start)]
    first = re.search(r"<tr><th>1</th>.*?</tr>", table)
    assert first is not None
    assert "<td>0.32<small>0.32, +0.00</small></td>" in first[0]
    assert "<td><b>0.51</b><small>0.51, +0.00</small></td>" in first[0]


def test_a_partial_run_shows_what_there_is_and_nothing_else(tmp_path):
    fees = "fees-0.02-0.2"
    rows = [row("ind", 60.0), row("ind", 61.0, seed=1, protocol="held-out")]
    priced = row("recommended", 70.0, scenario=fees, curve=[0.7] * 100)
    priced["mean_spent"] = 0.123
    folders = [save(tmp_path / "results", rows), save(tmp_path / "fees", [priced])]
    report(folders, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "### Table 4: MNIST, pivot class 0" in text
    assert text.count("### Table") == 1
    table = text.partition("### Table 4")[2].partition("Held out")[0]
    assert "Ind" in table
    assert f"{fees} (ours only)" in table
    for name in ("Eps", "GL-CDCM", "Dep"):  # columns in which nothing was run
        assert name not in table
    assert not re.search(r"^\| (5|10|50|100) \|", table, re.MULTILINE)
    assert "44 fields of the paper's table not run." in text
    assert "mean over 1 other shuffle:" in text
    assert "2 cells, 2 runs to search the settings (grid: quick) and 1 held-out run." in text
    assert "the 1 cell more than" in text
    assert re.search(r"^\d+ of the \d+ statements are about cells that were", text, re.MULTILINE)
    assert "no results |" not in text
    assert "0.123" in text.partition("fees per round")[2]
    assert "## Fees" in text
    assert "Table 1, Million Songs (MSD)" in text.partition("## Not run")[2]
    assert "longrank run mnist-1 mnist-2" in text
    latex = (tmp_path / "report" / "tables" / "table-04-mnist-0.tex").read_text()
    held_out, best = latex.split(r"\begin{table}")[1:]
    for part in (held_out, best):
        assert len(re.findall(r"^1 & .*\\\\$", part, re.MULTILINE)) == 1
        assert part.count(" & ") == 2 * 2 + 2
    assert "(0.97)" in best
    assert "(0.97)" not in held_out


def own(policy: str = "ind", reward: float = 90.0, **more):
    """A row of a task that the paper does not have."""
    return row(policy, reward, task="shop", curve=[reward / 100.0] * 100, **more)


def test_a_report_on_other_tasks_is_about_their_results_and_not_about_the_paper(tmp_path):
    rows = [own(), own("dep", 80.0), own("ind", 70.0, seed=1), own("dep", 76.0, seed=1)]
    rows += [own("ind", 64.0 + s, seed=s, protocol="held-out") for s in (2, 3)]
    results = save(tmp_path / "my-results", rows)
    report([results], tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert text.startswith("# Ranking experiments: results")
    assert text.index("## shop") < text.index("### Learning curves") < text.index("## Running time")
    for words in ("paper's number", "Figure 2", "Not run", "13 tables", "statements"):
        assert words not in text
    mean, other = (80 / 90 + 60 / 90) / 2, (70 / 90 + 66 / 90) / 2  # the plain NCR, without + 1
    assert f"| 1 | **{mean:.2f}** (± 0.16) | {other:.2f} (± 0.03) |" in text
    assert f"| 1 | **{(56.5 / 90):.2f}** (± 0.01) | – |" in text
    assert f"--seeds 2 --held-out 2 --out {results}" in text
    with (tmp_path / "report" / "tables" / "shop.csv").open(encoding="utf-8") as file:
        [line, _] = csv.DictReader(file)
    assert float(line["held_out_mean"]) == pytest.approx(56.5 / 90)
    assert "paper's" not in (tmp_path / "report" / "tables" / "shop.tex").read_text("utf-8")


def test_commands_name_the_folder_unless_it_is_the_default_or_one_of_several(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [save(Path("results"), [own()]), save(Path("more"), [own("dep")])]
    for given, expected in ((folders[:1], 0), (folders[1:], 1), (folders, 0)):
        report(given, Path("report"))
        assert Path("report/report.md").read_text("utf-8").count("--out more") == expected


def test_strange_names_stay_text_and_lead_nowhere(page: Page, whole: Path):
    assert STRANGE in " ".join(page.words)
    text = (whole / "report.md").read_text("utf-8")
    assert r"\<script\>" in text
    assert "# <script>" not in text
    *_, up, root, strange = tables(score_cells([row(task=n) for n in ("../x", "/etc/y", STRANGE)]))
    assert [up.name, root.name] == ["..-x", "-etc-y"]
    latex = to_latex(strange)
    assert r"100\% \{z\}" in latex
    assert r"\& |" in latex


def test_the_markdown_has_the_same_tables_and_its_figures_beside_it(whole):
    text = (whole / "report.md").read_text("utf-8")
    for index, title in enumerate(PAPER_TASKS.values(), start=1):
        assert (f"### Table {index}: {title}" in text) == (title != "Yelp")
    figures = re.findall(r"!\[.*\]\((.*)\)", text)
    names = ("figure-2", "seconds", "lengths")
    assert figures == [f"figures/{name}.svg" for name in names]
    assert all((whole / figure).stat().st_size > 1000 for figure in figures)
    assert "| **0.51** (0.51, +0.00) |" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


def test_csv_and_latex_have_every_number(whole):
    with (whole / "tables" / "table-04-mnist-0.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 46
    [line] = [
        x for x in lines if (x["scenario"], x["budget"], x["policy"]) == ("vanilla", "1", "ind")
    ]
    assert float(line["ncr_published"]) == pytest.approx(0.97)
    assert (line["paper"], float(line["difference"]), line["best"]) == ("0.97", 0.0, "0")
    assert (line["held_out_seeds"], float(line["held_out_mean"])) == ("2", pytest.approx(81.5 / 91))
    assert not (whole / "tables" / "table-02-yelp.csv").exists()
    text = (whole / "tables" / "table-04-mnist-0.tex").read_text("utf-8")
    assert text.count("{") == text.count("}")
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\multicolumn{6}{c}{Vanilla}"):
        assert rule in text
    rows = re.findall(r"^\d+ & .*\\\\$", text, flags=re.MULTILINE)
    assert len(rows) == 2 * 5  # held out, and the best of the grid
    assert {line.count("&") for line in rows} == {10}
    assert r"\textbf{1.00} {\scriptsize (1.00)}" in rows[5]


def test_the_same_results_give_the_same_files(whole, tmp_path):
    again = report([whole.parent / "results"], tmp_path)
    assert len(again) == 2 + 2 * 3 + 2 * 13
    for file in again:
        assert file.read_bytes() == (whole / file.relative_to(tmp_path)).read_bytes(), file


def test_a_folder_without_results_and_a_file_of_something_else_are_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="be a folder with"):
        report([tmp_path], tmp_path / "report")
    assert not (tmp_path / "report").exists()
    pq.write_table(pa.table({"id": [1], "order": [[0]]}), tmp_path / "log.parquet")
    with pytest.raises(BadFile, match=r"log\.parquet is not a results file of longrank: it lacks"):
        read_results([tmp_path])


def test_a_real_run_is_reported(tmp_path):
    results, out = tmp_path / "results", tmp_path / "report"
    wanted = list(cells(["digits-3"], ["vanilla"], [1, 5], ["rand", "ind", "dep"], "quick", 1))
    assert run(wanted, results, folder=str(tmp_path / "data")) == []
    assert "report.html" in "".join(call("report", results, "--out", out).split())
    page = Page((out / "report.html").read_text("utf-8"))
    words = " ".join(page.words)
    assert "digits-3" in words
    command = "longrank run digits-3 --scenario vanilla --budgets 1,5 --policies rand,ind,dep"
    assert command in words
    with (out / "tables" / "digits-3.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6


def test_reproduce_without_data_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path))
    words = " ".join(call("reproduce", "--out", tmp_path / "results", code=1).split())
    for name in ("msd", "movielens-25m", "mnist"):
        assert f"longrank data get {name}" in words
    assert "longrank data add yelp PATH" in words
    assert not (tmp_path / "results").exists()


def test_reproduce_runs_and_reports_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("longrank.experiments.tables.PAPER_TASKS", {"digits-3": "", "yelp": ""})
    monkeypatch.setattr("longrank.experiments.settings.BUDGETS", (5,))
    monkeypatch.setattr("longrank.experiments.tables.MNIST", ("digits-3",))
    monkeypatch.setattr("longrank.experiments.tables.SIX", ("rand", "c-ucb1"))
    places = ["--out", tmp_path / "results", "--report", tmp_path / "report"]
    output = call("reproduce", "--held-out", 1, "--jobs", 1, *places)
    assert "longrank data add yelp PATH" in " ".join(output.split())
    files = [path.name for path in (tmp_path / "results").iterdir()]
    assert len(files) == 2 * (2 * 2 + 2)  # and the held-out ones
    assert "digits-3_vanilla_b1_ind-gmm_quick_s0.parquet" in files
    assert "held out" in (tmp_path / "report" / "report.md").read_text("utf-8").lower()


def test_reproduce_ends_with_an_error_when_a_cell_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("longrank.experiments.tables.PAPER_TASKS", {"digits-3": ""})
    monkeypatch.setattr(cli.reproduce, "run_shown", lambda *_: ["failed"])
    monkeypatch.setattr(cli.reproduce, "write", lambda *_: None)
    call("reproduce", "--out", tmp_path, code=1)


def test_every_number_that_is_not_reached_is_listed_with_its_reason():
    found = score_cells([row("ind", 60.45), row("dep", 100.0), row("ind", 70.0, budget=5)])
    [_, said, counts, short] = summary([], agreements(found)[:1])
    assert isinstance(said, Prose)
    assert "both directions" in said.text
    assert isinstance(counts, Grid)
    shown = [[field.text for field in line] for line in counts.fields()]
    assert shown == [["Ind", "1", "2", "0", "0", "2"], ["Dep", "1", "1", "1", "0", "0"]]
    assert isinstance(short, Grid)
    assert short.folded == "Ind, Dep: the 2 cells more than 0.02 below the paper's number"
    cell, *numbers = short.fields()[0]
    assert cell == Field("mnist-0, vanilla, b = 1, Ind", "CR is 36.0 of 100 too low")
    assert [field.text for field in numbers] == ["0.554", "0.97", "−0.416", "–"]
