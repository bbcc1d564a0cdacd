"""Payments, for the golden files of records: what is offered, and policies that see parts of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import longrank as lr

ROUTES = ("adyen", "stripe", "worldpay", "checkout", "fiserv", "Überweisung")
NOTES = ("Gift card", "gift, urgent", "Monthly plan", "monthly urgent order")
LATE = 27  # the first round with a field, a route and a brand that were never seen before
EARLIER = range(1000, 1900)  # rounds before all others: so many that samples are full
PAID = "paid"  # among the fields that a policy sees: what its tries really cost is told
MONEY = hasattr(lr, "PlannedSequence")


def offer(t: int) -> dict[str, Any]:
    """Candidates and context of round t, as JSON: every kind of field, some of them missing."""
    rng = np.random.default_rng([78, t])
    late = LATE <= t < EARLIER[0]
    known = [*ROUTES, "newcomer"] if late else ROUTES
    routes = rng.permutation(len(known))[: int(rng.integers(1, 5))]
    candidates = []
    for route in routes.tolist():
        one: dict[str, Any] = {
            "id": known[route],
            "region": ("eu", "us", None)[route % 3],
            "fee": round(float(rng.lognormal(-2.0, 1.0)), 4),
            "live": bool(route % 2),
            "tags": ["cards", "wallets", "debit"][: route % 4],
            "vector": rng.standard_normal(3).round(3).tolist(),
            "trace": f"{t}-{route}",
        }
        if rng.random() < 0.2:
            del one["fee"]
        if rng.random() < 0.2:
            one["vector"] = None
        if MONEY:
            prices = np.random.default_rng([79, t, route])
            one["cost"] = round(float(prices.uniform(0.0, 0.3)), 3)
            one["value"] = round(float(prices.uniform(-0.3, 0.3)), 3)
        candidates.append(one)
    context: dict[str, Any] = {
        "brand": str(rng.choice(["visa", "amex", "elo"] if late else ["visa", "amex"])),
        "amount": round(float(rng.lognormal(4.0, 1.5)), 2),
        "mcc": int(rng.choice([5411, 5812])),
        "note": str(rng.choice(NOTES)),
        "merchant": f"m{t}",
    }
    if rng.random() < 0.2:
        context["amount"] = None
    if late:
        context["wallet"] = "apple"
    return {"candidates": candidates, "context": context}


def seen(dealt: dict[str, Any], fields: list[str]) -> tuple[list[Any], dict[str, Any] | None]:
    """Return the candidates and the context of a round with these fields alone.

    Candidates of which only the id is seen are names.
    """
    some = [{n: v for n, v in each.items() if n in fields} for each in dealt["candidates"]]
    shared = {n: v for n, v in dealt["context"].items() if n in fields}
    return [each["id"] if set(each) == {"id"} else each for each in some], shared or None


def policies(budget: int) -> Iterator[tuple[str, Any, list[str]]]:
    """Every kind of policy over records, and the fields that it sees."""
    yield (
        "records-recommended",
        lr.recommended(max_budget=budget, rng=11),
        ["id", "fee", "brand", "amount", "wallet"],
    )
    yield (
        "records-ucb-foresight",
        lr.UCB(
            lr.SparseLaplace(), features=lr.Records(), exploration=0.3, foresight=3, probing=True
        ),
        ["id", "tags", "brand"],
    )
    declared = lr.Schema(
        {"amount": lr.Number(log=True), "note": lr.Text(), "mcc": "category"},
        cross=[("id", "brand"), ("note", "id"), ("id", "region"), ("amount", "id"), ("mcc", "id")],
        ignore=["trace"],
    )
    yield (
        "records-thompson-declared",
        lr.Thompson(
            lr.SparseLaplace(max_budget=budget), features=lr.Records(declared), scale=0.7, rng=12
        ),
        ["id", "region", "trace", "brand", "amount", "note", "mcc"],
    )
    yield (
        "records-plackett-luce",
        lr.PlackettLuce(lr.SparseLaplace(), features=lr.Records(), temperature=0.5, rng=13),
        ["id", "live", "vector"],
    )
    numbers = lr.Schema({"mcc": "category"})
    yield (
        "records-epsilon-greedy",
        lr.EpsilonGreedy(lr.SparseLaplace(), features=lr.Records(numbers), epsilon=0.4, rng=14),
        ["id", "mcc", "wallet"],
    )
    yield (
        "records-full",
        lr.Thompson(
            lr.SparseLaplace(columns=256),
            features=lr.Records(),
            scale=0.5,
            rng=15,
            optimistic=True,
        ),
        ["id", "brand", "merchant"],
    )
    yield "records-random", lr.Random(rng=16), ["id", "brand"]
    if MONEY:
        yield "records-priced", lr.recommended(rng=17), ["id", "brand", "cost", "value", PAID]
        yield "records-costs", lr.recommended(rng=18), ["id", "brand", PAID]
        yield (
            "records-plackett-luce-priced",
            lr.PlackettLuce(lr.SparseLaplace(), temperature=0.5, rng=19, patient=True),
            ["id", "live", "cost"],
        )
