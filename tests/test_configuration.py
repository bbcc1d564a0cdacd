"""Options of `longrank serve` from the command line, the environment and a TOML file."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

import commands
from longrank import cli
from longrank.errors import BadFile, InvalidInput
from longrank.service.errors import StoreFailed

OTHER = {str: "other", int: "2000", float: "17.5", bool: "true"}
OPTIONS = {
    one.flag.removeprefix("--"): one
    for one in commands.options()
    if one.command == "serve" and not one.info.hidden and one.flag != "--config"
}


def other(name: str) -> str:
    """A value that is no option's default."""
    kind = OPTIONS[name].kind
    if name == "log-level":
        return "error"
    return next(OTHER[one] for one in (kind, *get_args(kind)) if one in OTHER)


def variable(name: str) -> str:
    return "LONGRANK_" + name.upper().replace("-", "_")


@pytest.fixture
def serve(monkeypatch):
    """Runs the command, and returns what the service would be started with."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "longrank.service.server.run", lambda store, **more: calls.append({"store": store, **more})
    )

    def run(*arguments: str, **variables: str) -> dict[str, Any]:
        command = ["serve", *arguments]
        result = CliRunner().invoke(cli.app, command, env=variables, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return {name: value for name, value in calls.pop().items() if not callable(value)}

    return run


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_every_option_has_a_variable_and_a_key_that_do_the_same(serve, tmp_path):
    for name in OPTIONS:
        value = other(name)
        flag = [f"--{name}"] if value == "true" else [f"--{name}", value]
        written = value if value[0].isdigit() or value == "true" else f'"{value}"'
        told = serve(*flag)
        assert told != serve()
        assert serve(**{variable(name): value}) == told
        file = write(tmp_path / "a.toml", f"{name} = {written}")
        assert serve("--config", file) == told
        assert serve(LONGRANK_CONFIG=file) == told
        file = write(tmp_path / "b.toml", f"{name.replace('-', '_')} = {written}")
        assert serve("--config", file) == told


def test_the_command_line_counts_before_the_environment_and_that_before_the_file(serve, tmp_path):
    text = 'port = 1\nstore = "file.db"\nmax-rate = 3\nallowed-hosts = ["a.example", "b.example"]'
    file = write(tmp_path / "longrank.toml", text)
    started = serve(
        "--config", file, "--port", "3", LONGRANK_PORT="2", LONGRANK_STORE="environment.db"
    )
    assert (started["port"], started["store"]) == (3, "environment.db")
    assert (started["limit"].max_rate, started["host"]) == (3.0, "127.0.0.1")
    assert started["hosts"] == ["a.example", "b.example"]


def test_what_is_wrong_with_a_file_or_its_absence_is_told_with_its_name_and_the_key(tmp_path):
    for text, message in [
        ("prot = 1", "there is no option 'prot' of serve; do you mean 'port'?"),
        ("xyzzy = 1", "there is no option 'xyzzy' of serve; the keys are allowed_hosts, "),
        ("most-bytes = 2000", "there is no option 'most-bytes' of serve"),
        ('config = "other.toml"', "there is no option 'config' of serve"),
        ("[serve]\nport = 1", "there is no option 'serve' of serve"),
        ("max-rate = 1\nmax_rate = 2", "'max_rate' is there twice"),
        ("port = [1]", "'port' must be text, a number, true, false or a list of texts, got [1]"),
        ("port = 2026-11-17", "'port' must be text"),
        ("port = x", "is not TOML: Invalid value (at line 1"),
        ("port = 1\nport = 2", "is not TOML: Cannot overwrite a value (at "),
    ]:
        file = write(tmp_path / "longrank.toml", text)
        result = CliRunner().invoke(cli.app, ["serve", "--config", file])
        assert isinstance(result.exception, BadFile)
        assert str(result.exception).startswith(file)
        assert message in str(result.exception)
    absent = str(tmp_path / "none.toml")
    result = CliRunner().invoke(cli.app, ["serve", "--config", absent])
    assert isinstance(result.exception, FileNotFoundError)
    assert result.exception.filename == absent


def test_a_bad_value_is_told_with_where_it_is_from(tmp_path):
    for name, value in [
        ("port", "70000"),
        ("port", "true"),
        ("port", "8.5"),
        ("log-level", '"loud"'),
        ("no-auth", '"perhaps"'),
        ("max-work", "nan"),
        ("max-bytes", "0"),
    ]:
        key, plain = name.replace("-", "_"), value.strip('"')
        file = write(tmp_path / "longrank.toml", f"{name} = {value}")
        wide = {"COLUMNS": "500"}
        result = CliRunner().invoke(cli.app, ["serve", "--config", file], env=wide)
        assert result.exit_code == 2
        assert f"--{name}" in result.output
        assert f"(got '{plain}' from key '{key}' of {file})" in result.output
        result = CliRunner().invoke(cli.app, ["serve"], env={**wide, variable(name): plain})
        assert result.exit_code == 2
        assert f"(got '{plain}' from {variable(name)})" in result.output


def test_help_shows_every_variable():
    shown = " ".join(CliRunner().invoke(cli.app, ["serve", "--help"]).output.split())
    for name in (*OPTIONS, "config"):
        assert re.search(rf"\[env var: {variable(name)}[];]", shown), name


@pytest.mark.parametrize("command", ["doctor", "backup"])
def test_the_store_of_the_service_is_that_of_the_commands_beside_it(command, monkeypatch):
    asked: list[str] = []
    functions = {"doctor": "doctor.examine", "backup": "backup.backup"}
    monkeypatch.setattr(
        f"longrank.service.{functions[command]}", lambda store, *_: asked.append(store) or ()
    )
    more = ["copy.db"] if command == "backup" else []
    CliRunner().invoke(cli.app, [command, *more], env={"LONGRANK_STORE": "mine.db"})
    assert asked == ["mine.db"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("port", "be free", 80), 2),
        (BadFile("longrank.toml is not TOML"), 2),
        (FileNotFoundError(2, "No such file or directory", "longrank.toml"), 2),
        (StoreFailed("cannot listen on 127.0.0.1:80"), 1),
    ],
)
def test_what_was_asked_wrongly_ends_with_2_and_what_failed_with_1(error, code, monkeypatch):
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == code
