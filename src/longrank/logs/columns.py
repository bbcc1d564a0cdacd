"""The columns of a log: the format that ``columns.toml`` lists, and the names used in code."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

Row = dict[str, Any]
Kind = Literal["text", "time", "index", "truth", "whole", "number", "record"]


@dataclass(frozen=True)
class Column:
    """A column of the format: what it holds, and what needs it.

    ``kind`` is the type of its values (``text`` may also be a whole number, ``index`` also the
    id of a candidate, ``record`` a dictionary or a name), ``lists`` how deeply they are nested.
    CSV stores lists as JSON text, Parquet stores records so.
    """

    kind: Kind
    holds: str
    enables: str
    lists: int = 0


_LIST = tomllib.loads(resources.files(__package__).joinpath("columns.toml").read_text("utf-8"))
COLUMNS = {name: Column(**column) for name, column in _LIST.items()}
IDS = "ids"  # replaces `order`: always ids, even if they are whole numbers
REQUIRED = ("id", "order", "tried", "succeeded")
PRICES = ("costs", "success_values")
PAID = "outcome_costs"

# Long form has one row per candidate, those of a decision next to each other. It repeats the
# columns of the decision; these replace `candidates`, `items` and `order`. Without features each
# row is a record: its id, and all columns that differ between the candidates of a decision. Prices
# and `outcome_costs` are one number, that of the row's candidate.
POSITION = "position"  # 1, 2, ... in the order played; missing for candidates not played
CANDIDATE = "candidate"
FEATURE_PREFIX = "x_"  # x_0, x_1, ...: features of the candidate


def is_known(name: str) -> bool:
    """Return whether a column belongs to the format, in either form."""
    own = (IDS, POSITION, CANDIDATE)
    return name in COLUMNS or name in own or name.startswith(FEATURE_PREFIX)
