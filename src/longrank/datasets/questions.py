"""Questions that several language models answered: scores, clusters and list prices.

Two JSON files in the format of LLMRouter: ``train.json``, a list of questions with the score of
every model, and ``default_llm.json``, the list prices of the models by name.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.datasets.containers import DAMAGED, Names, opened
from longrank.errors import BadFile, InvalidInput

SCORES = ("train.json",)
PRICES = ("default_llm.json",)
PARTS = (SCORES, PRICES)
SUCCESS = 0.5  # the lowest score of an answer that counts as right
_REFUSED = (ValueError, LookupError, TypeError)
_QUESTION = (
    "a question of text with a cluster_id (a whole number or a name) and scores from 0 to 1, "
    "of the same models as the first"
)
_PRICE = "input_price and an output_price, numbers of at least 0,"


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions, and which of the models answers each of them.

    Attributes
    ----------
    texts, clusters
        The text of each question, and the name of the cluster that it is in.
    models
        The names of the models, in alphabetical order.
    prices
        Input and output price of each model, added: US dollars per million tokens.
    answered
        Whether a model answers a question (its score is at least 0.5), shape (questions, models).
    """

    texts: tuple[str, ...]
    clusters: tuple[str, ...]
    models: tuple[str, ...]
    prices: NDArray[np.float64]
    answered: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.texts)

    def candidates(self, max_cost: float) -> list[dict[str, Any]]:
        """Return the models as candidates: the most expensive costs ``max_cost``.

        The others cost less, in proportion to their prices. An answer is worth 1.
        """
        if not (math.isfinite(max_cost) and max_cost >= 0.0):
            raise InvalidInput("max_cost", "be a finite number of at least 0", max_cost)
        costs = (max_cost * self.prices / self.prices.max()).tolist()
        return [{"id": name, "cost": cost} for name, cost in zip(self.models, costs, strict=True)]

    def context(self, question: int) -> dict[str, Any]:
        """Return the context of a question: its cluster, length and words."""
        text = self.texts[question]
        return {"cluster": self.clusters[question], "length": len(text), "words": text}


def read(path: Path) -> Questions:
    """Read the two files from a folder or an archive; :class:`BadFile` says what is wrong."""
    rows, label = _load(path, SCORES)
    if not isinstance(rows, list) or not rows:
        raise BadFile(f"{label} must be a list of questions, got {_shown(rows)}")
    models: list[str] = []
    texts, clusters, scores = [], [], []
    for number, row in enumerate(rows, 1):
        try:
            text, cluster, given = row["question"], row["cluster_id"], row["scores"]
            models = models or sorted(given)
            if not isinstance(text, str) or type(cluster) not in (int, str) or not models:
                raise ValueError
            if sorted(given) != models:
                raise ValueError
            scores.append([_number(given[model], 1.0) for model in models])
        except _REFUSED:
            where = f"{label}, question {number},"
            raise BadFile(f"{where} must be {_QUESTION}, got {_shown(row)}") from None
        texts.append(text)
        clusters.append(str(cluster))
    prices = _read_prices(path, models)
    answered = np.array(scores) >= SUCCESS
    return Questions(tuple(texts), tuple(clusters), tuple(models), prices, answered)


def _read_prices(path: Path, models: Sequence[str]) -> NDArray[np.float64]:
    listed, label = _load(path, PRICES)
    prices = []
    for model in models:
        try:
            row = listed[model]
            prices.append(_number(row["input_price"]) + _number(row["output_price"]))
        except _REFUSED:
            raise BadFile(f"{label} must have an {_PRICE} for {model}") from None
    if not any(prices):
        raise BadFile(f"{label} must have a price above 0, got 0 for every model")
    return np.array(prices)


def _load(path: Path, names: Names) -> tuple[Any, str]:
    with opened(path, names) as (stream, label):
        try:
            return json.loads(stream.read()), label
        except DAMAGED as error:
            raise BadFile(f"{label} cannot be read: {error}") from error
        except ValueError as error:  # neither JSON nor UTF-8
            raise BadFile(f"{label} must be JSON: {error}") from error


def _number(value: Any, maximum: float = math.inf) -> float:
    if isinstance(value, bool) or not 0.0 <= value <= maximum or value == math.inf:
        raise ValueError
    return float(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
