"""The exceptions.

LongrankError
├── InvalidInput   (also a ValueError)   an argument breaks a rule; nothing has changed
├── BadFile        (also a ValueError)   a file is damaged, foreign, or of an unknown version
├── BadPlugin      (also an ImportError) an entry point of another package cannot be loaded
└── MissingExtra   (also an ImportError) an optional dependency is not installed
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class LongrankError(Exception):
    """Base class of the errors that longrank raises."""


class InvalidInput(LongrankError, ValueError):
    """An argument breaks a rule: which one, which rule, and the value that broke it.

    >>> print(InvalidInput("budget", "be at least 0", -1))
    budget must be at least 0, got -1
    """

    def __init__(self, parameter: str, rule: str, value: object, sentence: str = "") -> None:
        super().__init__(parameter, rule, value)
        self.parameter = parameter
        self.rule = rule
        self.value = value
        self.sentence = sentence  # in place of the usual one

    def __str__(self) -> str:
        return self.sentence or f"{self.parameter} must {self.rule}, got {self.value}"


def plural(count: int, noun: str) -> str:
    """Return a number of things in words.

    >>> plural(1, "model"), plural(2, "model")
    ('1 model', '2 models')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def unknown(name: object, known: Iterable[str]) -> str:
    """Quote a name that is not known, with the nearest one that is: the value of an InvalidInput.

    >>> unknown("recomended", ["recommended", "thompson"])
    "'recomended'; did you mean recommended?"
    """
    close = get_close_matches(str(name).lower(), list(known), 1)
    return repr(name) + (f"; did you mean {close[0]}?" if close else "")


class BadFile(LongrankError, ValueError):
    """A file or byte string is damaged, or not of the expected format."""


class BadPlugin(LongrankError, ImportError):
    """An entry point of another package cannot be loaded."""


class MissingExtra(LongrankError, ImportError):
    """A part needs packages that the base installation does not include."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what = what
        self.extra = extra

    def __str__(self) -> str:
        return (
            f"{self.what} needs more packages: pip install '.[{self.extra}]' in longrank's checkout"
        )


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Say which extra ``what`` needs, if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(what, extra) from error
