"""The columns of a log: what each holds, its type, and what it is needed for."""

from __future__ import annotations

from dataclasses import dataclass
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
    lists: int
    holds: str
    enables: str


COLUMNS = {
    "id": Column("text", 0, "id of the decision: unique text or whole number", "everything"),
    "time": Column(
        "time", 0, "ISO 8601 text, timestamp or number, never decreasing", "drift over time"
    ),
    "policy_version": Column(
        "text", 0, "version of the policy that decided: text or whole number", "telling them apart"
    ),
    "candidates": Column(
        "record",
        1,
        "the candidates: records (dictionaries, or JSON text) or unique ids",
        "policies on records; ids in `order`",
    ),
    "context": Column(
        "record",
        0,
        "what the candidates share: a dictionary, or JSON text; without it, all columns that are "
        "not part of the format",
        "policies on records",
    ),
    "items": Column(
        "number", 2, "one row of numbers per candidate, unless they are records", "evaluation"
    ),
    "order": Column(
        "index", 1, "the candidates played, in order: indices from 0, or ids", "everything"
    ),
    "features": Column(
        "number",
        2,
        "the rows that were played, as the policy's feature map made them",
        "warm start (or `items`, or records)",
    ),
    "tried": Column(
        "whole", 0, "number of attempts in `order`, or the list of what was tried", "everything"
    ),
    "succeeded": Column("truth", 0, "whether the last attempt succeeded", "everything"),
    "outcome_costs": Column(
        "number",
        1,
        "actual cost of each attempt, if known only afterwards: `tried` numbers",
        "evaluation, and learning what attempts cost",
    ),
    "learned": Column("truth", 0, "false if the outcome is excluded from learning", "warm start"),
    "not_attributable": Column(
        "whole", 1, "positions, from 1, of failures that say nothing about candidates", "warm start"
    ),
    "outcome_seq": Column(
        "whole",
        0,
        "unique whole numbers: outcomes arrived, and are learned, in this order",
        "warm start in an order other than that of the rows",
    ),
    "rewards": Column("number", 1, "reward of a success at attempt 1, 2, ..., b", "evaluation"),
    "losses": Column("number", 1, "loss of giving up after 0, 1, ..., b attempts", "evaluation"),
    "costs": Column(
        "number",
        1,
        "cost of an attempt, one number per candidate; records may have a field `cost`",
        "evaluation, if candidates have prices",
    ),
    "success_values": Column(
        "number",
        1,
        "what a success earns on top of its reward, one number per candidate; records may have a "
        "field `value`",
        "evaluation, if candidates have prices",
    ),
    "patience": Column(
        "number",
        0,
        "probability that a cascade continues after a failure, as told the policy; 1 if missing",
        "evaluation of policies that use it",
    ),
    "budget": Column("whole", 0, "maximum number of attempts; b if missing", "evaluation"),
    "propensity": Column(
        "number",
        0,
        "probability of this sequence including its length, above 0",
        "replay and importance sampling",
    ),
    "prefix_propensities": Column(
        "number",
        1,
        "probability of its first 1, 2, ..., len(order) items",
        "doubly robust estimates, and importance sampling with less variance",
    ),
}
IDS = "ids"  # in place of `order`: always ids, though they be whole numbers
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
    """Tell whether a column belongs to the format, in either form."""
    own = (IDS, POSITION, CANDIDATE)
    return name in COLUMNS or name in own or name.startswith(FEATURE_PREFIX)
