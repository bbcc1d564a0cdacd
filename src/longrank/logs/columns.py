"""The columns of a log: what each holds, its type, and what it is needed for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Row = dict[str, Any]
Kind = Literal["text", "time", "index", "truth", "whole", "number", "record"]


@dataclass(frozen=True)
class Column:
    """A column of the format.

    ``kind`` is the type of its values (``text`` may also be a whole number, ``index`` also the
    id of a candidate, ``record`` a dictionary or a name), ``lists`` how deeply they are nested.
    CSV stores lists as JSON text, Parquet stores records so.
    """

    name: str
    holds: str
    enables: str
    kind: Kind
    lists: int = 0


COLUMNS = {
    column.name: column
    for column in (
        Column("id", "id of the decision: unique text or whole number", "everything", "text"),
        Column(
            "time",
            "ISO 8601 text, timestamp or number, never decreasing",
            "drift over time",
            "time",
        ),
        Column(
            "policy_version",
            "version of the policy that decided: text or whole number",
            "telling versions apart",
            "text",
        ),
        Column(
            "candidates",
            "the candidates: records (dictionaries, or JSON text) or unique ids",
            "policies on records; ids in `order`",
            "record",
            1,
        ),
        Column(
            "context",
            "what the candidates share: a dictionary, or JSON text; without it, all columns that "
            "are not part of the format",
            "policies on records",
            "record",
        ),
        Column(
            "items",
            "one row of numbers per candidate, if the candidates are not records",
            "evaluation",
            "number",
            2,
        ),
        Column(
            "order",
            "the candidates played, in order: indices from 0, or ids",
            "everything",
            "index",
            1,
        ),
        Column(
            "features",
            "the rows that were played, as the policy's feature map made them",
            "warm start (or `items`, or records)",
            "number",
            2,
        ),
        Column(
            "tried",
            "number of attempts in `order`, or the list of what was attempted",
            "everything",
            "whole",
        ),
        Column("succeeded", "whether the last attempt succeeded", "everything", "truth"),
        Column(
            "outcome_costs",
            "actual cost of each attempt, if known only afterwards: `tried` numbers",
            "evaluation, and learning what attempts cost",
            "number",
            1,
        ),
        Column("learned", "false if the outcome is excluded from learning", "warm start", "truth"),
        Column(
            "not_attributable",
            "positions, from 1, of failures that say nothing about the candidates",
            "warm start",
            "whole",
            1,
        ),
        Column(
            "outcome_seq",
            "unique whole numbers: outcomes arrived, and are learned, in this order",
            "warm start in an order other than that of the rows",
            "whole",
        ),
        Column("rewards", "reward of a success at attempt 1, 2, ..., b", "evaluation", "number", 1),
        Column(
            "losses", "loss of giving up after 0, 1, ..., b attempts", "evaluation", "number", 1
        ),
        Column(
            "costs",
            "cost of an attempt, one number per candidate; records may have a field `cost`",
            "evaluation, if candidates have prices",
            "number",
            1,
        ),
        Column(
            "success_values",
            "what a success earns on top of its reward, one number per candidate; records may have "
            "a field `value`",
            "evaluation, if candidates have prices",
            "number",
            1,
        ),
        Column(
            "patience",
            "probability that a cascade continues after a failure, as passed to the policy; 1 if "
            "missing",
            "evaluation of policies that use it",
            "number",
        ),
        Column("budget", "maximum number of attempts; b if missing", "evaluation", "whole"),
        Column(
            "propensity",
            "probability of this sequence including its length, above 0",
            "replay and importance sampling",
            "number",
        ),
        Column(
            "prefix_propensities",
            "probability of its first 1, 2, ..., len(order) items",
            "doubly robust estimates, and importance sampling with less variance",
            "number",
            1,
        ),
    )
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
