"""Ratings: the published files, read as streams into arrays of users, items and ratings.

Only the arrays and the dictionaries of users and items are in memory: 12 bytes per rating, and
about 200 per user or item.
"""

import io
import json
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from longrank.datasets.containers import DAMAGED, Names, opened
from longrank.errors import BadFile

_BLOCK = 1 << 20
_MAX_LINE = 1 << 20
_REFUSED = (ValueError, KeyError, TypeError, RecursionError)

Triplet = tuple[Hashable, Hashable, float]


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings in the order of the file.

    ``users`` and ``items`` are int32 codes, counted from 0 in the order of first appearance;
    ``ratings`` is float32. All have shape (n,).
    """

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    ratings: NDArray[np.float32]
    user_count: int
    item_count: int

    def __len__(self) -> int:
        return len(self.ratings)


@dataclass(frozen=True)
class Format:
    """How to read a rating from a line.

    ``parse`` raises for a line that breaks ``rule``; ``header`` is the first line, if it has one.
    """

    names: Names
    rule: str
    parse: Callable[[bytes], Triplet]
    header: bytes | None = None


def _movielens(line: bytes, separator: bytes, lowest: float) -> Triplet:
    user, item, rating, _ = line.split(separator)
    return int(user), int(item), _within(float(rating), lowest, 5.0)


def _yelp(line: bytes) -> Triplet:
    review = json.loads(line)
    user, business = review["user_id"], review["business_id"]
    if not (isinstance(user, str) and isinstance(business, str) and user and business):
        raise ValueError
    return user, business, _within(float(review["stars"]), 1.0, 5.0)


def _taste_profile(line: bytes) -> Triplet:
    user, song, plays = line.split(b"\t")
    if not (user and song):
        raise ValueError
    return user, song, _within(int(plays), 1, 10**9)


def _within(value: float, minimum: float, maximum: float) -> float:
    if not minimum <= value <= maximum:
        raise ValueError
    return value


FORMATS = {
    "movielens-25m": Format(
        names=("ratings.csv",),
        header=b"userId,movieId,rating,timestamp",
        rule="userId,movieId,rating,timestamp with whole numbers as ids and a rating of 0.5 to 5",
        parse=partial(_movielens, separator=b",", lowest=0.5),
    ),
    "movielens-1m": Format(
        names=("ratings.dat",),
        rule="UserID::MovieID::Rating::Timestamp with whole numbers as ids and a rating of 1 to 5",
        parse=partial(_movielens, separator=b"::", lowest=1.0),
    ),
    "yelp": Format(
        names=("yelp_academic_dataset_review.json", "review.json"),
        rule="a JSON object with the texts user_id and business_id and stars of 1 to 5",
        parse=_yelp,
    ),
    "msd": Format(
        names=("train_triplets.txt",),
        rule="user, song and play count with tabs between and a whole play count of at least 1",
        parse=_taste_profile,
    ),
}


def read(path: Path, form: Format, limit: int | None = None) -> Ratings:
    """Read ratings from a file, an archive or a folder; only ``limit`` lines if given.

    A line that breaks the rule raises :class:`~longrank.errors.BadFile` with file, line and rule.
    """
    user_codes: dict[Hashable, int] = {}
    item_codes: dict[Hashable, int] = {}
    users, items, ratings = array("i"), array("i"), array("f")
    parse = form.parse
    number = 0
    with (
        opened(path, form.names) as (stream, label),
        io.BufferedReader(cast(io.RawIOBase, stream), _BLOCK) as buffered,
    ):
        lines = iter(lambda: buffered.readline(_MAX_LINE + 2), b"")
        try:
            for number, line in enumerate(islice(lines, limit), 1):
                if len(line) > _MAX_LINE + 1:
                    rule = f"must have at most {_MAX_LINE} bytes, got more"
                    raise BadFile(f"{label}, line {number} {rule}")
                if number == 1 and form.header is not None:
                    if line.strip() != form.header:
                        expected = form.header.decode()
                        raise BadFile(f"{label}, line 1 must be {expected}, got {_shown(line)}")
                    continue
                try:
                    user, item, rating = parse(line)
                except _REFUSED:
                    rule = f"must be {form.rule}, got {_shown(line)}"
                    raise BadFile(f"{label}, line {number} {rule}") from None
                users.append(user_codes.setdefault(user, len(user_codes)))
                items.append(item_codes.setdefault(item, len(item_codes)))
                ratings.append(rating)
        except DAMAGED as error:
            raise BadFile(f"{label} cannot be read beyond line {number}: {error}") from error
    if not len(ratings):
        raise BadFile(f"{label} must hold ratings, got none")
    return Ratings(
        np.frombuffer(users, np.int32),
        np.frombuffer(items, np.int32),
        np.frombuffer(ratings, np.float32),
        len(user_codes),
        len(item_codes),
    )


def _shown(line: bytes) -> str:
    text = line.removesuffix(b"\n")[:60].decode("utf-8", "replace")
    return repr(text) + ("..." if len(line) > 60 else "")
