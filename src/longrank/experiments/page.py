"""A report under construction: sections with links, figures, and texts from files."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from longrank.document.blocks import Block, Heading, Links, Prose

Drawn = tuple[list[Path], list[Block]]  # files, and what shows them


class Page:
    """Sections in order, preceded by links to all of them; ``files`` are its figures."""

    def __init__(self, title: str, introduction: str) -> None:
        self.title, self.files = title, list[Path]()
        self._introduction = Prose(introduction)
        self._links: list[tuple[str, str]] = []
        self._body: list[Block] = []

    def section(self, name: str, title: str, blocks: Iterable[Block] = (), level: int = 2) -> None:
        """Begin a section."""
        self._links.append((name, title))
        self._body += [Heading(title, level, name), *blocks]

    def add(self, files: Iterable[Path], blocks: Iterable[Block]) -> None:
        """Add blocks to the current section, and the files that were drawn for them."""
        self.files += files
        self._body += blocks

    @property
    def blocks(self) -> list[Block]:
        """The whole document."""
        top = Heading(self.title, 1), self._introduction, Links(tuple(self._links))
        return [*top, *self._body]


def paragraphs(file: str) -> list[Block]:
    """Return the paragraphs of a text file of this package."""
    text = resources.files(__package__).joinpath(file).read_text("utf-8")
    return [Prose(" ".join(paragraph.split())) for paragraph in text.split("\n\n")]
