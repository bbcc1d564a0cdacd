"""The desk: simulated payments that the service routes, through its public API."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from longrank.arrays import Order
from longrank.errors import InvalidInput
from longrank.service.client import Client
from longrank.simulation.desk import (
    BRANDS,
    CURRENCY,
    MIXES,
    PROVIDERS,
    TRIES,
    Payment,
    PaymentDesk,
    fixed_list,
)

MODEL = "payments"
SMOOTH = 100  # payments over which a share of traffic is averaged
HABIT = 50  # latest sequences kept for each brand: how longrank routes at present
BEFORE = 500  # payments before an event, whose success rate is shown beside that since
RATED = 4.0  # seconds over which payments a second are counted
DEARER = 2.0  # times its fee, by a press of the button
RECENT = 4_096  # payments whose accounts are kept one by one, for a page that is a little behind
POINTS = 240  # points of the earnings curve; beyond that, every second one is dropped


class Money(NamedTuple):
    """What longrank earned, and what the fixed list and perfect knowledge would have.

    ``longrank`` is what the service counted. The other two add how much more or less their
    sequences were worth for the same payments, by the true chances: so luck plays no part in a
    difference, and nothing beats perfect knowledge.
    """

    payments: int = 0
    longrank: float = 0.0
    fixed: float = 0.0
    perfect: float = 0.0
    saved: float = 0.0  # since the last event, compared with routing as before it; without luck
    at: float = 0.0
    approved: int = 0  # payments that went through

    def since(self, before: Money) -> dict[str, float]:
        """Return the amounts since an earlier moment."""
        names = ("payments", "longrank", "fixed", "perfect", "approved")
        return {name: getattr(self, name) - getattr(before, name) for name in names}


class Happening(NamedTuple):
    """An event at the desk, and what had been earned by then."""

    at: float
    text: str
    provider: str | None
    money: Money
    share: float | None  # of the provider's traffic just before
    success: float | None  # of the payments just before


class Desk:
    """Deals payments, lets the service decide as the model ``payments``, and reports outcomes."""

    def __init__(self, url: str, *, seed: int = 0) -> None:
        self._client = Client(url, timeout=120.0)
        self._world, self._lock = PaymentDesk(seed=seed), threading.Lock()
        self._fixed = np.array(fixed_list())
        self._first: deque[str] = deque(
            maxlen=RECENT
        )  # the first provider tried, for each entry of _recent
        self._habits: dict[str, deque[Order]] = {brand: deque(maxlen=HABIT) for brand in BRANDS}
        self._before: dict[str, list[Order]] = {}  # the habits at the last event
        self._recent: deque[Money] = deque([Money(at=time.time())], maxlen=RECENT)
        self._curve: list[Money] = [self._recent[0]]
        self._stride = 1  # payments per point of the curve
        self.happenings: list[Happening] = []
        self.last = ""  # id of the payment that was routed last

    @property
    def money(self) -> Money:
        """What has been earned by now."""
        return self._recent[-1]

    @property
    def fixed(self) -> list[str]:
        """The providers of the fixed list, in order."""
        return [PROVIDERS[i].name for i in self._fixed.tolist()]

    def open(self) -> None:
        """Create the model, and route the first payment."""
        self._client.create_model(MODEL, max_budget=TRIES, currency=CURRENCY)
        self.route()
        with self._lock:  # the curve begins now
            self._recent[0] = self._curve[0] = self._recent[0]._replace(at=self.money.at)

    def close(self) -> None:
        """Close the connection to the service."""
        self._client.close()

    def run(self, rate: float, stopping: threading.Event) -> None:
        """Route payments at a rate per second until ``stopping`` is set."""
        due = time.monotonic()
        while not stopping.is_set():
            self.route()
            due = max(due + 1.0 / rate, time.monotonic() - 1.0)  # no catching up after a delay
            stopping.wait(max(0.0, due - time.monotonic()))

    def route(self) -> None:
        """Route one payment."""
        with self._lock:
            payment = self._world.deal()
        name = f"payment-{self.money.payments + 1}"
        order = self._decide(name, payment)
        outcome = payment.play(order)
        answer = self._client.settle(MODEL, name, tried=outcome.tried, succeeded=outcome.succeeded)
        earned, payoffs, brand = answer.reward, payment.payoffs, payment.brand
        worth = payment.value(order, payoffs)
        fixed = payment.value(self._fixed, payoffs)
        best = max(worth, payment.value(payment.best(), payoffs))  # but for rounding
        with self._lock:
            old, before = self.money, self._before.get(brand)
            saved = old.saved
            if before:  # one of its former choices for such cards
                saved += worth - payment.value(before[old.payments % len(before)], payoffs)
            self._habits[brand].append(order)
            self._first.append(payment.items[order[0]]["id"] if len(order) else "")
            now = Money(
                old.payments + 1,
                old.longrank + earned,
                old.fixed + earned + (fixed - worth),
                old.perfect + earned + (best - worth),
                saved,
                time.time(),
                old.approved + outcome.succeeded,
            )
            self._recent.append(now)
            self._draw(now)
            self.last = name

    def _draw(self, now: Money) -> None:
        """Add a point to the curve; of too many, drop every second one."""
        if now.payments % self._stride == 0:
            self._curve.append(now)
        if len(self._curve) > POINTS:
            self._curve, self._stride = self._curve[::2], 2 * self._stride

    def _decide(self, name: str, payment: Payment) -> Order:
        ids = [each["id"] for each in payment.items]
        answer = self._client.decide(
            MODEL,
            candidates=payment.items,
            context=payment.context,
            id=name,
            rewards=[payment.margin] * TRIES,
            losses=[0.0] * (TRIES + 1),
        )
        return np.array([ids.index(each.id) for each in answer.sequence], np.int64)

    # what the buttons do

    def act(self, action: str, which: str) -> None:
        """Take a provider ``down`` or ``up``, double its ``fee``, or change the traffic ``mix``."""
        with self._lock:
            world, provider = self._world, None if action == "mix" else which
            share = self._share(which) if action != "mix" else None
            if action == "down":
                world.take_down(which)
                text = f"{which} went down"
            elif action == "up":
                world.bring_up(which)
                text = f"{which} works again"
            elif action == "fee":
                base = {each.name: each.fee for each in PROVIDERS}.get(which, 0.0)
                raised = world.fees.get(which, 0.0) > base
                world.set_fee(which, base if raised else base * DEARER)
                text = f"{which} now asks {world.fees[which]:.2f} {CURRENCY} a try"
            elif action == "mix":
                world.set_mix(which)
                text = f"The traffic changed: {MIXES[which].title.lower()}"
            else:
                raise InvalidInput("action", "be down, up, fee or mix", repr(action))
            self._before = {brand: list(orders) for brand, orders in self._habits.items()}
            self._recent.append(self._recent.pop()._replace(saved=0.0))
            now = self.money
            before = self._after(now.payments - BEFORE)
            count = now.payments - before.payments
            success = (now.approved - before.approved) / count if count else None
            self.happenings.append(Happening(time.time(), text, provider, now, share, success))
            del self.happenings[:-20]

    def state(self, payments: int | None = None) -> dict[str, Any]:
        """Return the state of the panel after a number of payments; by default the present one."""
        with self._lock:
            world, last = self._world, self.happenings[-1] if self.happenings else None
            money = self._after(payments)
            shares = {each.name: self._share(each.name, money) for each in PROVIDERS}
            curve = [each for each in self._curve if each.payments < money.payments] + [money]
            return {
                "model": MODEL,
                "currency": CURRENCY,
                "rate": self._rate(money),
                "money": money._asdict(),
                "last": self.last,
                "fixed": self.fixed,
                "mix": world.mix,
                "mixes": {name: mix.title for name, mix in MIXES.items()},
                "window": SMOOTH,
                "providers": [
                    {
                        "name": each.name,
                        "fee": world.fees[each.name],
                        "raised": world.fees[each.name] > each.fee,
                        "percent": each.share,
                        "down": each.name in world.down,
                        "share": shares[each.name],
                    }
                    for each in PROVIDERS
                ],
                "curve": {
                    name: [getattr(each, name) for each in curve]
                    for name in ("at", "longrank", "fixed", "perfect")
                },
                "marks": [{"at": each.at, "text": each.text} for each in self.happenings],
                "happening": None if last is None else _consequences(last, money, shares),
            }

    def _after(self, payments: int | None) -> Money:
        """Return the money after a number of payments, or the nearest state that is kept."""
        newest, oldest = self._recent[-1], self._recent[0]
        if payments is None:
            return newest
        place = min(max(payments, oldest.payments), newest.payments) - oldest.payments
        return self._recent[place]

    def _rate(self, money: Money) -> float | None:
        """Return the payments per second just before a state; None if that is too short a time."""
        end = time.time() if money is self.money else money.at  # now, even without payments
        begin = max(end - RATED, self._recent[0].at)
        if end - begin < RATED / 2:
            return None
        return sum(begin < each.at <= end for each in self._recent) / (end - begin)

    def _share(self, provider: str, money: Money | None = None) -> float:
        """Return the share of recent payments that tried the provider first."""
        late = 0 if money is None else self.money.payments - money.payments
        end = len(self._first) - late
        last = list(self._first)[max(0, end - SMOOTH) : max(0, end)]
        return last.count(provider) / max(1, len(last))


def _consequences(last: Happening, money: Money, shares: dict[str, float]) -> dict[str, Any]:
    """Describe the last event and its consequences."""
    early = money.payments < last.money.payments  # the page is not there yet
    now = last.money if early else money
    return {
        "text": last.text,
        "at": last.at,
        "provider": last.provider,
        "share_before": last.share,
        "share_now": None if last.provider is None else shares[last.provider],
        "success_before": last.success,
        "since": now.since(last.money) | {"saved": 0.0 if early else now.saved},
    }
