"""The demo: a payment desk in money, then the paper's six policies and the recommended one.

The second part has two worlds and three scenarios.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Ranking
from longrank.datasets import table
from longrank.experiments.figures import average_rewards
from longrank.features import Mixture
from longrank.jobs import Jobs
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Random, named, recommended
from longrank.simulation import (
    PaymentWorld,
    Run,
    TableWorld,
    World,
    average_reward,
    simulate,
)
from longrank.simulation.desk import PROVIDERS, TRIES, Payment, PaymentDesk, fixed_list

BUDGET = 5
PAYMENTS = 4  # of the desk, for each round of the other worlds
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
    dim: int
    unlabelled: NDArray[np.float64]


@dataclass(frozen=True)
class Account:
    """What a way to route payments came to, in money."""

    who: str
    earned: float
    fees: float
    approved: float


@dataclass(frozen=True)
class Desk:
    """The payment desk: what each way to route came to, and the next ranking explained."""

    payments: int
    accounts: list[Account]
    explained: str


@dataclass(frozen=True)
class Panel:
    """One world in one scenario: a run of each policy, and one more ranking if it is endless."""

    world: str
    scenario: str
    runs: dict[str, Run]
    explained: str | None


def route(payments: int, seed: int) -> Desk:
    """Route simulated payments.

    All ways meet the same payments and the same luck. From the half to two thirds of the payments
    the first provider of the fixed list is down.
    """
    world, policy, random = PaymentDesk(seed=seed), recommended(rng=seed), Random(rng=seed)
    fixed = np.array(fixed_list())

    def ours(one: Payment) -> NDArray[np.int64]:
        ranking = policy.rank(one.items, one.worth, context=one.context)
        policy.learn(ranking, one.play(ranking.order))
        return ranking.order

    ways: dict[str, Callable[[Payment], NDArray[np.int64]]] = {
        "random order": lambda one: random.rank(one.items, one.worth).order,
        "cheapest first": lambda one: np.argsort([each["cost"] for each in one.items])[:TRIES],
        "best fixed list": lambda _: fixed,
        "longrank": ours,
        "perfect knowledge": lambda one: one.best(),
    }
    found: dict[str, list[tuple[float, float, float]]] = {who: [] for who in ways}
    for i in range(payments):
        if i == payments // 2:
            world.take_down(PROVIDERS[fixed[0]].name)
        if i == payments * 2 // 3:
            world.bring_up(PROVIDERS[fixed[0]].name)
        payment = world.deal()
        for who, choose in ways.items():
            found[who].append(payment.account(choose(payment)))
    accounts = [Account(who, *np.sum(rows, axis=0).tolist()) for who, rows in found.items()]
    payment = world.deal()
    ranking = policy.rank(payment.items, payment.worth, context=payment.context)
    return Desk(payments, accounts, ranking.explain())


def payments(rounds: int, seed: int) -> Setting:
    """Simulate eight payment routes."""
    world = PaymentWorld(8, seed=seed)
    past = np.concatenate([world.deal(rounds + t).items for t in range(100)])
    return Setting("payments (simulated)", world, world.dim, past)


def digits(rounds: int, seed: int) -> Setting:
    """Use scikit-learn's handwritten digits: of 20 images, show a 3 as early as possible.

    Some images serve to find 10 principal components and topics; the others are dealt in chunks
    of 20, and shuffled again when all have been seen.
    """
    data = table(f"digits-{PIVOT}", seed)
    passes = -(-rounds // -(-len(data) // 20))
    world = TableWorld(data.items, data.chances, size=20, seed=seed, passes=passes)
    return Setting("digits (real)", world, data.items.shape[1], data.embedding_items)


WORLDS = (payments, digits)


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


def telling(policy: Policy, world: World, payoffs: Payoffs, after: int) -> Ranking:
    """Return the next ranking shorter than the budget; otherwise simply the next one."""
    coming = (policy.rank(world.deal(after + t).items, payoffs) for t in range(1_000))
    first = next(coming)
    return next((ranking for ranking in (first, *coming) if 0 < len(ranking) < BUDGET), first)


def simulate_panel(world: int, scenario: str, rounds: int, seed: int) -> Panel:
    """Run every policy in one of the worlds, in one scenario."""
    setting, payoffs = WORLDS[world](rounds, seed), SCENARIOS[scenario]
    players = policies(setting, seed)
    runs = {
        name: simulate(policy, setting.world, payoffs, rounds) for name, policy in players.items()
    }
    explained = None
    if setting.world.rounds is None:
        explained = telling(players["recommended"], setting.world, payoffs, rounds).explain()
    return Panel(setting.title, scenario, runs, explained)


def demo(rounds: int, seed: int, jobs: Jobs | None = None) -> Iterator[Desk | Panel]:
    """Run everything: the desk first, then a panel for each world and scenario."""
    panels = [(simulate_panel, w, s, rounds, seed) for w in range(len(WORLDS)) for s in SCENARIOS]
    yield from (jobs or Jobs()).each(_call, [(route, PAYMENTS * rounds, seed), *panels])


def _call(function: Callable[..., Desk | Panel], *arguments: object) -> Desk | Panel:
    # Otherwise each process would announce that it compiles.
    logging.getLogger("longrank").addHandler(logging.NullHandler())
    return function(*arguments)


def draw(panels: list[Panel], out: Path) -> list[Path]:
    """Draw the average reward of all runs; return the files."""
    curves = {
        f"{panel.world}, {panel.scenario}": {
            name: average_reward(run) for name, run in panel.runs.items()
        }
        for panel in panels
    }
    out.mkdir(parents=True, exist_ok=True)
    return average_rewards(curves, out / "average-reward")
