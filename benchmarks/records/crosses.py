"""What a shared column can do and what it cannot: the picture of docs/schemas.md.

python benchmarks/records/crosses.py [FOLDER]      # seconds
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Laplace, Outcome, Payoffs, recommended
from longrank.experiments.figures import legend, panels, save

ROUTES = ("adyen", "stripe")
BRANDS = ("visa", "mastercard", "discover", "amex")
TRUTH = np.array([[0.85, 0.75, 0.50, 0.35], [0.45, 0.55, 0.60, 0.80]])  # by route and brand
PAYMENTS, PAYOFFS = 4_000, Payoffs.vanilla(1)


def columns(brand: int) -> np.ndarray:
    """Encode both routes as rows: one column a route, one a brand, which both routes share."""
    return np.hstack([np.eye(len(ROUTES)), np.tile(np.eye(len(BRANDS))[brand], (2, 1))]) / 2**0.5


def learn(seed: int) -> dict[str, np.ndarray]:
    """Learn from the same payments twice; return log-odds of a success by route and brand."""
    rng = np.random.default_rng(seed)
    shared = UCB(Laplace(len(ROUTES) + len(BRANDS)), exploration=0.0)
    crossed = recommended()
    for _ in range(PAYMENTS):
        route, brand = int(rng.integers(len(ROUTES))), int(rng.integers(len(BRANDS)))
        outcome = Outcome(1, bool(rng.random() < TRUTH[route, brand]))
        shared.learn(shared.receipt(columns(brand), PAYOFFS, [route]), outcome)
        context = {"brand": BRANDS[brand]}
        crossed.learn(crossed.receipt(list(ROUTES), PAYOFFS, [route], context=context), outcome)
    found = {"shared column: route + brand": [], "crossed: route + route x brand": []}
    for brand, name in enumerate(BRANDS):
        receipts = (
            shared.receipt(columns(brand), PAYOFFS, [0]),
            shared.receipt(columns(brand), PAYOFFS, [1]),
            crossed.receipt(list(ROUTES), PAYOFFS, [0], context={"brand": name}),
            crossed.receipt(list(ROUTES), PAYOFFS, [1], context={"brand": name}),
        )
        estimates = [float(receipt.estimates[0]) for receipt in receipts]
        for each, two in zip(found.values(), (estimates[:2], estimates[2:]), strict=True):
            each.append(two)
    return {title: log_odds(np.array(each).T) for title, each in found.items()}


def log_odds(chances: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(chances / (1.0 - chances)))


def draw(found: dict[str, np.ndarray], images: Path) -> None:
    figure, axes = panels(1, 2, width=4.4, height=3.4, sharey=True)
    styles = (("#0072b2", "o", "-"), ("#d55e00", "s", "--"))
    best = TRUTH.argmax(axis=0)
    for axis, (title, odds) in zip(axes.flat, found.items(), strict=True):
        for route, (colour, marker, line) in enumerate(styles):
            name = ROUTES[route]
            axis.plot(odds[route], line, marker=marker, ms=4, color=colour, label=name)
            truth = log_odds(TRUTH[route])
            axis.plot(truth, marker, mfc="none", color=colour, ms=10, label=f"{name}, truth")
        for brand, first in enumerate(odds.argmax(axis=0)):
            right = "right" if first == best[brand] else "wrong"
            text = f"{ROUTES[first]}\n{right}"
            weight = "normal" if right == "right" else "bold"
            axis.text(brand, -1.45, text, ha="center", va="center", fontsize=8, weight=weight)
        axis.set_xticks(range(len(BRANDS)), BRANDS, fontsize=9)
        axis.set(yticks=range(-1, 3), ylim=(-1.8, 2.4), xlim=(-0.4, len(BRANDS) - 0.6))
        axis.set_title(title, fontsize=10)
        axis.axhline(-1.1, color="#cccccc", linewidth=0.8)
    axes[0, 0].set_ylabel("log-odds of a success; below: who is first", fontsize=9)
    legend(figure)
    print(*save(figure, images / "schemas-crosses"))


if __name__ == "__main__":
    draw(learn(1), Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
