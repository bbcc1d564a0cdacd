"""``longrank logs example``, and the commands that it and docs/logs.md tell to run next."""

import re
import shlex
from pathlib import Path

from small_world import call
from typer.testing import CliRunner

from longrank import cli

PAGE = Path(__file__).parents[2] / "docs" / "logs.md"


def test_the_three_commands_of_the_page_end_with_a_report_and_advice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```sh\n(longrank logs example .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    lines = [line.partition("#")[0].strip() for line in block[1].splitlines()]
    told, checked, evaluated = (call(*shlex.split(line)[1:]) for line in lines)
    assert [line.strip() for line in told.splitlines()[1:]] == lines[1:]
    assert "doubly robust       │ yes" in checked
    assert re.search(r"`recommended` would earn .* more per decision .* safe to switch", evaluated)
    assert "<svg" in Path("report.html").read_text("utf-8")


def test_an_existing_file_is_left_alone(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("mine")
    result = CliRunner().invoke(cli.app, ["logs", "example", str(file)])
    assert "not exist yet" in str(result.exception)
    assert file.read_text() == "mine"
