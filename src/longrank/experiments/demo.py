"""The demo: payments with fees, then the paper's six policies and the recommended one.

The second part has two worlds and three scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Ranking
from longrank.datasets import table
from longrank.experiments.figures import average_rewards
from longrank.features import Mixture
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Random, named, recommended
from longrank.schema import priced
from longrank.simulation import (
    CheckoutWorld,
    PaymentWorld,
    Run,
    TableWorld,
    World,
    average_reward,
    simulate,
)
from longrank.simulation.checkout import CheckoutRound

BUDGET = 5
TOPICS = 12
PIVOT = 3
SCENARIOS: dict[str, Payoffs] = {
    "vanilla": Payoffs.vanilla(BUDGET),
    "exponential": Payoffs.exponential(BUDGET),
    "linear": Payoffs.linear(BUDGET, attempt_cost=0.1, give_up=-0.1),
}


@dataclass(frozen=True)
class Setting:
    """A world, and items to fit topics to that are not going to be ranked."""

    title: str
    world: World
    rounds: int
    dim: int
    unlabelled: NDArray[np.float64]


@dataclass(frozen=True)
class DemoRun:
    """A finished run of one policy in one world and scenario."""

    world: str
    scenario: str
    policy: str
    run: Run


@dataclass(frozen=True)
class Account:
    """What a way to route payments came to, per payment: money is in what an approval is worth."""

    who: str
    earned: float
    fees: float
    approved: float


FEES = Payoffs.linear(4, attempt_cost=0.0, give_up=-0.1)


def fees(rounds: int, seed: int) -> tuple[list[Account], Ranking]:
    """Route payments whose routes have fees; return the accounts, and one ranking to explain."""
    world = CheckoutWorld(6, seed=seed, fees=True)
    dealt = [world.deal(t) for t in range(rounds)]
    costs = np.array([[route["cost"] for route in one.items] for one in dealt])
    rates = np.mean([one.chances for one in dealt], axis=0)
    patience = 1.0 - float(np.mean([one.finals for one in dealt]))
    fixed = FEES.priced(costs.mean(axis=0)).best_sequence(rates).order
    policy, blind, random = recommended(rng=seed), recommended(rng=seed), Random(rng=seed)
    hidden = Payoffs.linear(4, attempt_cost=float(costs.mean()), give_up=-0.1)

    def ours(one: CheckoutRound) -> NDArray[np.int64]:
        ranking = policy.rank(one.items, FEES, context=one.context)
        policy.learn(ranking, one.play(ranking.order))
        return ranking.order

    def without_fees(one: CheckoutRound) -> NDArray[np.int64]:
        routes = [{**route, "cost": None} for route in one.items]
        ranking = blind.rank(routes, hidden, context=one.context)
        blind.learn(ranking, one.play(ranking.order))
        return ranking.order

    ways: dict[str, Callable[[CheckoutRound], NDArray[np.int64]]] = {
        "random order": lambda one: random.rank(one.items, FEES).order,
        "cheapest first": lambda one: np.argsort([each["cost"] for each in one.items])[:4],
        "best fixed list": lambda _: fixed,
        "longrank, the mean fee for all": without_fees,
        "longrank": ours,
        "knows all chances": lambda one: one.plan(priced(FEES, one.items).patient(patience)),
    }
    accounts = [_account(who, dealt, choose) for who, choose in ways.items()]
    one = world.deal(rounds)
    return accounts, policy.rank(one.items, FEES, context=one.context)


def _account(
    who: str, dealt: list[CheckoutRound], choose: Callable[[CheckoutRound], NDArray[np.int64]]
) -> Account:
    """Route the payments; count what is expected of the second half."""
    orders = [choose(one) for one in dealt]
    found = []
    for one, order in list(zip(dealt, orders, strict=True))[len(dealt) // 2 :]:
        chances, finals = one.chances[order], one.finals[order]
        reached = np.cumprod(np.append(1.0, (1.0 - chances) * (1.0 - finals)))[:-1]
        costs = np.array([one.items[i]["cost"] for i in order.tolist()])
        earned = one.value(order, priced(FEES, one.items))
        found.append((earned, float(reached @ costs), float(reached @ chances)))
    return Account(who, *np.mean(found, axis=0).tolist())


def payments(rounds: int, seed: int) -> Setting:
    """Simulate eight payment routes."""
    world = PaymentWorld(8, seed=seed)
    past = np.concatenate([world.deal(rounds + t).items for t in range(100)])
    return Setting("payments (simulated)", world, rounds, world.dim, past)


def digits(rounds: int, seed: int) -> Setting:
    """Use scikit-learn's handwritten digits: of 20 images, show a 3 as early as possible.

    Some images serve to find 10 principal components and topics; the others are dealt in chunks
    of 20, and shuffled again when all have been seen.
    """
    data = table(f"digits-{PIVOT}", seed)
    passes = -(-rounds // -(-len(data) // 20))
    world = TableWorld(data.items, data.chances, size=20, seed=seed, passes=passes)
    return Setting("digits (real)", world, rounds, data.items.shape[1], data.embedding_items)


def policies(setting: Setting, seed: int) -> dict[str, Policy]:
    """Make the paper's six, with the same settings everywhere, and the recommended one."""
    topics = Mixture.fit(setting.unlabelled, TOPICS, seed, unit=True)
    newton = {"max_budget": BUDGET, "rate": 5.0, "radius": 10.0}
    dim = setting.dim
    return {
        "Rand": named("rand", rng=seed),
        "Eps": named("eps", dim=dim, epsilon=0.1, rng=seed, **newton),
        "C-UCB1": named("c-ucb1", dim=dim, exploration=0.1),
        "GL-CDCM": named("gl-cdcm", dim=dim, penalty=1.0, exploration=0.1),
        "Ind": named("ind", dim=dim, exploration=0.1, **newton),
        "Dep": named("dep", dim=TOPICS, topics=topics, exploration=0.1, **newton),
        "recommended": recommended(dim=dim),
    }


def cells(settings: list[Setting], seed: int) -> Iterator[tuple[DemoRun, Policy]]:
    """Run every policy in every world and scenario."""
    for setting in settings:
        for scenario, payoffs in SCENARIOS.items():
            for name, policy in policies(setting, seed).items():
                run = simulate(policy, setting.world, payoffs, setting.rounds)
                yield DemoRun(setting.title, scenario, name, run), policy


def telling(policy: Policy, world: World, after: int) -> Ranking:
    """Return the next ranking shorter than the budget; otherwise simply the next one."""
    coming = (policy.rank(world.deal(after + t).items, SCENARIOS["linear"]) for t in range(1_000))
    first = next(coming)
    return next((ranking for ranking in (first, *coming) if 0 < len(ranking) < BUDGET), first)


@dataclass(frozen=True)
class Demo:
    """The results of the demo: accounts of payments with fees and a ranking, runs, figures."""

    accounts: list[Account]
    priced: Ranking
    cells: list[DemoRun]
    ranking: Ranking
    pictures: list[Path]


def demo(
    out: Path, rounds: int, seed: int, advance: Callable[[str], None] = lambda _: None
) -> Demo:
    """Run everything; ``advance`` is called with the name of each of the 43 finished runs."""
    accounts, explained = fees(5 * rounds, seed)
    advance("payments with fees")
    settings = [payments(rounds, seed), digits(rounds, seed)]
    found: list[DemoRun] = []
    ranking = None
    for cell, policy in cells(settings, seed):
        found.append(cell)
        advance(f"{cell.world}, {cell.scenario}, {cell.policy}")
        if (cell.world, cell.scenario, cell.policy) == (settings[0].title, "linear", "recommended"):
            ranking = telling(policy, settings[0].world, rounds)
    assert ranking is not None
    panels: dict[str, dict[str, NDArray[np.float64]]] = {}
    for cell in found:
        title = f"{cell.world}, {cell.scenario}"
        panels.setdefault(title, {})[cell.policy] = average_reward(cell.run)
    out.mkdir(parents=True, exist_ok=True)
    pictures = average_rewards(panels, out / "average-reward")
    return Demo(accounts, explained, found, ranking, pictures)
