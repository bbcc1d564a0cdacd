"""Values of fields: what records may hold, and how each is read by its kind."""

import math
import numbers as numeric
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

import numpy as np

from longrank.arrays import Vector
from longrank.errors import InvalidInput, plural
from longrank.schema.kinds import Category, Embedding, Kind, Number, Tags

ID = "id"
MAX_TAGS = 64  # in a set of tags; of a text so many words count
MAX_EMBEDDING = 256  # numbers; longer lists are folded into so many
MAX_NUMBER = 1e100  # in an embedding, so that its norm is finite

Record = Mapping[str, Any]
_ID_OF = itemgetter(ID)


def as_records(candidates: Any) -> list[Record] | None:
    """Return candidates as a list of dictionaries; None if they are not records.

    A plain name stands for ``{"id": name}``. Frames of pandas, polars and pyarrow give a record
    for each row.
    """
    if isinstance(candidates, list | tuple):
        kinds = set(map(type, candidates))
        if kinds == {dict}:
            return candidates if isinstance(candidates, list) else list(candidates)
        if kinds and all(issubclass(kind, Mapping | str) for kind in kinds):
            return [{ID: each} if isinstance(each, str) else dict(each) for each in candidates]
        return [] if not kinds else None
    for method in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(candidates, method) and hasattr(candidates, "columns"):
            return list(getattr(candidates, method)())
    if hasattr(candidates, "to_dict") and hasattr(candidates, "columns"):  # pandas
        if candidates.index.name == ID and ID not in candidates.columns:
            candidates = candidates.reset_index()
        return list(candidates.to_dict("records"))
    return None


def identities(records: Sequence[Record], order: Sequence[int]) -> list[Any]:
    """Return the names of candidates: their ids, or their positions for those without."""
    names = []
    for i in order:
        name = records[i].get(ID)
        if type(name) is not str:
            name = name.item() if isinstance(name, np.generic) else name
            plain = isinstance(name, str | int | float | bool)
            name = int(i) if is_missing(name) else name if plain else str(name)
        names.append(name)
    return names


def check_ids(records: Sequence[Record]) -> None:
    """Refuse candidates that share an id; those without one may be alike."""
    try:
        if len(set(map(_ID_OF, records))) == len(records):
            return
    except (KeyError, TypeError):  # some have none, or one that is no plain value
        pass
    named = [record for record in records if ID in record and not is_missing(record[ID])]
    ids = identities(named, range(len(named)))
    if len(set(ids)) < len(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        raise InvalidInput("candidates", "have unique ids", f"{shorten(twice)} twice")


def positions(candidates: Any, order: Any) -> Any:
    """Return an order with the positions of the candidates that it names."""
    if not (isinstance(order, list | tuple) and any(isinstance(each, str) for each in order)):
        return order
    records = as_records(candidates)
    if records is None:
        return order
    names = identities(records, range(len(records)))
    places = []
    for each in order:
        if isinstance(each, str) and names.count(each) != 1:
            rule = "name candidates of the round, each of which has its own id"
            raise InvalidInput("order", rule, repr(each))
        places.append(names.index(each) if isinstance(each, str) else each)
    return places


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' for missing
        return True
    return isinstance(value, numeric.Real) and bool(value != value)


def is_number(value: Any) -> bool:
    return isinstance(value, numeric.Real | Decimal | np.bool_) and not isinstance(
        value, np.timedelta64
    )


def infer(value: Any, where: str) -> Kind | None:
    """The kind of a field by one of its values; None if it is missing."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str | bool | np.bool_):
        return Category()
    if is_number(value):
        return None if is_missing(value) else Number()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        if all(isinstance(each, str) for each in value):
            return Tags() if value else None
        if not isinstance(value, set | frozenset) and all(map(is_number, value)):
            return Embedding()
    if is_missing(value):
        return None
    raise InvalidInput(
        where, "be text, a number, a boolean, a list of numbers or of text, or None", shorten(value)
    )


def shorten(value: Any) -> str:
    try:
        text = f"{value!r}"
    except ValueError:  # of very many digits
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as_before(kind: str) -> str:
    return f"be {_WORDS[kind]}, as declared or as in earlier outcomes"


def read_category(value: Any, strict: bool, where: str) -> str:
    """The text by which a category is known; equal values have equal texts."""
    if isinstance(value, str):
        return f"t{str.__str__(value)}"
    if is_missing(value):
        return "missing"
    if is_number(value):
        try:
            whole = int(value)
            if not strict or (whole == value and whole in (0, 1)):
                return f"n{whole}" if whole == value else f"n{float(value)!r}"
        except (ArithmeticError, ValueError):  # infinite, a signalling NaN, too many digits
            pass
    rule = _as_before("category") if strict else "be text, a number or a boolean, as a category is"
    raise InvalidInput(where, rule, shorten(value))


def read_number(value: Any, where: str) -> float:
    """A number, NaN if it is missing."""
    if is_missing(value):
        return math.nan
    if is_number(value):
        try:
            return float(value)
        except (OverflowError, ValueError):
            raise InvalidInput(where, "be within the range of a float", shorten(value)) from None
    raise InvalidInput(where, _as_before("number"), shorten(value))


def read_list(value: Any, kind: str, where: str) -> list[Any] | None:
    if is_missing(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    raise InvalidInput(where, _as_before(kind), shorten(value))


def read_embedding(value: Any, width: int, where: str) -> Vector | None:
    """A list of numbers, folded to its width if it is longer than any."""
    given = read_list(value, "embedding", where)
    if not given:
        return None
    try:
        if not all(map(is_number, given)):
            raise TypeError
        vector = np.array([float(each) for each in given])
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(where, _as_before("embedding"), shorten(value)) from None
    if not (np.abs(vector) <= MAX_NUMBER).all():
        raise InvalidInput(where, f"hold numbers of at most {MAX_NUMBER:g}", shorten(value))
    if len(vector) > MAX_EMBEDDING == width:
        return fold(vector)
    if len(vector) != width:
        raise InvalidInput(where, f"have {plural(width, 'number')}", len(vector))
    return vector


def fold(vector: Vector) -> Vector:
    """Fold a long vector into ``MAX_EMBEDDING`` numbers: each is added to one, with a sign.

    Inner products are kept in the mean.
    """
    rng = np.random.Generator(np.random.PCG64(len(vector)))
    places = rng.integers(MAX_EMBEDDING, size=len(vector))
    signs = np.where(rng.integers(2, size=len(vector)) == 1, 1.0, -1.0)
    folded = np.zeros(MAX_EMBEDDING)
    np.add.at(folded, places, signs * vector)
    return folded


def read_tags(value: Any, where: str) -> list[str | None]:
    given = read_list(value, "tags", where) or []
    if not all(isinstance(each, str) for each in given):
        raise InvalidInput(where, _as_before("tags"), shorten(value))
    tags = sorted(set(given))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(where, f"hold at most {MAX_TAGS} tags", len(tags))
    return list(tags)


def read_words(value: Any, where: str) -> list[str | None]:
    if is_missing(value):
        return []
    if not isinstance(value, str):
        raise InvalidInput(where, _as_before("text"), shorten(value))
    return list(dict.fromkeys(_WORD.findall(value.lower())))[:MAX_TAGS]


_WORD = re.compile(r"\w+")
_WORDS = {
    "category": "text or a boolean",
    "number": "a number",
    "text": "text",
    "tags": "a list of text",
    "embedding": "a list of numbers",
}
