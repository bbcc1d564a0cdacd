"""The command line, as a user would call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longrank import cli
from longrank.errors import InvalidInput, LongrankError

ROOT = Path(__file__).parent.parent


def call(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_demo_prints_tables_an_explanation_and_where_the_pictures_are(
    tmp_path: Path,
) -> None:
    output = call("demo", "--rounds", "40", "--out", str(tmp_path))
    for text in ("payments (simulated)", "digits (real)", "GL-CDCM", "knows the truth", "this try"):
        assert text in output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "average-reward.png",
        "average-reward.svg",
    ]


def test_every_command_has_a_help_and_stands_in_the_readme_or_the_docs() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    written = "".join(path.read_text() for path in texts)
    groups = [("", cli.app)] + [(f"{g.name} ", g.typer_instance) for g in cli.app.registered_groups]
    for prefix, group in groups:
        assert group is not None
        for command in group.registered_commands:
            assert command.callback is not None
            assert command.callback.__doc__
            name = f"longrank {prefix}{command.name or command.callback.__name__}"
            assert name in written, f"{name} is not documented"


def test_what_longrank_refuses_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise InvalidInput("budget", "be at least 0", -1)

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().out == "longrank: budget must be at least 0, got -1\n"


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; import longrank.cli"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "pip install 'longrank[experiments]'" in result.stderr


def test_run_takes_lists_resumes_and_holds_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    command = ["run", "digits-3,digits-4", "logistic", "--scenario", "vanilla,linear-0.1"]
    command += ["--budgets", "1,5", "--policies", "rand,c-ucb1", "--held-out", "1", "--jobs", "1"]
    command += ["--out", str(tmp_path / "out")]
    output = call(*command)
    assert "24 cells run, 0 failed" in output
    assert len(list((tmp_path / "out").iterdir())) == 48
    assert "24 cells, 24 of them finished before" in call(*command)


def test_run_ends_with_exit_code_1_where_a_cell_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("longrank.experiments.runner.run_cell", fail)
    arguments = ["run", "logistic", "--policies", "rand", "--budgets", "1", "--jobs", "1"]
    result = CliRunner().invoke(cli.app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "logistic_vanilla_b1_rand_quick_s0 failed" in result.output
    assert "0 cells run, 2 failed" in result.output


@pytest.mark.mnist
def test_data_lists_adds_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_mnist: Path
) -> None:
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    assert "longrank data get mnist" in " ".join(call("data", "list").split())
    assert "MNIST is in" in call("data", "add", "mnist", str(real_mnist))
    listed = next(line for line in call("data", "list").splitlines() if " mnist " in line)
    assert "yes" in listed
    (tmp_path / "ratings.csv").write_text("who,what\n1,2\n")
    with pytest.raises(LongrankError, match="does not look like MovieLens-25M"):
        call("data", "add", "movielens-25m", str(tmp_path / "ratings.csv"))


def test_terms_are_shown_before_a_download_and_can_be_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path))
    result = CliRunner().invoke(cli.app, ["data", "get", "movielens-1m"], input="n\n")
    assert result.exit_code == 1
    assert "Do you accept these terms?" in result.output
    assert not list(tmp_path.iterdir())
