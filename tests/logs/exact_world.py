"""A world so small that all that a log of it can hold is known, and how likely each of it is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from small_world import FREE, PAYOFFS, Rows, believing

from longrank import EpsilonGreedy, Outcome, Payoffs, PlackettLuce, Policy, Random, unit_rows
from longrank.logs import History, OutcomeModel, fit
from longrank.logs.evaluation.evidence import Evidence, gather
from longrank.logs.evaluation.outcome_model import values_along
from longrank.policies import Randomised

ROUNDS = np.stack([unit_rows(np.random.default_rng(i).normal(size=(3, 2))) for i in range(4)])
CHANCES = 1.0 / (1.0 + np.exp(-ROUNDS @ [1.5, -1.0]))  # shape (rounds, items)
LOGS = {
    "uniform": (lambda: Random(rng=0), FREE),
    "epsilon-greedy": (lambda: EpsilonGreedy(believing([0.5, 0.5]), epsilon=0.5, rng=0), FREE),
    "Plackett-Luce": (
        lambda: PlackettLuce(believing([0.5, 0.5]), temperature=1.0, rng=0),
        PAYOFFS,
    ),
}


@dataclass(frozen=True)
class World:
    """Every decision that a policy's log can hold, and its probability."""

    rows: Rows
    chances: np.ndarray

    def sample(self, rounds: int, rng: np.random.Generator) -> np.ndarray:
        """The numbers of the decisions of a log."""
        return rng.choice(len(self.rows), rounds, p=self.chances)

    def evidence(self, policy: Policy, seed: int = 0) -> Evidence:
        """Of every decision; the model knows only a log of 200, so that it is somewhat wrong.

        It is one model for all: which part of a log a decision is in has nothing to do with what
        happened in it, while here it would have.
        """
        pilot = self.sample(200, np.random.default_rng(seed))
        parts = fit(History([self.rows[i] | {"id": t} for t, i in enumerate(pilot)]))
        model = OutcomeModel(parts.weights[:1], parts.stops[:1], parts.predictions)
        return gather(policy, History(self.rows), model, draws=0)


def logged_by(policy: Policy, payoffs: Payoffs, early: float = 0.0) -> World:
    """The world of a log; with ``early`` somebody may stop after a failure."""
    rows: Rows = []
    chances: list[float] = []
    for items, success in zip(ROUNDS, CHANCES, strict=True):
        for order in _orders(payoffs):
            propensities = policy.propensities(items, payoffs, order)
            if propensities[-1] == 0.0:
                continue
            for outcome, chance in _outcomes(success[list(order)], early):
                rows.append(
                    {"id": len(rows), "items": items.tolist(), "order": list(order)}
                    | {"tried": outcome.tried, "succeeded": outcome.succeeded}
                    | {"rewards": payoffs.rewards.tolist(), "losses": payoffs.losses.tolist()}
                    | {"prefix_propensities": propensities[:-1].tolist()}
                    | {"propensity": float(propensities[-1])}
                )
                chances.append(chance * propensities[-1] / len(ROUNDS))
    assert abs(sum(chances) - 1.0) < 1e-9
    return World(rows, np.array(chances) / sum(chances))


def true_value(policy: Policy, payoffs: Payoffs, early: float = 0.0) -> float:
    """What a policy earns, exactly."""
    total = 0.0
    for items, success in zip(ROUNDS, CHANCES, strict=True):
        if isinstance(policy, Randomised):
            played = [(o, policy.propensity(items, payoffs, o)) for o in _orders(payoffs)]
        else:
            played = [(policy.rank(items, payoffs).order, 1.0)]
        for order, chance in played:
            stops = np.append(0.0, np.full(len(order), early))
            total += chance * values_along(success[list(order)], stops, payoffs)[0]
    return total / len(ROUNDS)


def _orders(payoffs: Payoffs) -> list[tuple[int, ...]]:
    most = min(payoffs.budget, ROUNDS.shape[1])
    return [order for n in range(most + 1) for order in permutations(range(ROUNDS.shape[1]), n)]


def _outcomes(success: np.ndarray, early: float) -> list[tuple[Outcome, float]]:
    found, going = [], 1.0
    for i, chance in enumerate(success):
        if i and early:
            found.append((Outcome(i, False), going * early))
            going *= 1.0 - early
        found.append((Outcome(i + 1, True), going * chance))
        going *= 1.0 - chance
    return [*found, (Outcome(len(success), False), going)]
