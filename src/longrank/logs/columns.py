"""The columns of a history: their names, what they hold, and what each makes possible."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column; ``lists`` says how deep its lists are (in CSV they are JSON text)."""

    name: str
    holds: str
    enables: str
    lists: int = 0


COLUMNS = {
    column.name: column
    for column in (
        Column("id", "the decision's id: text or a whole number, each once", "everything"),
        Column("time", "ISO 8601 text, a timestamp, or a number; never falling", "drift over time"),
        Column("policy_version", "what decided: text or a whole number", "telling versions apart"),
        Column("candidates", "ids of the candidates, each once", "ids in `order`", 1),
        Column("items", "one row of features for each candidate", "evaluation", 2),
        Column("order", "the candidates played, in order: indices from 0, or ids", "everything", 1),
        Column("features", "the rows that were played, as they were ranked", "warm start", 2),
        Column("tried", "how many of `order` were tried", "everything"),
        Column("succeeded", "whether the last one tried succeeded", "everything"),
        Column("learned", "false where the outcome is not to be learned from", "warm start"),
        Column(
            "not_attributable",
            "positions, from 1, of failures that say nothing about the candidates",
            "warm start",
            1,
        ),
        Column(
            "outcome_seq",
            "whole numbers, each once: outcomes came in, and are learned, in this order",
            "warm start in another order than that of the rows",
        ),
        Column("rewards", "for a success at try 1, 2, ..., b", "evaluation", 1),
        Column("losses", "for giving up after 0, 1, ..., b tries", "evaluation", 1),
        Column("budget", "the most tries that were allowed; b where it is missing", "evaluation"),
        Column(
            "propensity",
            "the probability of this sequence and of its length, above 0",
            "replay and importance sampling",
        ),
        Column(
            "prefix_propensities",
            "the probability of its first 1, 2, ..., len(order) items",
            "doubly robust estimates, and importance sampling with less variance",
            1,
        ),
    )
}
REQUIRED = ("id", "order", "tried", "succeeded")

# Long form has one row for each candidate, those of a decision one after the other. The columns
# of the decision are repeated; these two stand in place of `candidates`, `items` and `order`.
POSITION = "position"  # 1, 2, ... in the order played; missing for a candidate that was not
CANDIDATE = "candidate"
FEATURE_PREFIX = "x_"  # x_0, x_1, ...: the features of the candidate
