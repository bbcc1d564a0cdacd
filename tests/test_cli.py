"""The command line, as a user would call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longrank import cli
from longrank.errors import InvalidInput

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
    for command in cli.app.registered_commands:
        assert command.callback is not None
        assert command.callback.__doc__
        name = command.name or command.callback.__name__
        assert f"longrank {name}" in written, f"longrank {name} is not documented"


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
