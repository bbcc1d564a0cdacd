"""Every page can be found, and every link leads somewhere."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest
from pages import DOCS, README, ROOT, anchors, blocks, entries, links, pages

import longrank

READ = [*pages(), README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))


def name(page):
    return str(page.relative_to(ROOT))


def test_every_page_is_in_exactly_one_index():
    indexed = Counter(entry for page in pages() for entry in entries(page))
    shown = {*pages(), *DOCS.rglob("*.ipynb")} - {DOCS / "index.md"}
    assert sorted(name(page) for page in shown - indexed.keys()) == [], "in no index"
    assert sorted(name(page) for page in indexed.keys() - shown) == [], "there is no such page"
    assert [name(page) for page, count in indexed.items() if count > 1] == [], "in two indexes"


def test_every_page_is_reached_from_the_front_page():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting.extend(entries(page))
    assert reached >= set(pages())


@pytest.mark.parametrize("page", READ, ids=name)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        assert link.file.exists(), f"{link.file} does not exist"
        if link.anchor:
            assert link.anchor in anchors(link.file), f"{name(link.file)} has no {link.anchor}"


@pytest.mark.parametrize("index", ["reference.md", "explanation.md", "how-to/index.md"])
def test_an_index_calls_a_page_by_its_title(index):
    page = DOCS / index
    listed = re.findall(r"^(?:- |\| )\[([^]]+)\]\(([^)#]+\.md)\)", page.read_text(), re.MULTILINE)
    assert len(listed) == len(list(entries(page)))
    titles = [(page.parent / file).read_text().partition("\n")[0] for _, file in listed]
    assert [f"# {text}" for text, _ in listed] == titles


@pytest.mark.parametrize("page", HOW_TO, ids=name)
def test_a_how_to_page_is_short_and_stands_in_the_list(page):
    if page.name == "index.md":
        assert {link.file for link in links(page)} >= set(HOW_TO) - {page}
        return
    text = page.read_text()
    assert all(part in text for part in ("**Question.**", "**Answer.**", "**Watch for**"))
    assert any(block.language == "python" and ">>>" in block.text for block in blocks(page))
    assert len(text.splitlines()) <= 75


@pytest.mark.parametrize("page", [*pages(), README], ids=name)
def test_every_block_of_python_is_executed(page):
    """By doctest; those of the tutorial, which are files, by the test that follows it."""
    for block in blocks(page):
        if block.language == "python" and page != DOCS / "tutorial.md":
            assert ">>>" in block.text, block.text[:80]
        if block.language in ("python", "pycon"):
            assert block.text.endswith("\n\n") or ">>>" not in block.text, "needs an empty line"


def test_every_public_class_and_function_is_in_the_reference():
    text = (DOCS / "python-api.md").read_text()
    parts = (name for name in longrank.__all__ if not inspect.ismodule(getattr(longrank, name)))
    named = {part for part in parts if callable(getattr(longrank, part))}
    errors = {name for name in named if hasattr(longrank.errors, name)}  # as a whole module
    assert ".. automodule:: longrank.errors\n   :members:" in text
    assert [each for each in sorted(named - errors) if f":: longrank.{each}\n" not in text] == []
