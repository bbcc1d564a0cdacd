"""What a user can type, set or read is documented, and what is documented exists."""

from __future__ import annotations

import posixpath
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
    return spoken | {one.envvar for group in groups for one in group.params if one.envvar}


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
def test_everything_is_documented_and_everything_documented_exists(kind: str) -> None:
    existing, documented = (set(names()) for names in KINDS[kind])
    assert existing
    assert existing - documented == set(), f"{kind}: not documented"
    assert documented - existing == set(), f"{kind}: documented, and not there"


def test_the_options_of_longrank_itself_are_documented() -> None:
    assert rows(page("commands.md").partition("## ")[0]) == set(TOP)


def test_every_command_has_a_help_with_an_example() -> None:
    for words, function in commands.commands():
        assert f"Example: `longrank {words}" in function.__doc__, words


def listed(docs: Path, start: str = "index.md") -> set[str]:
    """The pages that one comes to from the index by tables of contents, as names in the folder."""
    found, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        path = docs / name
        if not path.exists():
            continue  # told by the test
        blocks = re.findall(r"^```{toctree}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
        for line in "\n".join(blocks).splitlines():
            entry = re.sub(r"^.*<(.+)>$", r"\1", line.strip())
            if entry and not entry.startswith((":", "http")):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), entry))
                target = target.removesuffix(".md")
                matches = sorted(docs.glob(f"{target}.md")) if "*" in target else []
                if (docs / f"{target}.ipynb").exists():
                    continue
                todo += [one.relative_to(docs).as_posix() for one in matches] or [f"{target}.md"]
    return found


def pages(docs: Path) -> set[str]:
    every = (path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    return {name for name in every if not name.startswith("_build/")}


def test_every_page_is_in_an_index_and_every_entry_of_an_index_is_a_page() -> None:
    docs = ROOT / "docs"
    assert pages(docs) - listed(docs) == set(), "in no table of contents"
    assert listed(docs) - pages(docs) == set(), "in a table of contents, and not there"


def test_a_page_that_is_in_no_index_is_found(tmp_path: Path) -> None:
    (tmp_path / "how-to").mkdir()
    for name, text in {
        "index.md": "```{toctree}\n:maxdepth: 1\n\nA title <guide>\nhow-to/index\nmissing\n```\n",
        "guide.md": "[lost](lost.md)",
        "lost.md": "a link is no index",
        "how-to/index.md": "```{toctree}\n:glob:\n\nf*\n../more.md\n```\n",
        "how-to/fees.md": "",
        "more.md": "",
    }.items():
        (tmp_path / name).write_text(text)
    assert pages(tmp_path) - listed(tmp_path) == {"lost.md"}
    assert listed(tmp_path) - pages(tmp_path) == {"missing.md"}


def test_the_page_is_linked_from_the_index_and_the_readme() -> None:
    assert "commands.md" in listed(ROOT / "docs")
    assert "(docs/commands.md)" in (ROOT / "README.md").read_text()


def test_every_exit_code_of_the_commands_is_documented() -> None:
    texts = [path.read_text() for path in (ROOT / "src/longrank/cli").glob("*.py")]
    used = {code for text in texts for code in re.findall(r"(?:Exit|sys\.exit)\((\d+)\)", text)}
    codes = re.findall(r"^\| (\d+) \|", sections("commands.md")["Exit codes"], re.MULTILINE)
    assert {"1", "2"} <= used <= set(codes)
