"""What a user can type, set or read is documented, and what is documented exists."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import typer

import commands
from longrank import cli
from longrank.logs import COLUMNS

ROOT = Path(__file__).parent.parent
TOP = ("--version", "--install-completion", "--show-completion")  # of longrank itself


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def sections(name: str) -> dict[str, str]:
    """The sections of a page by their headings."""
    _, *parts = re.split(r"^## ", page(name), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part for part in parts}


def rows(text: str) -> set[str]:
    """All code in the first cells of a text's tables."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def documented_commands() -> set[str]:
    return {head for head in sections("commands.md") if head.startswith("longrank ")}


def documented_options() -> set[str]:
    found = sections("commands.md")
    return {f"{head} {row}" for head in documented_commands() for row in rows(found[head])}


def variables() -> set[str]:
    """Names of environment variables: those that the package speaks of, and those of options."""
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    spoken = {name for text in texts for name in re.findall(r"LONGRANK_[A-Z_]+[A-Z]", text)}
    groups = typer.main.get_command(cli.app).commands.values()
    options = {option.envvar for group in groups for option in group.params if option.envvar}
    return (spoken | options) - {"LONGRANK_COMPILER"}  # set by longrank itself


def documented_variables() -> set[str]:
    """Those of the table of variables, and of the second cells of the options' tables."""
    found = rows(sections("commands.md")["Environment variables"])
    return found | set(re.findall(r"\| `(LONGRANK_[A-Z_]+)` \|", page("commands.md")))


# A kind of thing: the names that exist, and those that stand in the documentation.
KINDS: dict[str, tuple[Callable[[], Iterable[str]], Callable[[], Iterable[str]]]] = {
    "command": (
        lambda: (f"longrank {words}" for words, _ in commands.commands()),
        documented_commands,
    ),
    "option": (
        lambda: (
            f"longrank {option.command} {option.flag}"
            for option in commands.options()
            if not option.info.hidden
        ),
        documented_options,
    ),
    "environment variable": (variables, documented_variables),
    "column": (lambda: COLUMNS, lambda: rows(sections("logs.md")["The format"])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_documented_and_everything_documented_exists(kind):
    existing, documented = (set(names()) for names in KINDS[kind])
    assert existing
    assert existing - documented == set(), f"{kind}: not documented"
    assert documented - existing == set(), f"{kind}: documented, and not there"


def test_the_options_of_longrank_itself_are_documented():
    assert rows(page("commands.md").partition("## ")[0]) == set(TOP)


def test_every_exit_code_of_the_commands_is_documented():
    texts = [path.read_text() for path in (ROOT / "src/longrank/cli").glob("*.py")]
    used = {code for text in texts for code in re.findall(r"(?:Exit|sys\.exit)\((\d+)\)", text)}
    codes = re.findall(r"^\| (\d+) \|", sections("commands.md")["Exit codes"], re.MULTILINE)
    assert {"1", "2"} <= used <= set(codes)
