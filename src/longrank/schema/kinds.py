"""Kinds of fields: how values are interpreted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from longrank.contents import Broken, Sizes, show
from longrank.errors import InvalidInput


@dataclass(frozen=True)
class Category:
    """Text, booleans or integers as names: one column per value."""

    name: ClassVar[str] = "category"


@dataclass(frozen=True)
class Number:
    """A number of any scale: its normal score among those observed, and one of eight bins.

    With ``log``, the centred and scaled logarithm replaces the score.
    """

    name: ClassVar[str] = "number"
    log: bool = False


@dataclass(frozen=True)
class Text:
    """Free text: one column for each of its first words, in lower case."""

    name: ClassVar[str] = "text"


@dataclass(frozen=True)
class Tags:
    """A set of names: one column per name."""

    name: ClassVar[str] = "tags"


@dataclass(frozen=True)
class Embedding:
    """A list of numbers of fixed length: one column per number, scaled together."""

    name: ClassVar[str] = "embedding"


Kind = Category | Number | Text | Tags | Embedding
KINDS: dict[str, type[Kind]] = {
    each.name: each for each in (Category, Number, Text, Tags, Embedding)
}


def checked_name(name: Any) -> str:
    """Return the name of a field."""
    if not isinstance(name, str):
        raise InvalidInput("field names", "be text", repr(name))
    return name


def shown(kind: Kind) -> str:
    """Return a kind in words."""
    return "number (log)" if isinstance(kind, Number) and kind.log else kind.name


def spell(kind: Kind) -> list[Any]:
    """Return a kind as it is written to files."""
    return [kind.name, kind.log] if isinstance(kind, Number) else [kind.name]


def spelled(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
    """A kind as :func:`spell` writes it: a rule of :mod:`longrank.contents`."""
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], str):
        raise Broken("be a kind of field", show(value))
    name, *settings = value
    if name not in KINDS:
        raise Broken(f"be a kind of field, one of {', '.join(sorted(KINDS))}", show(name))
    if list(map(type, settings)) not in ([], [bool] * (name == Number.name)):
        raise Broken(f"have the settings of {name!r}", f"{len(settings)} others")


def read_kind(written: Sequence[Any]) -> Kind:
    """Return the kind that :func:`spell` wrote."""
    name, *settings = written
    return KINDS[name](*settings)
