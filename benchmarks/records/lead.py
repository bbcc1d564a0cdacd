"""How many payments until ``recommended()`` has earned more than a fixed list, for good?

    nice -n 15 python benchmarks/records/lead.py

The simulated desk of ``longrank play`` without outages, from an empty model. The rivals:

- ``best list``: the best of all fixed lists for this traffic, found with knowledge of every chance;
- ``cheapest first``: the three providers with the lowest fees.

Money is expected money, by the true chances. The *deficit* is how far longrank's total is behind
the rival's; the lead is *final* from the payment after which there is never a deficit again.
"""

from __future__ import annotations

import time

import numpy as np

from longrank import recommended
from longrank.simulation.desk import TRIES, Payment, PaymentDesk, fixed_list

SEEDS = range(20)
PAYMENTS = 3_000


def cheapest(payment: Payment) -> np.ndarray:
    return np.argsort([each["cost"] for each in payment.items])[:TRIES]


def play(seed: int) -> np.ndarray:
    """Return what each payment earns: by longrank, by the best list, and cheapest first."""
    policy, desk, fixed = recommended(), PaymentDesk(seed=seed), np.array(fixed_list())
    rows = np.empty((PAYMENTS, 3))
    for row in rows:
        payment = desk.deal()
        ranking = policy.rank(payment.items, payment.worth, context=payment.context)
        policy.learn(ranking, payment.play(ranking.order))
        orders = ranking.order, fixed, cheapest(payment)
        row[:] = [payment.value(order, payment.payoffs) for order in orders]
    return rows


def main() -> None:
    rows = np.stack([play(seed) for seed in SEEDS])
    for column, rival in enumerate(("best list", "cheapest first"), 1):
        lead = np.cumsum(rows[..., 0] - rows[..., column], axis=1)
        behind = lead < 0
        final = np.where(behind.any(1), PAYMENTS - np.argmax(behind[:, ::-1], axis=1), 0)
        deficit = np.maximum(0.0, -lead.min(axis=1))
        total = lead[:, -1]
        print(f"{rival}: median and worst")
        print(f"  payments until the lead is final  {np.median(final):8.0f} {final.max():8}")
        print(f"  largest deficit, EUR              {np.median(deficit):8.2f} {deficit.max():8.2f}")
        print(
            f"  lead after {PAYMENTS} payments, EUR     {np.median(total):8.0f} {total.min():8.0f}"
        )
    print("earned per payment:", rows.mean(axis=(0, 1)).round(3).tolist())
    print(f"{len(SEEDS)} seeds, {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main()
