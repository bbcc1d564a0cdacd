"""What golden files hold: rounds of payments, policies, models of a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import longrank as lr

Fields = list[str] | None  # of the candidates and the context that a policy sees; None: arrays
DIM, BUDGET = 4, 5
ROUTES = ("adyen", "stripe", "worldpay", "checkout", "fiserv", "Überweisung")
LATE = 27  # the first round with a field, a route and a brand that were never seen before
EARLIER = range(1000, 1900)  # rounds before all others: so many that samples of numbers are full


def deal(t: int) -> dict[str, Any]:
    """Round t, as JSON: items and records, payoffs (hopeless ones now and then), what happens."""
    rng = np.random.default_rng([12, t])
    count = int(rng.integers(1, 7))
    payoffs = (
        lr.Payoffs.vanilla(BUDGET),
        lr.Payoffs.exponential(BUDGET),
        lr.Payoffs.linear(BUDGET, attempt_cost=0.15),
        lr.Payoffs([0.0] * BUDGET, [-1.0 * n for n in range(BUDGET + 1)]),
    )[t % 4]
    late = LATE <= t < EARLIER[0]
    routes = rng.permutation([*ROUTES, "newcomer"] if late else ROUTES)[:count].tolist()
    context = {
        "brand": str(rng.choice(["visa", "amex", "elo"] if late else ["visa", "amex"])),
        "amount": None if rng.random() < 0.2 else round(float(rng.lognormal(4.0, 1.5)), 2),
        "mcc": int(rng.choice([5411, 5812])),
        "note": str(rng.choice(["Gift card", "gift, urgent", "Monthly plan"])),
        "merchant": f"m{t}",
    }
    return {
        "items": (lr.unit_rows(rng.random((len(routes), DIM))) * 0.99).tolist(),
        "candidates": [_candidate(route, t, rng) for route in routes],
        "context": context | ({"wallet": "apple"} if late else {}),
        "rewards": payoffs.rewards.tolist(),
        "losses": payoffs.losses.tolist(),
        "budget": int(rng.integers(1, BUDGET + 1)),
        "share": float(rng.random()),
        "succeeded": bool(rng.random() < 0.5),
        "paid": rng.lognormal(-2.0, 1.0, BUDGET).tolist(),
    }


def _candidate(route: str, t: int, rng: np.random.Generator) -> dict[str, Any]:
    number = len(route)
    fee = {} if rng.random() < 0.2 else {"fee": round(float(rng.lognormal(-2.0, 1.0)), 4)}
    return fee | {
        "id": route,
        "region": ("eu", "us", None)[number % 3],
        "live": bool(number % 2),
        "tags": ["cards", "wallets", "debit"][: number % 4],
        "vector": None if rng.random() < 0.2 else rng.standard_normal(3).round(3).tolist(),
        "trace": f"{t}-{route}",
        "cost": round(float(rng.uniform(0.0, 0.3)), 3),
        "value": round(float(rng.uniform(-0.3, 0.3)), 3),
    }


def offered(dealt: dict[str, Any], fields: Fields) -> tuple[Any, dict[str, Any]]:
    """The candidates of a round as a policy sees them, and the keyword arguments with them."""
    if fields is None:
        return np.array(dealt["items"]), {}
    some = [{n: v for n, v in each.items() if n in fields} for each in dealt["candidates"]]
    context = {n: v for n, v in dealt["context"].items() if n in fields}
    return [each["id"] if set(each) == {"id"} else each for each in some], {"context": context}


def payoffs_of(dealt: dict[str, Any]) -> lr.Payoffs:
    return lr.Payoffs(dealt["rewards"], dealt["losses"])


def rank(policy: Any, dealt: dict[str, Any], fields: Fields) -> lr.Ranking:
    candidates, more = offered(dealt, fields)
    return policy.rank(candidates, payoffs_of(dealt), dealt["budget"], **more)


def happened(dealt: dict[str, Any], length: int, fields: Fields) -> lr.Outcome:
    """What becomes of a ranking of this length; what it cost, where that is seen."""
    tried = int(dealt["share"] * (length + 1))
    costs = dealt["paid"][:tried] if "paid" in (fields or ()) else None
    return lr.Outcome(tried, bool(tried and dealt["succeeded"]), costs)


# -- policies -------------------------------------------------------------------------------------


def _declared() -> lr.Schema:
    crossed = [("id", "brand"), ("note", "id"), ("id", "region"), ("amount", "id"), ("mcc", "id")]
    fields = {"amount": lr.Number(log=True), "note": lr.Text(), "mcc": "category"}
    return lr.Schema(fields, cross=crossed, ignore=["trace"])


def _mixture() -> lr.Coverage:
    spread = np.tile(2.5 * np.eye(DIM), (3, 1, 1))
    return lr.Coverage(lr.Mixture(np.full(3, 1 / 3), 0.8 * np.eye(3, DIM), spread))


def _probit() -> lr.OnlineNewton:
    return lr.OnlineNewton(DIM, max_budget=BUDGET, radius=2.0, rate=3.0, link="probit")


# Every kind of policy, learner and feature map, once.
POLICIES: dict[str, tuple[Callable[[], Any], Fields]] = {
    "ucb-newton": (lambda: lr.UCB(_probit(), exploration=0.3), None),
    "ucb-ridge-matrix": (
        lambda: lr.UCB(lr.Ridge(DIM), features=lr.Coverage(np.eye(DIM)), exploration=0.3),
        None,
    ),
    "ucb-likelihood-mixture": (
        lambda: lr.UCB(lr.MaximumLikelihood(3, penalty=0.5), features=_mixture(), exploration=0.3),
        None,
    ),
    "ucb-laplace": (lambda: lr.UCB(lr.Laplace(DIM, forgetting=0.05), exploration=0.3), None),
    "recommended": (lambda: lr.recommended(dim=DIM, max_budget=BUDGET), None),
    "cautious": (lambda: lr.cautious(dim=DIM, max_budget=BUDGET), None),
    "lcb": (lambda: lr.LCB(lr.Laplace(DIM), caution=0.5), None),
    "epsilon-greedy": (lambda: lr.EpsilonGreedy(_probit(), epsilon=0.4, rng=1), None),
    "thompson": (lambda: lr.Thompson(lr.Laplace(DIM, penalty=0.3), scale=0.7, rng=4), None),
    "plackett-luce": (lambda: lr.PlackettLuce(lr.Laplace(DIM), temperature=0.5, rng=5), None),
    "random": (lambda: lr.Random(rng=3), None),
    "oracle": (lambda: lr.Oracle([1.5, 0.5, -1.0], features=_mixture(), exact=True), None),
    "records-recommended": (
        lambda: lr.recommended(max_budget=BUDGET, rng=11),
        ["id", "fee", "brand", "amount", "wallet"],
    ),
    "records-costs": (
        lambda: lr.recommended(rng=17),
        ["id", "brand", "cost", "value", "paid"],
    ),
    "records-cautious": (lambda: lr.cautious(), ["id", "tags", "brand"]),
    "records-declared": (
        lambda: lr.Thompson(
            lr.Blocks(max_budget=BUDGET), features=lr.Records(_declared()), scale=0.7, rng=12
        ),
        ["id", "region", "trace", "brand", "amount", "note", "mcc"],
    ),
    "records-full": (
        lambda: lr.PlackettLuce(lr.Blocks(columns=256), temperature=0.5, rng=13),
        ["id", "live", "vector", "merchant"],
    ),
}

# -- models of a service --------------------------------------------------------------------------

MODELS: dict[str, dict[str, Any]] = {
    "ind": {"policy": "ind", "settings": {"exploration": 0.3, "rate": 2.0}, "dim": DIM},
    "recommended": {"policy": "recommended", "dim": DIM},
    "gl-cdcm": {"policy": "gl-cdcm", "settings": {"link": "probit"}, "dim": DIM},
    "shadow": {"policy": "eps", "dim": DIM, "mode": "shadow", "missing": "failed"},
    "names": {"policy": "plackett-luce", "store_candidates": True},
    "declared": {
        "policy": "thompson",
        "settings": {"scale": 0.5},
        "schema": {
            "fields": {
                "amount": {"kind": "number", "log": True}, "note": "text", "mcc": "category"
            },
            "cross": [["id", "brand"], ["id", "amount"], ["note", "id"], ["id", "mcc"]],
            "ignore": ["trace"],
        },
    },
    "priced": {
        "policy": "recommended", "currency": "EUR", "patience": 0.9, "store_candidates": True
    },
}  # fmt: skip
FIELDS: dict[str, Fields] = {  # that the models see
    "names": ["id", "brand"],
    "declared": ["id", "region", "brand", "amount", "note", "mcc", "trace"],
    "priced": ["id", "brand", "cost", "value", "paid"],
}


def create() -> Iterator[tuple[str, str, Any]]:
    """Requests that make the models and a key for each."""
    for name, settings in MODELS.items():
        yield "PUT", f"/v1/models/{name}", {"max_budget": 3, "ttl": 400 * 86_400.0} | settings
        yield "POST", f"/v1/models/{name}/keys", None


def decide(model: str, t: int) -> tuple[str, str, Any]:
    """The request for decision t of a model."""
    dealt, fields = deal(t), FIELDS.get(model)
    candidates, more = offered(dealt, fields)
    ids = [each["id"] for each in dealt["candidates"]]
    if fields is None:
        body: dict[str, Any] = {"ids": ids, "features": candidates.tolist()}
    else:
        body = {"candidates": candidates} | more
    body |= {"id": f"{model}-{t}", "ttl": 400 * 86_400.0}
    body |= {"rewards": dealt["rewards"][:3], "losses": dealt["losses"][:4]}
    if model == "shadow":
        body["baseline"] = ids[1::-1]
    return "POST", f"/v1/models/{model}/decisions", body


def tell(model: str, t: int, decision: dict[str, Any]) -> tuple[str, str, Any]:
    """The request that tells the outcome of decision t."""
    outcome = happened(deal(t), len(decision["sequence"]), FIELDS.get(model))
    body: dict[str, Any] = {"tried": outcome.tried, "succeeded": outcome.succeeded}
    if outcome.costs:
        body["costs"] = list(outcome.costs)
    if t % 5 == 4 and outcome.tried > 1:
        body |= {"not_attributable": [1], "reason": "the line was down"}
    return "PUT", f"/v1/models/{model}/decisions/{decision['id']}/outcome", body
