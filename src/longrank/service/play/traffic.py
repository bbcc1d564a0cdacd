"""The desk: simulated payments that the service routes, through its public API."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

Order = NDArray[np.int64]
MODEL, BASELINE = "payments", "fixed-list"
RECENT = 100  # payments over which a share of traffic is told
HABIT = 50  # sequences for a brand that are remembered: how longrank routes just now
DEARER = 2.0  # times its fee, by a press of the button


class Money(NamedTuple):
    """What was earned by longrank, by the fixed list, and by one who knows all chances."""

    payments: int = 0
    longrank: float = 0.0
    fixed: float = 0.0
    perfect: float = 0.0

    def since(self, before: Money) -> Money:
        """Return what came in after an earlier moment."""
        later = [now - then for now, then in zip(self, before, strict=True)]
        return Money(int(later[0]), *later[1:])


class Happening(NamedTuple):
    """Something that somebody did to the desk, and what had been earned by then."""

    at: float
    text: str
    provider: str | None
    money: Money
    share: float | None  # of the provider's traffic just before


class Desk:
    """Deals payments, lets the service decide, and reports what became of them.

    longrank decides about each payment as the model ``payments``. The same payment goes to the
    model ``fixed-list``, in shadow mode: it plays the best fixed list, and is counted in the same
    way. Both meet the same luck: a provider approves a payment for both or for none.
    """

    def __init__(self, url: str, *, seed: int = 0) -> None:
        self._client = Client(url, timeout=120.0)
        self._world, self._lock = PaymentDesk(seed=seed), threading.Lock()
        self._fixed = np.array(fixed_list())
        self._first: deque[str] = deque(maxlen=RECENT)
        self._habits: dict[str, deque[Order]] = {brand: deque(maxlen=HABIT) for brand in BRANDS}
        self._before: dict[str, list[Order]] = {}  # the habits when something last happened
        self._as_before = 0.0  # what they would have earned since
        self.money, self.happenings, self.last = Money(), [], ""
        self.rate = 0.0

    happenings: list[Happening]

    def open(self) -> None:
        """Create the models, and route the first payment: compiles what is not compiled yet."""
        settings = {"max_budget": TRIES, "currency": CURRENCY}
        self._client.create_model(MODEL, **settings)
        self._client.create_model(BASELINE, policy="rand", mode="shadow", **settings)
        self.route()

    def close(self) -> None:
        """Close the connection to the service."""
        self._client.close()

    def run(self, rate: float, stopping: threading.Event) -> None:
        """Route payments, so many a second, until told to stop."""
        due = time.monotonic()
        started, before = due, self.money.payments
        while not stopping.is_set():
            self.route()
            due = max(due + 1.0 / rate, time.monotonic() - 1.0)  # what is late is not made up for
            passed = time.monotonic() - started
            if passed > 2.0:
                self.rate = (self.money.payments - before) / passed
                started, before = time.monotonic(), self.money.payments
            stopping.wait(max(0.0, due - time.monotonic()))

    def route(self) -> None:
        """Route one payment."""
        with self._lock:
            payment = self._world.deal()
        name = f"payment-{self.money.payments + 1}"
        order = self._decide(MODEL, name, payment)
        earned = self._report(MODEL, name, payment, order)
        fixed = self._decide(BASELINE, name, payment, baseline=self._fixed)
        usual = self._report(BASELINE, name, payment, fixed)
        best = payment.earned(payment.best())
        brand = payment.brand
        with self._lock:
            old, before = self.money, self._before.get(brand)
            if before:  # one of the sequences that it used to choose for such cards
                self._as_before += payment.earned(before[old.payments % len(before)])
            elif self.happenings:
                self._as_before += earned
            self._habits[brand].append(order)
            self._first.append(payment.items[order[0]]["id"] if len(order) else "")
            self.money = Money(
                old.payments + 1, old.longrank + earned, old.fixed + usual, old.perfect + best
            )
            self.last = name

    def _decide(
        self, model: str, name: str, payment: Payment, baseline: Order | None = None
    ) -> Order:
        ids = [each["id"] for each in payment.items]
        answer = self._client.decide(
            model,
            candidates=payment.items,
            context=payment.context,
            id=name,
            rewards=[payment.margin] * TRIES,
            losses=[0.0] * (TRIES + 1),
            baseline=None if baseline is None else [ids[i] for i in baseline],
        )
        return np.array([ids.index(each.id) for each in answer.sequence], np.int64)

    def _report(self, model: str, name: str, payment: Payment, order: Order) -> float:
        outcome = payment.play(order)
        told = self._client.settle(model, name, tried=outcome.tried, succeeded=outcome.succeeded)
        return told.reward

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
            self._as_before = 0.0
            self.happenings.append(Happening(time.time(), text, provider, self.money, share))
            del self.happenings[:-20]

    def state(self) -> dict[str, Any]:
        """Return what the panel shows."""
        with self._lock:
            world, last = self._world, self.happenings[-1] if self.happenings else None
            return {
                "model": MODEL,
                "baseline": BASELINE,
                "currency": CURRENCY,
                "rate": self.rate,
                "money": self.money._asdict(),
                "last": self.last,
                "fixed": [PROVIDERS[i].name for i in self._fixed.tolist()],
                "mix": world.mix,
                "mixes": {name: mix.title for name, mix in MIXES.items()},
                "providers": [
                    {
                        "name": each.name,
                        "fee": world.fees[each.name],
                        "raised": world.fees[each.name] > each.fee,
                        "percent": each.share,
                        "down": each.name in world.down,
                        "share": self._share(each.name),
                    }
                    for each in PROVIDERS
                ],
                "happening": None if last is None else self._told(last),
            }

    def _told(self, last: Happening) -> dict[str, Any]:
        return {
            "text": last.text,
            "at": last.at,
            "provider": last.provider,
            "share_before": last.share,
            "share_now": None if last.provider is None else self._share(last.provider),
            "since": self.money.since(last.money)._asdict() | {"as_before": self._as_before},
        }

    def busiest(self) -> str:
        """Return the provider that most payments go to first."""
        return max((each.name for each in PROVIDERS), key=self._share)

    def _share(self, provider: str) -> float:
        return self._first.count(provider) / max(1, len(self._first))
