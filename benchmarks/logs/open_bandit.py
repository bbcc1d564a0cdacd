"""The click rate of the Thompson policy, predicted from the random log of the Open Bandit data.

    pip download obp --no-binary obp --no-deps && tar xzf obp-*.tar.gz
    python benchmarks/logs/open_bandit.py obp-*/obp/dataset/obd [--campaigns men,women,all]

The sample has two logs for each campaign of a fashion shop, of the same week: one of a policy that
draws items evenly, one of a Bernoulli Thompson policy (bts). Three items are shown at a time; the
data has a row for each, and every row counts here as a decision with a single try. The policy to
judge draws items with the shares that bts showed them with at each of the three positions.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from longrank import Payoffs, Random, Ranking
from longrank.logs import History, evaluate

ONE_TRY = Payoffs.vanilla(1)
CAMPAIGNS = ("men", "women", "all")
POSITIONS = 3


class Shares(Random):
    """Draw one item, with given shares for each position: shape (positions, items).

    The last column of the items tells the position, as a part of all positions.
    """

    def __init__(self, shares: np.ndarray) -> None:
        super().__init__(rng=0)
        self.shares = shares

    def choices(self, items: Any, _payoffs: Payoffs, order: Any, *_: Any, **__: Any) -> Any:
        table = np.zeros((len(order) + 1, len(items) + 1))
        table[0, :-1] = self._here(items)
        table[1:2, -1] = 1.0  # one try, and it ends
        return table

    def propose(self, items: Any, payoffs: Payoffs, *_: Any, rng: Any = None, **__: Any) -> Ranking:
        drawn = self._generator(rng).choice(len(items), p=self._here(items))
        return self.receipt(items, payoffs, [int(drawn)])

    def _here(self, items: Any) -> np.ndarray:
        return self.shares[round(float(items[0][-1]) * POSITIONS) - 1]


def read(folder: Path, behaviour: str, campaign: str) -> list[dict[str, str]]:
    """The rows of a log, as they are in the file."""
    with (folder / behaviour / campaign / f"{campaign}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def item_numbers(folder: Path, campaign: str) -> np.ndarray:
    """The one feature of the items that is a number, by item."""
    with (folder / "random" / campaign / "item_context.csv").open(encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["item_id"]))
    return np.array([float(row["item_feature_0"]) for row in rows])


def decisions(rows: list[dict[str, str]], numbers: np.ndarray) -> Iterator[dict[str, Any]]:
    """A log of single tries: every row is a decision for one position."""
    for t, row in enumerate(rows):
        place = int(row["position"]) / POSITIONS
        items = np.column_stack([numbers, np.full(len(numbers), place)])
        chance = float(row["propensity_score"])
        yield {
            "id": t,
            "time": row["timestamp"],
            "items": items.tolist(),
            "order": [int(row["item_id"])],
            "tried": 1,
            "succeeded": row["click"] == "1",
            "rewards": ONE_TRY.rewards.tolist(),
            "losses": ONE_TRY.losses.tolist(),
            "prefix_propensities": [chance],
            "propensity": chance,
        }


def count_shares(rows: list[dict[str, str]], items: int) -> np.ndarray:
    """How often each item was shown at each position."""
    counts = np.zeros((POSITIONS, items))
    for row in rows:
        counts[int(row["position"]) - 1, int(row["item_id"])] += 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def rate(rows: list[dict[str, str]]) -> tuple[float, float, float]:
    """The click rate of a log with its 95 % interval (Wilson)."""
    n, z = len(rows), 1.96
    share = sum(row["click"] == "1" for row in rows) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return share, middle - half, middle + half


def predict(folder: Path, campaign: str) -> dict[str, tuple[float, float, float]]:
    """The click rates of both logs, and that of bts as the random log predicts it."""
    drawn, thompson = (read(folder, behaviour, campaign) for behaviour in ("random", "bts"))
    numbers = item_numbers(folder, campaign)
    policy = Shares(count_shares(thompson, len(numbers)))
    found: Any = evaluate(History(list(decisions(drawn, numbers))), {"bts": policy})
    if hasattr(found, "verdicts"):
        judged = found.verdicts["bts"]
    else:
        [judged] = [e for e in found if (e.policy, e.estimator) == ("bts", "doubly robust")]
    if judged.refused:
        print(f"{campaign}: refused, {judged.refused}")
    else:
        print(f"{campaign}: {judged.estimator}, {judged.effective:,.0f} effective decisions")
    return {
        "random": rate(drawn),
        "predicted": (judged.value, judged.low, judged.high),
        "bts": rate(thompson),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="obd, with random/ and bts/")
    parser.add_argument("--campaigns", default=",".join(CAMPAIGNS))
    chosen = parser.parse_args()
    print("| campaign | random, logged | bts, predicted | bts, logged |")
    print("| --- | --- | --- | --- |")
    for campaign in chosen.campaigns.split(","):
        fields = [
            f"{100 * value:.2f} % ({100 * low:.2f} to {100 * high:.2f})"
            for value, low, high in predict(chosen.folder, campaign).values()
        ]
        print(f"| {campaign} | {' | '.join(fields)} |", flush=True)


if __name__ == "__main__":
    main()
