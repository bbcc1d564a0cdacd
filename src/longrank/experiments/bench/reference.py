"""Plain numpy versions, which speed and results are compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank import Payoffs

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Order = NDArray[np.int64]


def sigmoid(scores: Vector) -> Vector:
    """The logistic curve."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


class NumpyInd:
    """Algorithm 1 in numpy."""

    def __init__(
        self, dim: int, budget: int, alpha: float = 0.1, rate: float = 5.0, radius: float = 3.0
    ) -> None:
        self.budget, self.alpha, self.rate, self.radius = budget, alpha, rate, radius
        self.weights = np.zeros(dim)
        self.inverse = np.eye(dim) / budget

    def rank(self, items: Matrix, payoffs: Payoffs) -> Order:
        widths = np.sqrt(self.alpha * ((items @ self.inverse) * items).sum(axis=1))
        scores = items @ self.weights + widths
        order = np.argsort(-scores, kind="stable")[: self.budget]
        p = sigmoid(scores[order])
        survival = np.concatenate([[1.0], np.cumprod(1.0 - p)])
        gained = np.concatenate([[0.0], np.cumsum(survival[:-1] * p * payoffs.rewards[: len(p)])])
        values = gained + survival * payoffs.losses[: len(p) + 1]
        return order[: len(p) - int(np.argmax(values[::-1]))]

    def learn(self, rows: Matrix, succeeded: bool) -> None:
        for i, x in enumerate(rows):
            s = 1.0 if succeeded and i == len(rows) - 1 else -1.0
            direction = self.inverse @ x
            square, mean = x @ direction, x @ self.weights
            if abs(mean) > self.radius:
                edge = np.copysign(self.radius, mean)
                self.weights -= (mean - edge) / square * direction
                mean = edge
            self.inverse -= np.outer(direction, direction) / (1.0 + square)
            self.weights += self.rate * s / (1.0 + np.exp(s * mean)) / (1.0 + square) * direction


def greedy(topics: Matrix, weights: Vector, inverse: Matrix, bonus: float, count: int) -> Order:
    """Algorithm 2's order, with every item scored anew at every position."""
    remaining, free = np.ones(topics.shape[1]), np.ones(len(topics), np.bool_)
    order = np.empty(count, np.int64)
    for position in range(count):
        rows = (2.0 * topics * remaining - 1.0) / np.sqrt(topics.shape[1])
        squares = ((rows @ inverse) * rows).sum(axis=1)
        scores = rows @ weights + bonus * np.sqrt(np.maximum(squares, 0.0))
        best = int(np.argmax(np.where(free, scores, -np.inf)))
        order[position] = best
        free[best] = False
        remaining *= 1.0 - topics[best]
    return order


def cold_fit(rows: Matrix, successes: Vector, penalty: float) -> Vector:
    """Penalised logistic regression by Newton steps from zero."""
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        p = sigmoid(rows @ weights)
        hessian = (rows * (p * (1.0 - p))[:, np.newaxis]).T @ rows
        hessian += penalty * np.eye(len(weights))
        weights += np.linalg.solve(hessian, rows.T @ (successes - p) - penalty * weights)
    return weights
