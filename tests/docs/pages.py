"""The documentation as a reader finds it: pages, headings, links and blocks of code."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
FENCE = re.compile(r"^(`{3,})(\{?[\w-]*\}?) *([^\n]*)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(<?([^)>\s]+)>?\)")


class Block(NamedTuple):
    """A fenced block of a page: its language (or directive) and its text."""

    language: str
    text: str


class Link(NamedTuple):
    """A relative link: the file, and the anchor in it (empty: its top)."""

    file: Path
    anchor: str


def pages() -> list[Path]:
    """Every page of the website."""
    return sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)


@cache
def blocks(page: Path) -> list[Block]:
    fences = FENCE.finditer(page.read_text())
    return [Block(fence[2].strip("{}"), fence[4]) for fence in fences]


@cache
def prose(page: Path) -> str:
    """A page without its blocks and without code in the text."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of the headings that links may use (``myst_heading_anchors`` is 3)."""
    titles = re.findall(r"^#{1,3} (.+)$", FENCE.sub("", page.read_text()), flags=re.MULTILINE)
    return {slug(title) for title in titles}


def slug(title: str) -> str:
    """A heading's anchor, as GitHub and MyST make it."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def links(page: Path) -> list[Link]:
    """The relative links of a page, images included, and the entries of its tables of contents."""
    relative = []
    for target in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            relative.append(Link((page.parent / path).resolve() if path else page, anchor))
    return relative + [Link(entry, "") for entry in entries(page)]


def entries(page: Path) -> Iterator[Path]:
    """The pages that a page's tables of contents (``toctree``) name."""
    for block in blocks(page):
        if block.language == "toctree":
            for line in block.text.splitlines():
                name = re.sub(r"^.*<(.+)>$", r"\1", line.strip())
                if name and not name.startswith(":"):
                    path = page.parent / name
                    notebook = path.with_name(path.name + ".ipynb")
                    file = notebook if notebook.is_file() else path.with_name(path.name + ".md")
                    yield file.resolve()


def section(link: Link) -> str:
    """The text that a reader sees who follows a link: a section, or a page."""
    text = link.file.read_text()
    if not link.anchor:
        return text
    plain = FENCE.sub(lambda block: "-" * len(block[0]), text)  # a comment in code is no heading
    for head in re.finditer(r"^(#{1,3}) (.+)$", plain, flags=re.MULTILINE):
        if slug(head[2]) == link.anchor:
            end = re.search(rf"^#{{1,{len(head[1])}}} ", plain[head.end() :], flags=re.MULTILINE)
            return text[head.start() : head.end() + end.start() if end else None]
    raise KeyError(link.anchor)
