"""A small world, and logs of it, for the tests of logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from typer.testing import CliRunner

from longrank import (
    UCB,
    EpsilonGreedy,
    OnlineNewton,
    Outcome,
    Payoffs,
    PlackettLuce,
    Policy,
    Random,
    cli,
    named,
)
from longrank.logs import Checked, Decision, fit, record, write
from longrank.logs.batch import Batch
from longrank.logs.evaluation.evidence import Evidence, _expected, _tables
from longrank.logs.evaluation.target import choose
from longrank.logs.evaluation.weighing import EvidenceArrays, weigh
from longrank.simulation import LogisticWorld

TRUTH = np.array([2.0, -1.0, 1.0, 0.5])
PAYOFFS = Payoffs.linear(3, attempt_cost=0.15, give_up=-0.1)
FREE = Payoffs([1.0, 0.7, 0.4], [-0.2] * 4)
PRICED = FREE.priced([0.1, 0.0, 0.3, 0.05, 0.2], [0.0, 0.5, -0.2, 0.1, 0.3])
TWO = Payoffs.linear(2, attempt_cost=0.1)
ROUTES = [
    {"id": "adyen", "region": "eu", "cost": 0.2},
    {"id": "stripe", "region": "us", "value": 0.5, "cost": 0.05},
    {"id": "worldpay", "region": "eu"},
]
Rows = list[dict[str, Any]]

# A log in every form in which it can be read.
FORMS = {
    "parquet": lambda rows, folder: written(folder / "log.parquet", rows),
    "csv": lambda rows, folder: written(folder / "log.csv", rows),
    "jsonl": lambda rows, folder: written(folder / "log.jsonl", rows),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "pyarrow": lambda rows, _: pa.Table.from_pylist(rows),
    "dictionaries": lambda rows, _: rows,
}


def written(path, rows):
    assert write(path, rows) == len(rows)
    return path


def call(*arguments, code=0):
    """What a command prints on a wide terminal."""
    result = CliRunner().invoke(cli.app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def believing(weights: list[float], **settings: Any) -> OnlineNewton:
    learner = OnlineNewton(len(weights), max_budget=5, **settings)
    learner.weights[:] = weights
    return learner


def chance(seed: int = 1, temperature: float = 1.0) -> PlackettLuce:
    return PlackettLuce(believing([0.5, 0.0, 0.5, 0.0]), temperature=temperature, rng=seed)


def greedy(weights: list[float]) -> UCB:
    return UCB(believing(weights), exploration=0.0)


JUDGED = {
    "greedy": lambda: greedy([2.0, -1.0, 1.0, 0.0]),
    "chance": lambda: PlackettLuce(believing([2.0, -1.0, 1.0, 0.0]), temperature=0.5, rng=3),
    "epsilon": lambda: EpsilonGreedy(believing([2.0, -1.0, 1.0, 0.0]), epsilon=0.3, rng=3),
    "short": lambda: greedy([1.5, -2.0, 0.0, -0.5]),
}


def logged(
    policy: Policy,
    rounds: int,
    seed: int = 0,
    payoffs: Payoffs = PAYOFFS,
    items: int = 5,
    early: float = 0.0,
) -> Rows:
    """A log of a policy in the world; with ``early`` somebody may stop after a failure."""
    world, rng = LogisticWorld(TRUTH, items=items, seed=seed), np.random.default_rng(seed)
    rows = []
    for t in range(rounds):
        dealt = world.deal(t)
        ranking = policy.rank(dealt.items, payoffs)
        outcome = dealt.play(ranking.order)
        stops = np.flatnonzero(rng.random(len(ranking)) < early) + 1
        if stops.size and stops[0] < outcome.tried:
            outcome = Outcome(int(stops[0]), False)
        chances = None
        if isinstance(policy, PlackettLuce | Random):
            chances = policy.propensities(dealt.items, payoffs, ranking.order)
        told = {"items": dealt.items, "propensities": chances, "time": t}
        rows.append(record(t, ranking, outcome, payoffs, **told))
    return rows


def one_try(rows):
    """Rows of (context, item played, propensity, outcome or None) with three items."""
    return [
        {
            "id": t,
            "items": np.eye(6)[3 * context : 3 * context + 3].tolist(),
            "order": [item],
            "tried": None if won is None else 1,
            "succeeded": won,
            "rewards": [1.0],
            "losses": [0.0, 0.0],
            "propensity": propensity,
            "prefix_propensities": [propensity],
        }
        for t, (context, item, propensity, won) in enumerate(rows)
    ]


def always(item):
    """A policy that plays one of the three items in either context."""
    weights = [0.0] * 6
    weights[item] = weights[3 + item] = 3.0
    return greedy(weights)


def payments(
    rounds: int, seed: int = 0, *, real: bool = False, fewer: bool = False
) -> tuple[PlackettLuce, Rows]:
    """Let a policy learn about records with prices; returns it and its log.

    With ``real`` outcomes say what attempts cost, with ``fewer`` every other decision offers less.
    """
    policy, rng, rows = named("plackett-luce", rng=seed), np.random.default_rng(seed), []
    for t in range(rounds):
        routes = ROUTES[:2] if fewer and t % 2 == 0 else ROUTES
        context = {"brand": ("visa", "amex")[t % 2], "amount": float(t)}
        ranking = policy.rank(routes, TWO, context=context)
        chances = policy.propensities(routes, TWO, ranking.order, context=context)
        wins = np.flatnonzero(rng.random(len(ranking)) < 0.6)
        tried = int(wins[0]) + 1 if wins.size else len(ranking)
        costs = tuple(rng.random(tried).tolist()) if real else None
        outcome = Outcome(tried, bool(wins.size), costs)
        told = {"candidates": routes, "context": context, "propensities": chances}
        rows.append(record(t, ranking, outcome, TWO, **told))
        rows[-1]["expected"] = ranking.reward(TWO, outcome)
        policy.learn(ranking, outcome)
    return policy, rows


def said(folder, rows, *options):
    """What ``longrank evaluate`` says of a log and a policy that always plays the first item."""
    write(folder / "log.jsonl", rows)
    always(0).save(folder / "mine.longrank")
    command = ["evaluate", folder / "log.jsonl", "--policy", folder / "mine.longrank", *options]
    return CliRunner().invoke(cli.app, list(map(str, command)))


def weighted(weights: np.ndarray) -> Evidence:
    """Evidence of decisions that each earned 1 at their first action, with these weights."""
    n = len(weights)
    nothing = np.zeros(n)
    return Evidence(
        rewards=np.ones(n),
        weights=weights,
        last=np.zeros(n, np.int64),
        bounds=np.zeros((n, 3)),
        expected=np.zeros((n, 2)),
        deltas=np.zeros(weights.shape),
        log=Checked("made up", decisions=n, with_propensity=n),
        **dict.fromkeys(("matches", "unsupported", "starts", "modelled"), nothing),
        **dict.fromkeys(("stops", "short"), nothing),
        observed=np.ones(n, np.bool_),
        left=np.zeros(n, np.bool_),
        lengths=np.ones(n, np.int32),
        masses=weights,
        even=nothing,
        earned=weights[:, 0],
        earnable=np.tile([0.0, 1.0], (n, 1)),
        played=np.zeros((n, 1)),
    )


class Fixed:
    """Plays one sequence whatever is offered."""

    rng = features = None

    def __init__(self, order: list[int]) -> None:
        self.order = np.array(order, np.int64)

    def propose(self, *_: Any, **__: Any) -> Fixed:
        return self


def weigh_decision(decision: Decision, judged: list[int]) -> EvidenceArrays:
    """What a decision says about a policy that plays one sequence, by a model that knows nothing.

    Actual costs are those of the outcome, and 0 where it does not tell.
    """
    batch, block = Batch.of([decision]), np.zeros(1, np.int64)
    model = fit([{"id": 0, "items": [[0.0]], "order": [0], "tried": 0, "succeeded": False}])
    actions, payoffs = _tables(batch, [decision], model, block)
    expected = _expected(model, block, payoffs, model.expect(batch, block))
    return weigh(actions, payoffs, expected, choose(Fixed(judged), [decision], 1, [0]))
