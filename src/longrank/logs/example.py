"""An example of a log: simulated payments whose routes were drawn at random."""

import datetime
from collections.abc import Iterator
from typing import cast

from longrank.logs.columns import IDS, Row
from longrank.logs.recording import record
from longrank.policies import PlackettLuce, named
from longrank.simulation.desk import CURRENCY, PaymentDesk

DECISIONS = 2_000
_OFFERED = 4  # providers: with few of them, each sequence is played often enough to be judged
_TEMPERATURE = 20.0  # nearly every order of the providers is equally likely
_START = datetime.datetime(2026, 3, 2, 8, tzinfo=datetime.UTC)
_EVERY = datetime.timedelta(minutes=5)


def example(decisions: int = DECISIONS, seed: int = 1) -> Iterator[Row]:
    """Return the rows of a simulated log, for :func:`longrank.logs.write`.

    A Plackett-Luce policy that never learns routes the payments of a desk. Every row has the
    providers with their fees, the card and the amount, what a sale earns, what was tried and how
    it ended, and how likely that was.

    >>> row = next(example(1))
    >>> row["ids"], row["tried"], row["succeeded"], row["brand"], row["currency"]
    (['Meridian'], 1, True, 'mastercard', 'EUR')
    """
    desk = PaymentDesk(seed=seed)
    made = named("plackett-luce", temperature=_TEMPERATURE, rng=seed)
    policy = cast(PlackettLuce, made)
    for number in range(decisions):
        payment = desk.deal()
        routes, payoffs, context = payment.items[:_OFFERED], payment.worth, payment.context
        ranking = policy.rank(routes, payoffs, context=context)
        chances = policy.propensities(routes, payoffs, ranking.order, context=context)
        row = record(
            f"p{number + 1}",
            ranking,
            payment.play(ranking.order),
            payoffs,
            candidates=routes,
            propensities=chances,
            time=(_START + number * _EVERY).isoformat(),
        )
        del row["order"]  # names can be read
        yield row | {IDS: ranking.ids, "currency": CURRENCY} | (context or {})
