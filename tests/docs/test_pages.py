"""Every page can be found, every link leads somewhere, and every block of Python is executed."""

import re
from collections import Counter

from pages import DOCS, README, ROOT, anchors, blocks, entries, links, pages

READ = [*pages(), README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
# Blocks of Python that are no doctests: the tests of these pages execute them.
FOLLOWED = (DOCS / "tutorial.md", DOCS / "service.md")


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


def test_every_link_leads_somewhere():
    followed = [(name(page), link) for page in READ for link in links(page)]
    assert len(followed) > 400
    broken = [
        f"{page}: {link.file}#{link.anchor}"
        for page, link in followed
        if not link.file.exists() or (link.anchor and link.anchor not in anchors(link.file))
    ]
    assert broken == []


def test_an_index_calls_a_page_by_its_title():
    for page in (DOCS / "reference.md", DOCS / "explanation.md", DOCS / "how-to" / "index.md"):
        listed = re.findall(r"^[-|] \[([^]]+)\]\(([^)#]+\.md)\)", page.read_text(), re.MULTILINE)
        assert len(listed) == len(list(entries(page))), name(page)
        titles = [(page.parent / file).read_text().partition("\n")[0] for _, file in listed]
        assert [f"# {text}" for text, _ in listed] == titles, name(page)


def test_a_how_to_page_is_short_and_stands_in_the_list():
    index = DOCS / "how-to" / "index.md"
    assert {link.file for link in links(index)} >= set(HOW_TO) - {index}
    for page in set(HOW_TO) - {index}:
        text = page.read_text()
        for part in ("**Question.**", "**Answer.**", "**Watch for**"):
            assert part in text, f"{name(page)} has no {part}"
        assert any(block.language == "python" and ">>>" in block.text for block in blocks(page))
        assert len(text.splitlines()) <= 75, name(page)


def test_every_block_of_python_is_executed():
    """By doctest, which needs a prompt, and an empty line at the end."""
    for page in [*pages(), README]:
        for block in blocks(page):
            where = f"{name(page)}: {block.text[:80]}"
            if block.language == "python" and page not in FOLLOWED:
                assert ">>>" in block.text, where
            if block.language in ("python", "pycon"):
                assert block.text.endswith("\n\n") or ">>>" not in block.text, where
