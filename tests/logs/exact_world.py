"""A world so small that all that a log of it can hold is known, and how likely each of it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from small_world import FREE, PAYOFFS, Rows, believing

from longrank import EpsilonGreedy, Outcome, Payoffs, PlackettLuce, Policy, Random, unit_rows
from longrank.logs import History, fit
from longrank.logs.evaluation.evidence import Evidence, gather
from longrank.policies import Randomised

ROUNDS = np.stack([unit_rows(np.random.default_rng(i).normal(size=(3, 2))) for i in range(4)])
CHANCES = 1.0 / (1.0 + np.exp(-ROUNDS @ [1.5, -1.0]))  # shape (rounds, items)
LOGS = {
    "uniform": (lambda: Random(rng=0), FREE),
    "epsilon-greedy": (lambda: EpsilonGreedy(believing([0.5, 0.5]), epsilon=0.5, rng=0), FREE),
    "Plackett-Luce": (lambda: PlackettLuce(believing([0.5, 0.5]), temperature=1.0, rng=0), PAYOFFS),
}
COSTS, VALUES = np.array([0.02, 0.1, 0.05]), np.array([0.4, -0.1, 0.0])


def planned(payoffs: Payoffs) -> Payoffs:
    """Candidates with prices that are known beforehand."""
    return payoffs.priced(COSTS, VALUES)


def really(item: int, succeeded: bool) -> float:
    """What a try costs in a world that tells afterwards: more where it fails, and not as planned.

    So the real costs say something of the outcome, which an estimate must get right.
    """
    return float(COSTS[item] * (0.5 if succeeded else 4.0))


@dataclass(frozen=True)
class Money:
    """What candidates cost: their payoffs, and whether outcomes say what was really paid."""

    price: Callable[[Payoffs], Payoffs]
    real: bool


MONEY = {
    "planned": Money(planned, real=False),
    "planned, and paid otherwise": Money(planned, real=True),
    "known only afterwards": Money(lambda payoffs: payoffs, real=True),
    "values only, and paid": Money(lambda payoffs: payoffs.priced(None, VALUES), real=True),
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
        model = fit(History([self.rows[i] | {"id": f"pilot {t}"} for t, i in enumerate(pilot)]))
        return gather(policy, History(self.rows), model, draws=0)


def logged_by(policy: Policy, payoffs: Payoffs, early: float = 0.0, real: bool = False) -> World:
    """The world of a log; with ``early`` somebody may stop after a failure.

    With ``real`` its outcomes say what their tries cost.
    """
    rows: Rows = []
    chances: list[float] = []
    for items, success in zip(ROUNDS, CHANCES, strict=True):
        for order in _orders(payoffs):
            propensities = policy.propensities(items, payoffs, order)
            if propensities[-1] == 0.0:
                continue
            for outcome, chance in _outcomes(order, success, early, real):
                rows.append(
                    {"id": len(rows), "items": items.tolist(), "order": list(order)}
                    | {"tried": outcome.tried, "succeeded": outcome.succeeded}
                    | ({} if outcome.costs is None else {"outcome_costs": outcome.costs})
                    | {"rewards": payoffs.rewards.tolist(), "losses": payoffs.losses.tolist()}
                    | _prices(payoffs)
                    | {"prefix_propensities": propensities[:-1].tolist()}
                    | {"propensity": float(propensities[-1])}
                )
                chances.append(chance * propensities[-1] / len(ROUNDS))
    assert abs(sum(chances) - 1.0) < 1e-9
    return World(rows, np.array(chances) / sum(chances))


def _prices(payoffs: Payoffs) -> dict[str, Any]:
    if payoffs.costs is None or payoffs.success_values is None:
        return {}
    costs, values = payoffs.costs.tolist(), payoffs.success_values.tolist()
    return {"costs": costs, "success_values": values}


def true_value(policy: Policy, payoffs: Payoffs, early: float = 0.0, real: bool = False) -> float:
    """What a policy earns, exactly."""
    total = 0.0
    for items, success in zip(ROUNDS, CHANCES, strict=True):
        if isinstance(policy, Randomised):
            played = [(o, policy.propensity(items, payoffs, o)) for o in _orders(payoffs)]
        else:
            played = [(policy.rank(items, payoffs).order, 1.0)]
        for order, chance in played:
            ends = payoffs.along(order) if payoffs.has_prices else payoffs
            for outcome, likely in _outcomes(order, success, early, real):
                total += chance * likely * ends.reward(outcome)
    return total / len(ROUNDS)


def _orders(payoffs: Payoffs) -> list[tuple[int, ...]]:
    most = min(payoffs.budget, ROUNDS.shape[1])
    return [order for n in range(most + 1) for order in permutations(range(ROUNDS.shape[1]), n)]


def _outcomes(
    order: Sequence[int], success: np.ndarray, early: float, real: bool
) -> list[tuple[Outcome, float]]:
    """Every outcome of a sequence, and its probability."""

    def ended(tried: int, succeeded: bool) -> Outcome:
        if not real:
            return Outcome(tried, succeeded)
        last = tried - 1 if succeeded else tried
        return Outcome(tried, succeeded, tuple(really(order[j], j == last) for j in range(tried)))

    found, going = [], 1.0
    for i, item in enumerate(order):
        if i and early:
            found.append((ended(i, False), going * early))
            going *= 1.0 - early
        found.append((ended(i + 1, True), going * success[item]))
        going *= 1.0 - success[item]
    return [*found, (ended(len(order), False), going)]
