"""The tasks by name, from files to arrays.

The sizes are the paper's. Where it gives none they keep its proportions: it embeds 19,800 of
70,000 images (28 %) and 10,000 of 59,047 movies (17 %), so 497 of the 1,797 digits, which leaves 13
rounds of 100, and 606 of the 3,706 movies of MovieLens-1M, which leaves 31.

A package adds its own tasks with entry points of the group ``longrank.tasks``: each is a function
``make(seed, folder)`` that returns a :class:`Table`, and the name of the entry point is that of
the task.
"""

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from longrank import packing
from longrank.arrays import Indices, Matrix, Vector
from longrank.datasets import mnist, questions, ratings, stored
from longrank.datasets.embed import Arrays, embed_images, embed_ratings
from longrank.datasets.stored import AnyPath, data_folder
from longrank.errors import BadFile, InvalidInput, needs_extra
from longrank.plugins import entry_points, load_entry_point

DIGITS = "digits"  # comes with scikit-learn
GROUP = "longrank.tasks"
VERSION = 1  # raised whenever equal settings give other arrays
_SIZES: tuple[str, ...] = ("sample", "dim", "users", "items")  # the last two are for ratings only


@dataclass(frozen=True, eq=False)
class Table:
    """Items to be ranked, and how likely each one is to succeed; checked when it is made.

    Parameters
    ----------
    name
        The task.
    items
        Shape (n, d), finite, rows of norm 1 (or 0, if nothing is known of an item), shuffled.
    chances
        Shape (n,), the success probability of each item; 0 or 1 if success is a label.
    embedding_items
        Shape (m, d), the items that the embedding was fitted to. They are not ranked, so that
        topics can be fitted to them.
    labels
        Shape (n,), the classes, if the items have any.
    settings
        Everything that the arrays depend on, as plain numbers and text.
    """

    name: str
    items: Matrix
    chances: Vector
    embedding_items: Matrix
    labels: Indices | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("items", "embedding_items"):
            rows = getattr(self, name)
            if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype != np.float64:
                raise InvalidInput(name, "be an array of float64 of shape (n, d)", type(rows))
            if rows.shape[1] != self.items.shape[1]:
                raise InvalidInput(name, f"have {self.items.shape[1]} columns", rows.shape[1])
            squares = np.einsum("ij,ij->i", rows, rows)
            if not (squares <= 1.0 + 1e-9).all():
                raise InvalidInput(name, "be finite with rows of norm at most 1", squares.max())
        for name in ("chances", "labels"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (len(self.items),):
                rule = f"have shape ({len(self.items)},), one number per item"
                raise InvalidInput(name, rule, np.shape(values))
        if not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            raise InvalidInput("chances", "be probabilities", self.chances)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Task:
    """A ranking task.

    Parameters
    ----------
    name, source
        The task, and the data set that it is made of.
    sample
        How many items the embedding is fitted to.
    dim
        The length of an embedded item, the paper's d.
    users, items
        How many of the most active users and of the most rated items count; None for all.
    pivot
        The class that counts as success, if items have classes.
    make
        For a task of an installed package: returns its table, given the seed and the data folder.
    """

    name: str
    source: str
    sample: int
    dim: int = 10
    users: int | None = None
    items: int | None = None
    pivot: int | None = None
    make: Callable[[int, Path], Table] | None = None


def _classes(source: str, sample: int) -> list[Task]:
    return [Task(f"{source}-{pivot}", source, sample, pivot=pivot) for pivot in range(10)]


_OWN = {
    task.name: task
    for task in [
        *_classes("mnist", 19_800),
        *_classes("fashion", 19_800),
        Task("movielens-25m", "movielens-25m", 10_000),
        Task("movielens-1m", "movielens-1m", 606),
        Task("yelp", "yelp", 10_000, users=200_000, items=50_000),
        Task("msd", "msd", 10_000, users=100_000, items=50_000),
        *_classes(DIGITS, 497),
        Task(stored.QUESTIONS, stored.QUESTIONS, 0),
    ]
}


class Tasks(Mapping[str, Task]):
    """All tasks by name: our own, then those that installed packages offer."""

    def __getitem__(self, name: str) -> Task:
        if name in _OWN:
            return _OWN[name]
        if name not in entry_points(GROUP):
            raise KeyError(name)

        def make(seed: int, folder: Path) -> Table:
            made = load_entry_point(GROUP, name)(seed, folder)
            if not isinstance(made, Table):
                parameter = f"the entry point {name!r} of {GROUP!r}"
                raise InvalidInput(parameter, "return a longrank.datasets.Table", repr(made))
            return replace(made, name=name)

        return Task(name, source=name, sample=0, make=make)

    def __iter__(self) -> Iterator[str]:
        yield from _OWN
        yield from sorted(set(entry_points(GROUP)) - set(_OWN))

    def __len__(self) -> int:
        return len(list(iter(self)))


TASKS = Tasks()


def task(name: str) -> Task:
    """Return the task of this name."""
    try:
        return TASKS[name]
    except KeyError:
        single = [name for name in TASKS if TASKS[name].pivot is None]
        known = ", ".join(["mnist-0 to 9", "fashion-0 to 9", "digits-0 to 9", *single])
        raise InvalidInput("name", f"be one of {known}", repr(name)) from None


def available(name: str, folder: AnyPath | None = None) -> bool:
    """Tell whether the data of a task is there; a task of a package brings its own."""
    known = task(name)
    return (
        known.make is not None
        or known.source == DIGITS
        or bool(stored.present(known.source, folder))
    )


def table(
    name: str,
    seed: int,
    folder: AnyPath | None = None,
    *,
    sample: int | None = None,
    dim: int | None = None,
    users: int | None = None,
    items: int | None = None,
) -> Table:
    """Return the arrays of a task, prepared as in the paper, and cached for the next time.

    Parameters
    ----------
    name
        One of ``longrank.datasets.TASKS``.
    seed
        The seed of sampling and shuffling.
    folder
        The data folder, if not the default.
    sample, dim, users, items
        Other sizes than the task's own; see :class:`Task`. ``users`` and ``items`` are for
        ratings only; a task of a package has none.
    """
    known = task(name)
    sizes, reason = _SIZES, ""
    if known.make is not None:
        sizes, reason = (), "has its own"
    elif known.source == stored.QUESTIONS:
        rule = "be a task of arrays; longrank.datasets.read_questions() gives the records of this"
        raise InvalidInput("name", rule, repr(name))
    elif known.source not in ratings.FORMATS:
        sizes, reason = _SIZES[:2], "has no ratings"
    settings: dict[str, Any] = {"source": known.source, "seed": _whole("seed", seed, 0)}
    for size, value in zip(_SIZES, (sample, dim, users, items), strict=True):
        if value is not None and size not in sizes:
            raise InvalidInput(size, f"not be given for {name}, which {reason}", value)
        if size in sizes:
            usual = getattr(known, size)
            settings[size] = usual if value is None else _whole(size, value, 1)
    if known.make is not None:
        return known.make(settings["seed"], data_folder(folder))
    arrays = _arrays(known.source, settings, folder)
    labels = arrays.get("labels")
    chances = arrays["chances"] if labels is None else (labels == known.pivot).astype(np.float64)
    return Table(
        name=name,
        items=arrays["items"],
        chances=chances,
        embedding_items=arrays["embedding_items"],
        labels=labels,
        settings={"task": name, **settings},
    )


def read_questions(folder: AnyPath | None = None) -> questions.Questions:
    """Return the questions of the task ``llm``: its candidates and contexts are records.

    Parameters
    ----------
    folder
        The data folder, if not the default.
    """
    stored.find(stored.QUESTIONS, folder)
    return questions.read(stored.home(stored.QUESTIONS, folder))


def _arrays(source: str, settings: dict[str, Any], folder: AnyPath | None) -> Arrays:
    sizes = {name: value for name, value in settings.items() if name != "source"}
    if source == DIGITS:
        return embed_images(_digits(), **sizes)
    files = stored.find(source, folder)

    def build() -> Arrays:
        if source in ratings.FORMATS:
            return embed_ratings(ratings.read(files[0], ratings.FORMATS[source]), **sizes)
        return embed_images(mnist.read(stored.home(source, folder)), **sizes)

    return prepared(data_folder(folder), source, settings, files, build)


def _digits() -> mnist.Images:
    with needs_extra("the digits task", "experiments"):
        from sklearn.datasets import load_digits
    pixels, labels = load_digits(return_X_y=True)
    images, classes = pixels.astype(np.uint8), labels.astype(np.uint8)
    return mnist.Images(images, classes, images[:0], classes[:0])


def _whole(parameter: str, value: Any, minimum: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(parameter, "be a whole number", repr(value)) from None
    if isinstance(value, bool) or number < minimum:
        raise InvalidInput(parameter, f"be a whole number of at least {minimum}", repr(value))
    return number


def prepared(
    folder: Path,
    name: str,
    settings: Mapping[str, Any],
    files: tuple[Path, ...],
    build: Callable[[], Arrays],
) -> Arrays:
    """Return the arrays of these settings and files: read if built before, otherwise built."""
    key = describe(settings, files)
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return kept(folder / "prepared" / f"{name}-{digest}.longrank", key, build)


def kept(path: Path, key: str, build: Callable[[], packing.Tree]) -> packing.Tree:
    """Return what ``path`` keeps under a key; without it, or if it is damaged, build it anew."""
    try:
        tree = packing.unpack(path.read_bytes(), str(path))
        if tree["key"] == key:
            return dict(tree["kept"])
    except (OSError, BadFile, KeyError):
        pass
    built = build()
    path.parent.mkdir(parents=True, exist_ok=True)
    packing.write(path, packing.pack({"key": key, "kept": built}))
    return built


def describe(settings: Mapping[str, Any], files: tuple[Path, ...]) -> str:
    """Describe everything that the arrays depend on; files count by name, size and time."""
    stamps = []
    for file in files:
        status = file.stat()
        stamps.append([file.name, status.st_size, status.st_mtime_ns])
    whole = {"version": VERSION, "settings": dict(settings), "files": stamps}
    return json.dumps(whole, sort_keys=True)
