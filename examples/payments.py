"""Payment retry routing: which route to try first, which next, and when to give up.

A payment can be sent through six routes; the best one depends on the card. A success earns a
margin; each route has a fee for every try and takes a share if it succeeds. Some declines are
final. Late on, the best route has an outage. Run it: python examples/payments.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Blocks, Outcome, Payoffs, PlackettLuce, Random, recommended
from longrank.logs import History, evaluate, learn_from, record
from longrank.schema import priced

BUDGET, FINAL = 4, 0.25  # tries of a payment; the share of declines that must not be retried
COUNTRIES = {"DE": "eu", "FR": "eu", "US": "us", "JP": "ap"}
ROUTES = {  # region, fee of a try, its share of the amount; by brand, log-odds that nobody knows
    "adyen": ("eu", 0.13, 0.012, {"visa": 1.4, "mastercard": 1.0, "amex": -1.5}),
    "stripe": ("us", 0.25, 0.014, {"visa": 0.6, "mastercard": 0.6, "amex": 0.4}),
    "worldpay": ("eu", 0.05, 0.009, {"visa": 0.2, "mastercard": 0.9, "amex": -0.5}),
    "checkout": ("us", 0.10, 0.011, {"visa": 0.9, "mastercard": -0.6, "amex": -0.8}),
    "amexdirect": ("us", 0.20, 0.020, {"visa": -2.5, "mastercard": -2.5, "amex": 1.6}),
    "komoju": ("ap", 0.02, 0.015, {"visa": -0.3, "mastercard": -0.3, "amex": -1.0}),
}


def deal(t: int, outage: range) -> tuple[list[dict], dict, Payoffs, np.ndarray, np.ndarray]:
    """Routes, payment and payoffs; then chances and draws, which nobody sees."""
    rng = np.random.default_rng([7, t])  # the same payments, with the same fate, for everybody
    brand = str(rng.choice(["visa", "mastercard", "amex"], p=[0.5, 0.3, 0.2]))
    country, amount = str(rng.choice(list(COUNTRIES))), round(float(rng.lognormal(3.5, 0.8)), 2)
    routes, odds = [], []
    for name, (region, fee, share, by_brand) in ROUTES.items():
        status = "degraded" if name == "adyen" and t - 10 in outage else "up"  # noticed late
        money = {"cost": fee, "value": -share * amount}
        routes.append({"id": name, "region": region, "status": status, **money})
        home = 0.8 if COUNTRIES[country] == region else -0.4
        down = 6.0 if name == "adyen" and t in outage else 0.0
        odds.append(by_brand[brand] + home - down - 0.5 * np.log(amount / 33.0))
    payment = {"brand": brand, "country": country, "amount": amount}
    worth = Payoffs.linear(BUDGET, success=0.5 + 0.035 * amount, attempt_cost=0.0, give_up=-0.3)
    return routes, payment, worth, 1.0 / (1.0 + np.exp(-np.array(odds))), rng.random((2, 6))


def attempt(order: np.ndarray, chances: np.ndarray, draws: np.ndarray) -> Outcome:
    """Send the payment through routes until one accepts, or a decline is final."""
    for tried, route in enumerate(order.tolist(), 1):
        accepted = bool(draws[0, route] < chances[route])
        if accepted or draws[1, route] < FINAL:  # the rest was not tried: it did not fail
            return Outcome(tried, accepted)
    return Outcome(len(order), False)


def live(policy, rounds: int, outage: range, rows: list | None = None) -> np.ndarray:
    """Let a policy route the payments; return what each earned. With ``rows``, keep a log."""
    earned = []
    for t in range(rounds):
        routes, payment, payoffs, *fate = deal(t, outage)
        ranking = policy.rank(routes, payoffs, context=payment)
        outcome = attempt(ranking.order, *fate)
        if rows is not None:
            known = policy.propensities(routes, payoffs, ranking.order, context=payment)
            said = {"candidates": routes, "context": payment, "propensities": known}
            rows.append(record(t, ranking, outcome, payoffs, **said))
        policy.learn(ranking, outcome)
        earned.append(ranking.reward(payoffs, outcome))
    return np.array(earned)


def fixed(rounds: int, outage: range) -> np.ndarray:
    """One list for all payments: the best plan for a typical one, found in hindsight."""
    deals = [deal(t, outage) for t in range(rounds)]
    paying = [priced(payoffs, routes) for routes, _, payoffs, *_ in deals]
    average, earned = np.mean([chances for *_, chances, _ in deals], axis=0), []
    order = sorted(paying, key=lambda each: each.rewards[0])[rounds // 2].best_sequence(average)[0]
    for paid, (*_, chances, draws) in zip(paying, deals, strict=True):
        length = paid.along(order).best_length(average[order])
        earned.append(paid.along(order).reward(attempt(order[:length], chances, draws)))
    return np.array(earned)


def main(rounds: int = 3000, picture: Path | None = None) -> dict[str, float]:
    rows, outage = [], range(round(0.7 * rounds), round(0.85 * rounds))
    logging = PlackettLuce(Blocks(), temperature=0.5, rng=1)
    curves = {
        "random order": live(Random(rng=1), rounds, outage),
        "best fixed list": fixed(rounds, outage),
        "logging, by chance": live(logging, rounds, outage, rows),
        "longrank": live(recommended(), rounds, outage),
    }
    found = {name: float(earned.mean()) for name, earned in curves.items()}
    print(*(f"  {name:20} earned {mean:.3f} a payment" for name, mean in found.items()), sep="\n")
    calm, candidate = History(rows).part(0, outage.start), UCB(Blocks(), exploration=0.0)
    learn_from(candidate, calm.part(0, outage.start // 2))
    for one in evaluate(calm.part(outage.start // 2), {"candidate": candidate}):
        print(f"  {one}")
        found[one.estimator] = one.value
    if picture is not None:
        draw(curves, outage, picture)
    return found


def draw(curves: dict[str, np.ndarray], outage: range, picture: Path) -> None:
    from matplotlib.figure import Figure

    axis = Figure(figsize=(7.0, 3.6), layout="constrained").subplots()
    axis.axvspan(outage.start, outage.stop, color="#eeeeee", label="outage of adyen")
    for (name, earned), style in zip(curves.items(), (":", "-.", "--", "-"), strict=True):
        axis.plot(np.convolve(earned, np.ones(300) / 300, "same"), style, label=name)
    axis.set(xlabel="payment", ylabel="mean of 300", xlim=(150, len(earned) - 150), ylim=(0.6, 1.4))
    axis.legend(frameon=False, fontsize=8, ncols=3)
    axis.figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
