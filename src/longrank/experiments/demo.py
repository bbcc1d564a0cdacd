"""The demo: a payment desk in money, then seven policies on handwritten digits."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longrank.arrays import Indices
from longrank.datasets import Table, table
from longrank.experiments.figures import average_rewards
from longrank.features import Mixture
from longrank.jobs import Jobs
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Random, recommended, registry
from longrank.simulation import Run, TableWorld, simulate
from longrank.simulation.desk import PROVIDERS, TRIES, Payment, PaymentDesk, fixed_list

BUDGET = 5
PAYMENTS = 4  # of the desk, for each round on the digits
TOPICS = 12
PIVOT = 3
POLICIES = ("Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep", "recommended")
PARTS = 1 + len(POLICIES)
SCENARIOS: dict[str, Payoffs] = {
    "vanilla": Payoffs.vanilla(BUDGET),
    "exponential": Payoffs.exponential(BUDGET),
    "linear": Payoffs.linear(BUDGET, attempt_cost=0.1, give_up=-0.1),
}


class Account(NamedTuple):
    """Totals of a way to route payments: earnings and fees in money, and approvals."""

    earned: float
    fees: float
    approved: float


class DeskRun(NamedTuple):
    """The payment desk: the account of each way to route, and the next ranking explained."""

    payments: int
    accounts: dict[str, Account]
    explained: str


class Player(NamedTuple):
    """A policy on the digits: a run of each scenario."""

    policy: str
    runs: dict[str, Run]


def route(payments: int, seed: int) -> DeskRun:
    """Route simulated payments.

    All ways meet the same payments and the same luck. From the half to two thirds of the payments
    the first provider of the fixed list is down.
    """
    world, policy, random = PaymentDesk(seed=seed), recommended(rng=seed), Random(rng=seed)
    fixed = np.array(fixed_list())

    def ours(payment: Payment) -> Indices:
        ranking = policy.rank(payment.items, payment.worth, context=payment.context)
        policy.learn(ranking, payment.play(ranking.order))
        return ranking.order

    ways: dict[str, Callable[[Payment], Indices]] = {
        "random order": lambda payment: random.rank(payment.items, payment.worth).order,
        "cheapest first": lambda payment: np.argsort([x["cost"] for x in payment.items])[:TRIES],
        "best fixed list": lambda _: fixed,
        "longrank": ours,
        "perfect knowledge": Payment.best,
    }
    ledger: dict[str, list[tuple[float, float, float]]] = {who: [] for who in ways}
    for i in range(payments):
        if i == payments // 2:
            world.take_down(PROVIDERS[fixed[0]].name)
        if i == payments * 2 // 3:
            world.bring_up(PROVIDERS[fixed[0]].name)
        payment = world.deal()
        for who, choose in ways.items():
            ledger[who].append(payment.account(choose(payment)))
    accounts = {who: Account(*np.sum(rows, axis=0).tolist()) for who, rows in ledger.items()}
    payment = world.deal()
    ranking = policy.rank(payment.items, payment.worth, context=payment.context)
    return DeskRun(payments, accounts, ranking.explain())


def simulate_all(name: str, rounds: int, seed: int) -> Player:
    """Run one policy on scikit-learn's handwritten digits, in every scenario.

    Of 20 images, a 3 should come as early as possible. Some images serve to find 10 principal
    components and topics; the others are dealt in chunks of 20, and shuffled again when all have
    been seen.
    """
    data = table(f"digits-{PIVOT}", seed)
    passes = -(-rounds // -(-len(data) // 20))
    world = TableWorld(data.items, data.chances, size=20, seed=seed, passes=passes)
    runs = {
        scenario: simulate(make_policy(name, data, seed), world, payoffs, rounds)
        for scenario, payoffs in SCENARIOS.items()
    }
    return Player(name, runs)


def make_policy(name: str, data: Table, seed: int) -> Policy:
    """Make one of the paper's six, with the same settings everywhere, or the recommended one."""
    dim = data.items.shape[1]
    if name == "recommended":
        return recommended(dim=dim)
    offered = {"dim": dim, "max_budget": BUDGET, "rate": 5.0, "radius": 10.0, "rng": seed}
    offered |= {"exploration": 0.1, "epsilon": 0.1, "penalty": 1.0}
    if name == "Dep":
        topics = Mixture.fit(data.embedding_items, TOPICS, seed, unit=True)
        offered |= {"dim": TOPICS, "topics": topics}
    return registry.make(name.lower(), offered, {})


def demo(rounds: int, seed: int, jobs: Jobs | None = None) -> Iterator[DeskRun | Player]:
    """Run everything: the desk first, then every policy on the digits."""
    players = [(simulate_all, policy, rounds, seed) for policy in POLICIES]
    yield from (jobs or Jobs()).each(_call, [(route, PAYMENTS * rounds, seed), *players])


def _call(function: Callable[..., DeskRun | Player], *arguments: object) -> DeskRun | Player:
    # Otherwise each process would announce that it compiles.
    logging.getLogger("longrank").addHandler(logging.NullHandler())
    return function(*arguments)


def draw(players: list[Player], out: Path) -> list[Path]:
    """Draw the average reward of all runs; return the files."""
    panels = {
        scenario: {player.policy: [player.runs[scenario].rewards] for player in players}
        for scenario in SCENARIOS
    }
    out.mkdir(parents=True, exist_ok=True)
    return average_rewards(panels, out / "average-reward")
