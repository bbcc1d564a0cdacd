"""How soon does ``recommended()`` leave a provider that is down, and how soon does it return?

    nice -n 15 python benchmarks/records/outage.py      # 3 seeds: five minutes
    nice -n 15 python benchmarks/records/outage.py 1    # 1 seed: under two

The simulated desk of ``longrank play``: Meridian, the best first attempt for Mastercard, is down
for 1,000 payments after a quiet history of 500, 5,000 or 20,000, then up for 3,000, then down
again.
``recommended()`` is told one of these, and always sees the same payments:

- ``nothing``: brand, country and amount only;
- ``week``: a field in the context that changes every 1,000 payments (outages begin and end in the
  middle of a week);
- ``streak``: for each provider, how often it has failed in a row (in four steps), or ``unknown``
  if it was not tried during the last 200 payments;
- ``status``: the provider's status page, which is 40 payments late.

Shares say how many of the Mastercard payments try Meridian first. Money is expected money, by the
true chances, in EUR per 1,000 payments of any brand.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable

import numpy as np

from longrank import Outcome, recommended
from longrank.simulation.desk import Payment, PaymentDesk

SEEDS = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
HISTORIES = (500, 5_000, 20_000)
WATCHED, BRAND = "Meridian", "mastercard"
DOWN, UP, AGAIN = 1_000, 3_000, 400
LEAVING = ((0, 50), (50, 100), (100, 200), (200, 400), (400, 1_000))
RETURNING = ((0, 50), (50, 200), (200, 500), (500, 1_000), (1_000, 3_000))
WEEK, EXPIRY = 1_000, 200


class Told:
    """What the policy is told of a payment: nothing of outages."""

    def __init__(self) -> None:
        self.seen = 0

    def describe(self, payment: Payment) -> tuple[list[dict], dict]:
        items = [{k: v for k, v in each.items() if k != "status"} for each in payment.items]
        return items, dict(payment.context)

    def note(self, tried: list[str], succeeded: bool) -> None:  # noqa: ARG002
        """Take note of what was tried."""
        self.seen += 1


class Status(Told):
    def describe(self, payment: Payment) -> tuple[list[dict], dict]:
        return payment.items, dict(payment.context)


class Week(Told):
    def describe(self, payment: Payment) -> tuple[list[dict], dict]:
        items, context = super().describe(payment)
        return items, context | {"week": f"week {(self.seen + WEEK // 2) // WEEK}"}


class Streak(Told):
    def __init__(self) -> None:
        super().__init__()
        self.failed: dict[str, int] = {}
        self.last: dict[str, int] = {}

    def describe(self, payment: Payment) -> tuple[list[dict], dict]:
        items, context = super().describe(payment)
        return [each | {"streak": self.level(each["id"])} for each in items], context

    def level(self, name: str) -> str:
        if self.seen - self.last.get(name, -EXPIRY) >= EXPIRY:
            self.failed[name] = 0
            return "unknown"
        failed = self.failed[name]
        return "0-1" if failed < 2 else "2-3" if failed < 4 else "4-5" if failed < 6 else "6+"

    def note(self, tried: list[str], succeeded: bool) -> None:
        for place, name in enumerate(tried, 1):
            approved = succeeded and place == len(tried)
            self.failed[name] = 0 if approved else self.failed.get(name, 0) + 1
            self.last[name] = self.seen
        super().note(tried, succeeded)


WAYS: dict[str, Callable[[], Told]] = {
    "nothing": Told, "week": Week, "streak": Streak, "status": Status,
}  # fmt: skip


class Desk:
    """A policy at work, with what it is told."""

    def __init__(self, told: Told) -> None:
        self.policy, self.told = recommended(), told

    def handle(self, payment: Payment) -> np.ndarray:
        items, context = self.told.describe(payment)
        ranking = self.policy.rank(items, payment.worth, context=context)
        outcome: Outcome = payment.play(ranking.order)
        self.policy.learn(ranking, outcome)
        self.told.note(ranking.ids[: outcome.tried], outcome.succeeded)
        return ranking.order


def play(desk: Desk, world: PaymentDesk, payments: int) -> np.ndarray:
    """Return for each payment: was Meridian first (NaN: another brand), and what was earned."""
    rows = np.full((payments, 2), np.nan)
    for row in rows:
        payment = world.deal()
        order = desk.handle(payment)
        if payment.brand == BRAND:
            row[0] = order.size > 0 and payment.items[order[0]]["id"] == WATCHED
        row[1] = payment.value(order, payment.payoffs)
    return rows


def disturb(desk: Desk, world: PaymentDesk) -> list[np.ndarray]:
    """Play an outage, the time after it, and a second outage."""
    world.take_down(WATCHED)
    first = play(desk, world, DOWN)
    world.bring_up(WATCHED)
    after = play(desk, world, UP)
    world.take_down(WATCHED)
    return [first, after, play(desk, world, AGAIN)]


def measure(way: str, histories: tuple[int, ...], seed: int) -> dict[int, list[np.ndarray]]:
    """Return, for each length of history: its last half, and what ``disturb`` returns."""
    desk, world, found = Desk(WAYS[way]()), PaymentDesk(seed=seed), {}
    quiet = np.empty((0, 2))
    for history in histories:
        quiet = np.concatenate([quiet, play(desk, world, history - len(quiet))])
        found[history] = [
            quiet[history // 2 :], *disturb(copy.deepcopy(desk), copy.deepcopy(world)),
        ]  # fmt: skip
    return found


def shares(rows: np.ndarray, windows: tuple[tuple[int, int], ...]) -> str:
    """Percent of the payments of each window that try Meridian first; rows are (seed, payment)."""
    return "  ".join(f"{a}-{b}: {100 * np.nanmean(rows[:, a:b, 0]):.0f} %" for a, b in windows)


def main() -> None:
    for way in WAYS:
        histories = HISTORIES if way == "nothing" else HISTORIES[-1:]
        runs = [measure(way, histories, seed) for seed in SEEDS]
        for history in histories:
            quiet, first, after, again = map(
                np.stack, zip(*(run[history] for run in runs), strict=True)
            )
            money = [1_000 * float(part[..., 1].mean()) for part in (quiet, first, after)]
            print(f"{way}, after {history} payments")
            print(f"  quiet   {100 * np.nanmean(quiet[..., 0]):.0f} %, EUR {money[0]:.0f}")
            print(f"  down    {shares(first, LEAVING)}, EUR {money[1]:.0f}")
            print(f"  up      {shares(after, RETURNING)}, EUR {money[2]:.0f}")
            print(f"  down    {shares(again, LEAVING[:4])}", flush=True)
    print(f"{len(SEEDS)} seeds, {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main()
