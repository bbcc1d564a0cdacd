"""A payment desk in names and money: providers with fees, cards, amounts, outages.

Everything here is invented. It is what ``longrank play`` and ``longrank demo`` route.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from longrank import checks
from longrank.arrays import Order, Vector
from longrank.errors import InvalidInput
from longrank.links import LOGISTIC
from longrank.payoffs import Payoffs
from longrank.schema import priced
from longrank.simulation.checkout import CheckoutRound, all_sequences
from longrank.simulation.worlds import Record

TRIES = 3
MARGIN = 0.12  # of the amount: what the shop earns with a sale
FINAL = 0.25  # of the failures: the bank declines the card, whichever provider tries it
OUTAGE = 0.01  # chance of approval while a provider is down
NOTICE = 40  # payments until a status page shows an outage, or its end
CURRENCY = "EUR"


class Provider(NamedTuple):
    """A provider: a fee for each try, a share of the amount, and approval by brand of card."""

    name: str
    fee: float
    share: float
    visa: float
    mastercard: float
    amex: float
    abroad: float  # what a card from abroad adds to the logit
    large: float  # what an amount e times as large adds to the logit


PROVIDERS = (
    Provider("Northbank", 0.20, 0.017, 0.93, 0.90, 0.55, -0.3, -0.1),
    Provider("Quickcard", 0.05, 0.010, 0.72, 0.68, 0.12, -0.6, -0.3),
    Provider("Meridian", 0.14, 0.013, 0.82, 0.93, 0.35, -0.2, -0.2),
    Provider("Atlas", 0.25, 0.024, 0.80, 0.78, 0.94, 0.9, 0.0),
    Provider("Harbor", 0.10, 0.012, 0.91, 0.72, 0.20, -1.2, -0.2),
    Provider("Solo", 0.09, 0.016, 0.70, 0.74, 0.50, 0.0, 0.5),
)
COUNTRIES = ("DE", "FR", "US", "JP")


class Mix(NamedTuple):
    """A mix of traffic: shares of the brands, share of cards from abroad, the typical amount."""

    title: str
    brands: tuple[float, float, float]
    abroad: float
    amount: float


MIXES = {
    "usual": Mix("Usual traffic", (0.50, 0.38, 0.12), 0.15, 40.0),
    "amex": Mix("Mostly Amex", (0.20, 0.15, 0.65), 0.15, 60.0),
    "abroad": Mix("Tourist season", (0.50, 0.35, 0.15), 0.80, 45.0),
    "large": Mix("Large baskets", (0.50, 0.38, 0.12), 0.15, 220.0),
}
BRANDS = ("visa", "mastercard", "amex")


class Payment(CheckoutRound):
    """A payment: providers as records with prices, what a sale earns, and hidden chances."""

    def __init__(
        self, items: list[Record], draws: Vector, chances: Vector, finals: Vector, context: Record
    ) -> None:
        super().__init__(items, draws, chances, finals, context)
        self.margin, self.brand = round(MARGIN * context["amount"], 2), str(context["brand"])

    @property
    def payoffs(self) -> Payoffs:
        """What the payment is worth, with the providers' prices."""
        return priced(self.worth, self.items)

    @property
    def worth(self) -> Payoffs:
        """What the payment is worth, without prices: policies read those of the records."""
        return Payoffs([self.margin] * TRIES, [0.0] * (TRIES + 1))

    def account(self, order: Order) -> tuple[float, float, float]:
        """Return what a sequence earns, what it pays in fees, and 1 if it is approved."""
        outcome = self.play(order)
        tried = [self.items[i] for i in order[: outcome.tried].tolist()]
        fees = math.fsum(each["cost"] for each in tried)
        if not outcome.succeeded:
            return -fees, fees, 0.0
        fees -= tried[-1]["value"]
        return self.margin - fees, fees, 1.0

    def best(self) -> Order:
        """Return the best of all sequences, given all true chances."""
        orders = all_sequences(len(self.chances), TRIES)
        values = self.values(orders, self.payoffs)
        row, length = np.unravel_index(int(np.argmax(values)), values.shape)
        return orders[row, :length]


class PaymentDesk:
    """A stream of simulated payments, whose providers can be taken down and change their fees.

    Parameters
    ----------
    seed
        Seed of the payments.

    Examples
    --------
    >>> desk = PaymentDesk(seed=1)
    >>> payment = desk.deal()
    >>> payment.context["brand"], payment.items[0]["id"], payment.items[0]["cost"]
    ('mastercard', 'Northbank', 0.2)
    >>> desk.take_down("Northbank")
    >>> bool(desk.deal().chances[0] < 0.02)
    True
    """

    def __init__(self, *, seed: int) -> None:
        self._rng = np.random.default_rng([checks.whole("seed", seed), 17])
        self.mix, self.fees = "usual", {each.name: each.fee for each in PROVIDERS}
        self.down: set[str] = set()
        self._told = {each.name: "up" for each in PROVIDERS}
        self._since: dict[str, int] = {}
        self._dealt = 0

    def take_down(self, provider: str) -> None:
        """Take a provider down; its status page shows it some payments later."""
        self.down.add(self._known(provider))
        self._since[provider] = self._dealt

    def bring_up(self, provider: str) -> None:
        """Bring a provider up again; its status page shows it some payments later."""
        self.down.discard(self._known(provider))
        self._since[provider] = self._dealt

    def set_fee(self, provider: str, fee: float) -> None:
        """Change what each try with a provider costs."""
        self.fees[self._known(provider)] = float(checks.real("fee", fee, minimum=0.0))

    def set_mix(self, mix: str) -> None:
        """Change the traffic: one of ``MIXES``."""
        if mix not in MIXES:
            raise InvalidInput("mix", f"be one of {', '.join(MIXES)}", repr(mix))
        self.mix = mix

    def deal(self) -> Payment:
        """Return the next payment."""
        self._update_status()
        self._dealt += 1
        rng, mix = self._rng, MIXES[self.mix]
        brand = BRANDS[rng.choice(3, p=mix.brands)]
        abroad = bool(rng.random() < mix.abroad)
        country = COUNTRIES[2 * abroad + rng.integers(2)]
        amount = round(float(mix.amount * math.exp(0.7 * rng.standard_normal())), 2)
        size = math.log(max(amount, 1.0) / MIXES["usual"].amount)
        rates = np.array([getattr(each, brand) for each in PROVIDERS])
        slopes = np.array([[each.abroad, each.large] for each in PROVIDERS])
        logits = np.log(rates / (1.0 - rates)) + slopes @ [float(abroad), size]
        down = np.array([each.name in self.down for each in PROVIDERS])
        chances = np.where(down, OUTAGE, LOGISTIC.probability(logits))
        items: list[Record] = [
            {
                "id": each.name,
                "status": self._told[each.name],
                "cost": self.fees[each.name],
                "value": -round(each.share * amount, 2),
            }
            for each in PROVIDERS
        ]
        context = {"brand": brand, "country": country, "amount": amount}
        finals = np.where(down, 0.0, FINAL)
        return Payment(items, rng.random(len(PROVIDERS)), chances, finals, context)

    def _update_status(self) -> None:
        """Update the status pages."""
        for name, since in list(self._since.items()):
            if self._dealt - since >= NOTICE:
                self._told[name] = "down" if name in self.down else "up"
                del self._since[name]

    def _known(self, provider: str) -> str:
        if provider not in self.fees:
            raise InvalidInput("provider", f"be one of {', '.join(self.fees)}", repr(provider))
        return provider


@cache
def fixed_list(payments: int = 400) -> tuple[int, ...]:
    """Return the best list for usual traffic: the same for every payment, whatever happens.

    Found by enumeration with full knowledge of usual traffic: the best that a desk without longrank
    can do.
    """
    desk, orders = PaymentDesk(seed=0), all_sequences(len(PROVIDERS), TRIES)
    dealt = (desk.deal() for _ in range(payments))
    worth = np.sum([payment.values(orders, payment.payoffs)[:, -1] for payment in dealt], axis=0)
    return tuple(orders[int(np.argmax(worth))].tolist())
