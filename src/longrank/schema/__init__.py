"""Schema: how records and their context become the rows that a learner scores."""

from longrank.schema.kinds import Category, Embedding, Number, Tags, Text
from longrank.schema.prices import have_prices, priced, read_prices
from longrank.schema.schema import Schema
from longrank.schema.values import (
    ID,
    MAX_EMBEDDING,
    MAX_TAGS,
    Record,
    as_records,
    check_ids,
    fold,
    identities,
    infer,
    positions,
)

__all__ = [
    "ID",
    "MAX_EMBEDDING",
    "MAX_TAGS",
    "Category",
    "Embedding",
    "Number",
    "Record",
    "Schema",
    "Tags",
    "Text",
    "as_records",
    "check_ids",
    "fold",
    "have_prices",
    "identities",
    "infer",
    "positions",
    "priced",
    "read_prices",
]
