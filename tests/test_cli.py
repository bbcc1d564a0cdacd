"""The command line, as a user would call it."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, get_args

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.main import get_command
from typer.testing import CliRunner

import commands
from longrank import __version__, cli, kernels
from longrank.cli import doctor, terminal
from longrank.cli.run import Backend, Grid
from longrank.cli.terminal import EXTRAS, needs
from longrank.errors import InvalidInput, LongrankError, MissingExtra
from longrank.experiments.settings import GRIDS
from longrank.jobs import BACKENDS

ROOT = Path(__file__).parent.parent


def call(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_demo_prints_tables_an_explanation_and_where_the_pictures_are(tmp_path):
    output = call("demo", "--rounds", "20", "--out", str(tmp_path))
    desk = "payment desk (simulated): 80 payments, an outage for a sixth"
    for text in (desk, "digits (real)", "GL-CDCM", "knows the truth"):
        assert text in output
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["average-reward.png", "average-reward.svg"]


def test_an_error_that_names_no_file_is_not_hidden(monkeypatch):
    def fail() -> None:
        raise OSError("unforeseen")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(OSError, match="unforeseen"):
        cli.main()


def test_the_doctor_says_whether_kernels_are_compiled(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert doctor.kernels() == "plain Python, slower: NUMBA_DISABLE_JIT is set"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    with kernels.compilation.using("auto"):
        assert " compiled for this machine by numba " in doctor.kernels()
    with kernels.compilation.using("plain"):
        assert doctor.kernels() == "plain Python, slower: LONGRANK_KERNELS is plain"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert doctor.kernels().startswith("plain Python, slower: numba is not installed")


def test_it_runs_as_a_module_that_names_its_version():
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "longrank", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    assert run("--version").stdout == f"longrank {__version__}\n"
    wrong = run("logs", "chek")
    assert wrong.returncode == 2
    assert "Try 'python -m longrank logs --help'." in wrong.stderr


def test_a_command_is_refused_before_it_works_where_a_package_of_its_extra_is_missing(monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    homes = metadata.packages_distributions()
    for extra, modules in EXTRAS.items():
        declared = [Requirement(text) for text in project["optional-dependencies"][extra]]
        everywhere = {canonicalize_name(one.name) for one in declared if not one.marker}
        assert {canonicalize_name(homes[module][0]) for module in modules} == everywhere

        @needs(extra)
        def work() -> str:
            return "done"

        assert work() == "done"
        refusal = rf"^`longrank work` needs .*\[{extra}\]"
        for missing in modules:
            with monkeypatch.context() as patch:
                patch.setattr(terminal, "find_spec", lambda name, no=missing: name != no or None)
                with pytest.raises(MissingExtra, match=refusal):
                    work()


def test_several_processes_are_refused_before_the_log_is_read_where_joblib_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for more in (["--jobs", "2"], ["--backend", "dask"]):
        result = CliRunner().invoke(cli.app, ["evaluate", "none.csv", *more])
        assert isinstance(result.exception, MissingExtra)


def test_choices_are_those_that_experiments_know():
    assert set(get_args(Grid)) == set(GRIDS)
    assert set(get_args(Backend)) == set(BACKENDS)


def test_a_bad_value_is_refused_in_one_sentence_before_anything_runs(tmp_path):
    out = ["--out", str(tmp_path / "out")]
    for parameter, arguments in [
        *(
            ("budgets", ["run", "logistic", "--budgets", budgets, *out])
            for budgets in ["0", "5,0", "-1", "1.5", "nan", "", ",", "10000000000000"]
        ),
        ("tasks", ["run", ","]),
        ("scenario", ["run", "logistic", "--scenario", ","]),
        ("scenario", ["run", "logistic", "--scenario", "linear-x"]),
        ("policies", ["run", "logistic", "--policies", ""]),
        ("policy", ["run", "logistic", "--policies", "best"]),
        ("only", ["bench", "--only", "nothing"]),
        ("extra_cost", ["evaluate", "log.csv", "--policy", "ind", "--extra-cost", "inf"]),
        ("extra_cost", ["evaluate", "log.csv", "--policy", "ind", "--extra-cost", "nan"]),
    ]:
        with pytest.raises(InvalidInput, match=rf"^{parameter} must [^\n]*$"):
            call(*arguments)
    for arguments, hint in [
        (["logistik"], "got 'logistik'; did you mean logistic?"),
        (["logistic", "--policies", "Recomended"], "got 'Recomended'; did you mean recommended?"),
    ]:
        with pytest.raises(InvalidInput, match=re.escape(hint)):
            call("run", *arguments)
    assert not (tmp_path / "out").exists()


def test_a_number_out_of_range_is_refused():
    for option in commands.options():
        numeric = {int, float} & {option.kind, *get_args(option.kind)}
        if not numeric or option.flag == "--extra-cost":
            continue
        low, high = option.info.min, option.info.max
        beyond = ([] if low is None else [low - 1]) + ([] if high is None else [high + 1])
        assert beyond, "it has no limits"
        for value in [*beyond, "nan", "x"]:
            result = CliRunner().invoke(cli.app, [*option.command.split(), option.flag, str(value)])
            assert result.exit_code == 2
            assert option.flag in result.output


def test_run_takes_lists_resumes_and_holds_out(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    command = ["run", "digits-3,digits-4", "digits-5", "--scenario", "vanilla,linear-0.1"]
    command += ["--budgets", "1,5", "--policies", "rand,c-ucb1", "--held-out", "1", "--jobs", "1"]
    command += ["--out", str(tmp_path / "out")]
    output = call(*command)
    assert "searching settings: 24 cells run, 0 failed" in output
    assert "best settings, held out: 24 cells run, 0 failed" in output
    lines = [line.split() for line in output.splitlines()]
    assert ["task", "scenario", "policy", "b", "=", "1", "b", "=", "5"] in lines
    [line] = [line for line in lines if line[:3] == ["digits-5", "linear-0.1", "c-ucb1"]]
    assert all(0.0 < float(number) <= 1.0 for number in line[3:])
    assert "longrank report" in output
    assert len(list((tmp_path / "out").iterdir())) == 48
    assert "24 cells, 24 of them already finished" in call(*command)


def test_run_ends_with_exit_code_1_where_a_cell_fails(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("longrank.experiments.runner.run_cell", fail)
    arguments = ["run", "logistic", "--policies", "rand", "--budgets", "1", "--jobs", "1"]
    result = CliRunner().invoke(cli.app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "logistic_vanilla_b1_rand_quick_s0 failed" in result.output
    assert "0 cells run, 2 failed" in result.output


@pytest.mark.mnist
def test_data_lists_adds_and_refuses(tmp_path, monkeypatch, real_mnist):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    assert "longrank data get mnist" in " ".join(call("data", "list").split())
    assert "MNIST is in" in call("data", "add", "mnist", str(real_mnist))
    listed = next(line for line in call("data", "list").splitlines() if " mnist " in line)
    assert "yes" in listed
    (tmp_path / "ratings.csv").write_text("who,what\n1,2\n")
    with pytest.raises(LongrankError, match="does not look like MovieLens-25M"):
        call("data", "add", "movielens-25m", str(tmp_path / "ratings.csv"))


def test_terms_are_shown_before_a_download_and_can_be_declined(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path))
    for answer in ("n\n", ""):  # without a terminal nobody answers
        result = CliRunner().invoke(cli.app, ["data", "get", "movielens-1m"], input=answer)
        assert result.exit_code == 1
        assert "Do you accept these terms?" in result.stdout
        assert "nothing was downloaded (--yes accepts them)" in result.stderr
    assert not list(tmp_path.iterdir())


def pages(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group that has a help, as the words that call it."""
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from pages(command, (*words, name))


def test_every_help_fits_explains_every_option_under_a_heading_and_ends_with_examples(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = {" ".join(words): call(*words, "--help") for words in pages(get_command(cli.app))}
    headings = ["Options", "Try it", "Your logs", "The service", "Experiments and the paper"]
    assert re.findall(r"^(\w.*):$", shown[""], re.MULTILINE) == headings
    for words, text in shown.items():
        page, _, examples = text.partition("\n  Example")
        assert text.startswith("Usage: ")
        assert max(map(len, page.splitlines())) <= 80
        assert not re.search(r"[╭│]", page)
        assert bool(examples) == (words in dict(commands.commands()))
        first = examples.partition(":\n")[2].strip()
        assert first.startswith(f"longrank {words}" if examples else "")
        assert re.search(r"^  -h, --help\s+Show this message", page, re.MULTILINE)
    for option in commands.options():
        if not option.info.hidden:
            explained = " ".join(shown[option.command].split()).replace("- ", "-")
            said = " ".join(str(option.info.help).split()).replace("- ", "-")
            assert said in explained, option.flag


def test_a_usage_error_is_a_sentence_and_says_where_the_help_is():
    for arguments, sentence in [
        (["serv"], "no such command 'serv'. Did you mean 'serve'?"),
        (["serve", "--prot", "1"], "no such option: --prot. Did you mean --port?"),
        (["serve", "--xyzzy"], "no such option: --xyzzy"),
        (["serve", "--port", "x"], "--port must be a valid integer, got 'x'"),
        (["serve", "--port=70000"], "--port must be at most 65535, got '70000'"),
        (["evaluate", "x", "--learn", "-1"], "--learn must be at least 0, got '-1'"),
        (["run", "x", "--grid", "y"], "invalid value for '--grid': 'y' is not one of 'quick', "),
        (["evaluate"], "missing argument 'PATH...'"),
        (["report", "none"], "invalid value for 'FOLDER...': path 'none' does not exist"),
    ]:
        result = CliRunner().invoke(cli.app, arguments, prog_name="longrank")
        first, usage, hint = result.stderr.splitlines()
        assert (result.exit_code, result.stdout) == (2, "")
        assert first.startswith(f"longrank: {sentence}")
        words = [word for word in arguments[:1] if word in get_command(cli.app).commands]
        assert usage.startswith(" ".join(["Usage: longrank", *words, "[OPTIONS]"]))
        assert hint == f"Try '{' '.join(['longrank', *words, '--help'])}'."


def test_without_a_command_the_help_goes_to_standard_error():
    for words in ([], ["logs"], ["data"]):
        result = CliRunner().invoke(cli.app, words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == call(*words, "--help")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        # an option that the help does not show still works
        (["evaluate", "no.csv", "--policy", "ind", "--no-gate"], 2, "there is no file no.csv\n"),
        (["evaluate", "log.csv"], 1, "log.csv: the log has no column `order` or `ids`; its"),
        (["bench", "--only", "x"], 2, "--only must be among round, "),
        (["run", "x"], 2, "task must be one of "),
        (["serve", "--store", "."], 2, "--store must be a file or a PostgreSQL URL, not a folder"),
        (["serve", "--store", "no/x.db"], 1, "cannot make no/x.db: there is no folder no\n"),
        (["backup", "--store", "log.csv", "new.db"], 2, "--store must be a SQLite file, got log"),
        (["evaluate", "log.csv", "--policy", "ind", "--report", "no/r.html"], 2,
         "--report must be in a folder that exists, got no/r.html\n"),
        (["evaluate", "log.csv", "--policy", "ind", "--json", "no/r.json"], 2,
         "--json must be in a folder that exists, got no/r.json\n"),
        (["demo", "--out", "log.csv/pictures"], 2, "cannot use log.csv/pictures: Not a directory"),
        (["evaluate", "log.csv", "--gate"], 2, "--policy must be one file with --gate, "),
        (["evaluate", "log.csv", "--payoffs", "budget=x"], 2,
         "budget must be a whole number, got 'x'\n"),
        (["logs", "example", "x.txt"], 2, "file must end in .parquet, .csv or .jsonl, got '.txt'"),
        (["backup", "new.db"], 2, "--store must be a file that exists, got decisions.db\n"),
        (["doctor", "--store", "."], 2, "--store must be a file or a PostgreSQL URL, not a folder"),
        (["play", "--record", "x.jpg"], 2, "--record must end in .png, got x.jpg\n"),
        (["reproduce"], 1, "none of the data is available yet, so nothing was run\n"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_at_once_as_the_user_wrote_it(
    arguments, code, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path))
    Path("log.csv").write_text("id\n1\n")
    monkeypatch.setattr(sys, "argv", ["longrank", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr().err
    assert (stop.value.code, said.count("\n")) == (code, 1)
    assert said.startswith(f"longrank: {sentence}")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_no_figure_is_cut_off_on_a_narrow_terminal(tmp_path, monkeypatch):
    row = {"items": [[0.5, 0.1], [0.2, 0.3]], "order": [0, 1], "tried": 1, "succeeded": True}
    row |= {"rewards": [1.0, 0.5], "losses": [0.0, -0.1, -0.2]}
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"id": n} | row) + "\n" for n in range(20)))
    monkeypatch.setattr(terminal.console, "_width", 50)
    output = call("evaluate", str(log), "--policy", "rand", "--every")
    assert "effective" in output
    assert "…" not in output.partition("Reward per decision")[2]


def test_a_terminal_that_lacks_a_sign_gets_the_rest(monkeypatch):
    written = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding="ascii", newline="\n"))
    monkeypatch.setattr(cli, "app", lambda: print("value – 0.5", flush=True))
    with pytest.raises(SystemExit):
        cli.main()
    assert written.getvalue() == b"value ? 0.5\n"
