"""Payment retry routing: which provider to try first, which next, and when to give up.

A payment of some amount can be sent through six providers. A success earns a margin that grows
with the amount, every try costs a fee, a declined customer costs goodwill. Some declines are final
(stolen card): whoever retries them is fined, so the sequence stops early. Halfway, the best
provider has an outage. Run it: python examples/payments.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, OnlineNewton, Outcome, Payoffs, PlackettLuce, Policy, Random
from longrank.logs import History, evaluate, learn_from, record

PROVIDERS, BUDGET, OUTAGE = 6, 4, (900, 1200)
QUALITY = np.array([0.9, 0.6, 0.4, 0.3, -0.2, -0.6])
FINAL = 0.25  # the share of declines that must not be retried


def payment(rng: np.random.Generator) -> tuple[np.ndarray, Payoffs]:
    """The candidates of a payment, and what it is worth."""
    amount = rng.lognormal(3.5, 0.8)
    items = np.zeros((PROVIDERS, PROVIDERS + 2))
    items[:, :PROVIDERS] = np.eye(PROVIDERS)
    items[:, -2] = rng.random() < 0.3  # a foreign card
    items[:, -1] = np.log(amount) / 6.0
    margin, fee, goodwill = 0.02 * amount, 0.10, 0.30
    tries = np.arange(BUDGET + 1)
    rewards = np.maximum(margin + 0.5 - fee * tries[1:], 0.0)
    return items / 2.0, Payoffs(rewards, -goodwill - fee * tries)


def attempt(items: np.ndarray, order: np.ndarray, t: int, rng: np.random.Generator) -> Outcome:
    """Send the payment through providers until one accepts, or a decline is final."""
    for tried, provider in enumerate(order, 1):
        score = QUALITY[provider] - 1.2 * (items[provider, -2] > 0) - items[provider, -1]
        if OUTAGE[0] <= t < OUTAGE[1] and provider == 0:
            score = -4.0
        if rng.random() < 1.0 / (1.0 + np.exp(-score)):
            return Outcome(tried, True)
        if tried < len(order) and rng.random() < FINAL:
            return Outcome(tried, False)  # the rest was not tried: it did not fail
    return Outcome(len(order), False)


def learner() -> OnlineNewton:
    return OnlineNewton(PROVIDERS + 2, max_budget=BUDGET, rate=4.0, radius=5.0)


def live(policy: Policy, rounds: int, seed: int, rows: list | None = None) -> np.ndarray:
    """Let a policy route payments; returns what each earned. With ``rows``, keep a log there."""
    earned = np.empty(rounds)
    for t in range(rounds):
        rng = np.random.default_rng([seed, t])  # every policy meets the same payments
        items, payoffs = payment(rng)
        ranking = policy.rank(items, payoffs)
        outcome = attempt(items, ranking.order, t, rng)
        if rows is not None and isinstance(policy, PlackettLuce):
            chances = policy.propensities(items, payoffs, ranking.order)
            rows.append(
                record(t, ranking, outcome, payoffs, items=items, propensities=chances, time=t)
            )
        policy.learn(ranking, outcome)
        earned[t] = payoffs.reward(outcome)
    return earned


def main(rounds: int = 1500, picture: Path | None = None) -> dict[str, float]:
    rows: list = []
    curves = {
        "random order": live(Random(rng=1), rounds, 7),
        "logging, by chance": live(
            PlackettLuce(learner(), temperature=0.7, rng=1), rounds, 7, rows
        ),
        "longrank (UCB)": live(UCB(learner(), exploration=0.3), rounds, 7),
    }
    calm = History(rows).part(0, min(rounds, OUTAGE[0]))
    half = len(calm) // 2
    candidates = {
        "all the way": UCB(learner(), exploration=0.0),
        "a careful step": PlackettLuce(learner(), temperature=0.35, rng=2),
    }
    for policy in candidates.values():
        learn_from(policy, calm.part(0, half))
    found = evaluate(calm.part(half), candidates)
    print(f"{rounds} payments, an outage of the best provider from {OUTAGE[0]} to {OUTAGE[1]}")
    for name, earned in curves.items():
        print(f"  {name:20} earned {earned.mean():.3f} a payment")
    print("what would others have earned, judged on the log before the outage?")
    for one in found:
        if one.estimator in ("mean reward", "bounds", "doubly robust"):
            print(f"  {one}", *one.notes, sep="; ")
    if picture is not None:
        draw(curves, picture)
    means = {name: float(earned.mean()) for name, earned in curves.items()}
    careful = {one.estimator: one for one in found if one.policy == "a careful step"}
    return means | {"doubly robust": careful["doubly robust"].value}


def draw(curves: dict[str, np.ndarray], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    axis = figure.subplots()
    for (name, earned), style in zip(curves.items(), (":", "--", "-"), strict=True):
        window = max(len(earned) // 8, 1)
        means = np.convolve(earned, np.ones(window) / window, "valid")
        axis.plot(np.arange(window, len(earned) + 1), means, style, label=name)
    axis.axvspan(*OUTAGE, color="#eeeeee", label="outage of provider 0")
    axis.set(xlabel="payment", ylabel="earned a payment, moving average")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
