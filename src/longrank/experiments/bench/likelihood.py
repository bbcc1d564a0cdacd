"""6. GL-CDCM at round 500, against Ind; and how far its fit is from a cold one."""

from __future__ import annotations

import time

import numpy as np

from longrank import Payoffs, named
from longrank.experiments.bench.measure import Row, Times, ratio
from longrank.experiments.bench.plain import Matrix, Vector
from longrank.experiments.bench.rounds import B, D, playing, rounds
from longrank.policies.base import Believer

FIRST, LAST, BLOCKS = 490, 510, 7


def cold_fit(rows: Matrix, successes: Vector, penalty: float) -> Vector:
    """Newton from zero, in numpy."""
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-rows @ weights))
        hessian = (rows * (p * (1.0 - p))[:, np.newaxis]).T @ rows
        hessian += penalty * np.eye(len(weights))
        weights += np.linalg.solve(hessian, rows.T @ (successes - p) - penalty * weights)
    return weights


def figures() -> list[Row]:
    dealt, payoffs = rounds(count=LAST), Payoffs.exponential(B)
    taken: dict[str, list[float]] = {"ind": [], "gl-cdcm": []}
    for _ in range(BLOCKS):
        for name, blocks in taken.items():
            more = {"max_budget": B} if name == "ind" else {}
            policy = named(name, dim=D, **more)
            play = playing(policy, payoffs)
            for one in dealt[:FIRST]:
                play(*one)
            for one in dealt[FIRST:]:
                start = time.process_time()
                play(*one)
                blocks.append(time.process_time() - start)
    ours, ind = (Times(tuple(taken[name])) for name in ("gl-cdcm", "ind"))
    assert isinstance(policy, Believer)
    learner = policy.learner
    state = learner.state()
    cold = cold_fit(state["rows"], state["successes"].astype(np.float64), learner.prior)
    off = float(np.abs(cold - learner.weights).max() / max(1.0, np.abs(cold).max()))
    told = f"{learner.updates:,} observed items, d = {D}"
    return [
        ratio("a round of GL-CDCM at t = 500, against Ind", ours, ind, 30.0, "Ind"),
        Row("GL-CDCM's weights from those of a cold fit", off, 1e-8, told, "relative"),
    ]
