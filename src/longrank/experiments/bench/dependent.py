"""4. Dependent ranking, against the greedy that scores every item anew at every position."""

from __future__ import annotations

import numpy as np

from longrank import kernels
from longrank.experiments.bench import plain
from longrank.experiments.bench.measure import Row, alternate, ratio
from longrank.experiments.bench.plain import Matrix, Vector

K, B, TOPICS = 1_000, 100, 30
Case = tuple[Matrix, Vector, Matrix, float]  # topics, weights, M^-1, bonus


def usual(items: int = K, topics: int = TOPICS) -> Case:
    """Topics of a mixture; a belief after a thousand observations."""
    rng = np.random.default_rng(0)
    seen = 2.0 * rng.dirichlet(np.full(topics, 0.3), 1_000) - 1.0
    inverse = np.asarray(np.linalg.inv(10.0 * np.eye(topics) + seen.T @ seen / topics), np.float64)
    return rng.dirichlet(np.full(topics, 0.3), items), rng.normal(size=topics), inverse, 0.3


def adversarial() -> dict[str, Case]:
    """Where bounds help little: alike items, flat topics, widths that count for everything."""
    rng = np.random.default_rng(1)
    some, weights, inverse, _ = usual()
    flat = rng.dirichlet(np.full(TOPICS, 50.0), K)
    half = rng.normal(size=(TOPICS, TOPICS))
    wild = half @ half.T  # far from diagonal: the bound on a width is loose
    sizes = rng.random((K, 1))
    return {
        "all items equal": (np.repeat(some[:1], K, axis=0), weights, inverse, 0.3),
        "flat topics, no weights": (flat, np.zeros(TOPICS), inverse, 0.3),
        "flat topics, wild widths": (flat, 0.01 * weights, wild, 10.0),
        "wild widths": (some, np.zeros(TOPICS), wild, 10.0),
        "one direction": (sizes * some, np.zeros(TOPICS), np.ones((TOPICS, TOPICS)), 1.0),
    }


def against_plain(what: str, case: Case, most: float, count: int = B, blocks: int = 25) -> Row:
    def ours() -> plain.Order:
        return kernels.greedy_coverage(*case, np.inf, count)[0]

    def theirs() -> plain.Order:
        return plain.greedy(*case, count)

    same = np.array_equal(ours(), theirs())
    times = alternate({"ours": ours, "plain": theirs}, blocks)
    row = ratio(what, times["ours"], times["plain"], most, "plain greedy")
    told = "same sequence" if same else "ANOTHER sequence"
    return Row(row.what, row.value, row.most, f"{row.raw}; {told}")


def figures() -> list[Row]:
    what = f"dependent ranking, k = {K}, b = {B}, d' = {TOPICS}, against plain greedy"
    rows = [against_plain(what, usual(), 0.1)]
    for name, case in adversarial().items():
        rows.append(against_plain(f"dependent ranking, adversarial: {name}", case, 1.3, blocks=5))
    return rows
