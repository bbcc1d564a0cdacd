"""The sources of the data sets: publisher, files, sizes and terms; listed in ``sources.toml``."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from longrank.errors import InvalidInput


@dataclass(frozen=True)
class File:
    """A published file; ``urls`` are identical copies, tried in this order."""

    name: str
    urls: tuple[str, ...]
    size: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class Terms:
    """The publisher's terms in short, and where to find them in full."""

    summary: str
    url: str


@dataclass(frozen=True)
class Source:
    """A data set.

    ``manual`` says what the user has to do if the publisher allows no direct download; then there
    are no files.
    """

    name: str
    title: str
    page: str
    files: tuple[File, ...] = ()
    terms: Terms | None = None
    manual: str | None = None

    @property
    def how(self) -> str:
        """How to get the data, as the end of a sentence."""
        add = f"'longrank data add {self.name} PATH'"
        if self.manual is None:
            return f"run 'longrank data get {self.name}', or for files that you have {add}"
        return f"{self.manual}, then run {add}"


def _listed(name: str, listed: dict[str, Any]) -> Source:
    folders, files = listed.pop("folders", ()), listed.pop("files", {})
    terms = listed.pop("terms", None)
    return Source(
        name,
        files=tuple(
            File(file, tuple(folder + file for folder in folders), **checks)
            for file, checks in files.items()
        ),
        terms=terms and Terms(**terms),
        **listed,
    )


_LIST = tomllib.loads(resources.files(__package__).joinpath("sources.toml").read_text("utf-8"))
SOURCES = {name: _listed(name, listed) for name, listed in _LIST.items()}


def source(name: str) -> Source:
    """Return the source of this name."""
    try:
        return SOURCES[name]
    except KeyError:
        raise InvalidInput("name", f"be one of {', '.join(SOURCES)}", repr(name)) from None
