"""One round, rank and learn, against the same algorithm in plain numpy: `make bench`.

Both run Ind (Algorithm 1) on the same items and outcomes, k = 100, d = 10, b = 10, alternating in
blocks so that a noisy machine hurts both alike; the figure is the ratio of the medians.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from longrank import Outcome, Payoffs, named, unit_rows

K, D, B, ROUNDS, BLOCKS = 100, 10, 10, 200, 15
ALPHA, RATE, RADIUS = 0.1, 5.0, 3.0


class NumpyInd:
    """Algorithm 1 as one would write it in numpy."""

    def __init__(self) -> None:
        self.w = np.zeros(D)
        self.inverse = np.eye(D) / B

    def rank(self, x: np.ndarray, payoffs: Payoffs) -> np.ndarray:
        scores = x @ self.w + np.sqrt(ALPHA * np.einsum("ij,jk,ik->i", x, self.inverse, x))
        order = np.argsort(-scores, kind="stable")[:B]
        p = 1.0 / (1.0 + np.exp(-scores[order]))
        survival = np.concatenate([[1.0], np.cumprod(1.0 - p)])
        gained = np.concatenate([[0.0], np.cumsum(survival[:-1] * p * payoffs.rewards)])
        values = gained + survival * payoffs.losses
        return order[: B - int(np.argmax(values[::-1]))]

    def learn(self, rows: np.ndarray, succeeded: bool) -> None:
        for i, x in enumerate(rows):
            s = 1.0 if succeeded and i == len(rows) - 1 else -1.0
            direction = self.inverse @ x
            square, mean = x @ direction, x @ self.w
            if abs(mean) > RADIUS:
                edge = np.copysign(RADIUS, mean)
                self.w -= (mean - edge) / square * direction
                mean = edge
            self.inverse -= np.outer(direction, direction) / (1.0 + square)
            self.w += RATE * s / (1.0 + np.exp(s * mean)) / (1.0 + square) * direction


def main() -> None:
    rng = np.random.default_rng(0)
    sets = [unit_rows(rng.normal(size=(K, D))) for _ in range(ROUNDS)]
    truth = rng.normal(size=D)
    wins = [rng.random(K) < 1.0 / (1.0 + np.exp(-2.0 * x @ truth)) for x in sets]
    payoffs = Payoffs.exponential(B)
    ours = named("ind", dim=D, max_budget=B, exploration=ALPHA, rate=RATE, radius=RADIUS)
    plain = NumpyInd()

    def our_round(x: np.ndarray, y: np.ndarray) -> None:
        ranking = ours.rank(x, payoffs)
        hits = np.flatnonzero(y[ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        ours.learn(ranking, Outcome(tried, bool(hits.size)))

    def plain_round(x: np.ndarray, y: np.ndarray) -> None:
        order = plain.rank(x, payoffs)
        hits = np.flatnonzero(y[order])
        tried = int(hits[0]) + 1 if hits.size else len(order)
        plain.learn(x[order[:tried]], bool(hits.size))

    our_round(sets[0], wins[0])  # compiles
    times: dict[str, list[float]] = {"longrank": [], "numpy": []}
    for _ in range(BLOCKS):
        for name, play in (("longrank", our_round), ("numpy", plain_round)):
            start = time.perf_counter()
            for x, y in zip(sets, wins, strict=True):
                play(x, y)
            times[name].append((time.perf_counter() - start) / ROUNDS * 1e6)
    a, b = (statistics.median(times[name]) for name in ("longrank", "numpy"))
    print(
        f"a round, k = {K}, d = {D}, b = {B}: longrank {a:.1f} us, numpy {b:.1f} us, {b / a:.1f}x"
    )


if __name__ == "__main__":
    main()
