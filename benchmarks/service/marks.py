"""Drift marks of the console: false ones, files of outcomes sorted by result, early outages.

    python benchmarks/service/marks.py [--runs 6]      # three minutes

- Chance: candidates whose success never changes, in the order in which they are tried.
- Files: a candidate that succeeds in 85 % of 1,500 decisions a day, whose outcomes come at night,
  sorted by result: in one request, and in a request for each.
- Outages: the payment desk of ``longrank play``; after so many payments the provider that is
  tried first most often goes down for 300 payments.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from longrank.service.engine import stats
from longrank.service.engine.engine import Engine
from longrank.service.messages import BatchItem, DecisionRequest, ModelRequest, OutcomeRequest
from longrank.service.store.sqlite import SqliteStore
from longrank.simulation.desk import TRIES, PaymentDesk

RATES, TRIED = (0.3, 0.6, 0.85, 0.95), 100_000
NIGHTS, DAILY = 8, 1_500
LASTS = 300  # payments of an outage


def chance(runs: int) -> float:
    """Return how many tries there are for each false mark."""
    marks = 0
    for rate in RATES:
        for seed in range(runs):
            state = [0.0] * stats.WATCHED
            for at, x in enumerate(np.random.default_rng(seed).random(TRIED).tolist()):
                marks += stats.detect_change(state, 0, at, x < rate, rate) is not None
    return len(RATES) * runs * TRIED / max(1, marks)


def nightly(path: Path, together: bool) -> int:
    """Return the marks of nights with a file that has the failures first."""
    rng, now = np.random.default_rng(0), [1e9]
    with Engine(SqliteStore(path), clock=lambda: now[0]) as engine:
        model, _ = engine.create("m", ModelRequest(max_budget=1))
        for night in range(NIGHTS):
            good = {f"{night}-{i}": bool(rng.random() < 0.85) for i in range(DAILY)}
            for name in good:
                now[0] += 86_000.0 / DAILY
                engine.decide("m", DecisionRequest(id=name, candidates=["adyen"]))
            file = [
                BatchItem(id=name, tried=1, succeeded=good[name])
                for name in sorted(good, key=good.__getitem__)
            ]
            for first in range(0, DAILY, DAILY if together else 1):
                engine.settle_many("m", file[first : DAILY if together else first + 1])
        return len(model.stats.series.marks)


def outage(path: Path, after: int, seed: int) -> int | None:
    """Return how many payments it takes until an outage is marked; None if it is not."""
    desk, first = PaymentDesk(seed=seed), Counter[str]()
    with Engine(SqliteStore(path)) as engine:
        model, _ = engine.create("m", ModelRequest(max_budget=TRIES))
        for i in range(after + LASTS):
            if i == after:
                down = first.most_common(1)[0][0]
                desk.take_down(down)
            payment = desk.deal()
            rewards, losses = [payment.margin] * TRIES, [0.0] * (TRIES + 1)
            request = DecisionRequest(
                id=f"d{i}",
                candidates=payment.items,
                context=payment.context,
                rewards=rewards,
                losses=losses,
            )
            ids = [each.id for each in engine.decide("m", request).sequence]
            if i >= after - 100:
                first.update(ids[:1])
            names = [each["id"] for each in payment.items]
            told = payment.play(np.array([names.index(each) for each in ids], np.int64))
            engine.settle("m", f"d{i}", OutcomeRequest(told.tried, told.succeeded))
            if i >= after and any(
                mark.candidate == down and mark.since < mark.before
                for mark in model.stats.series.marks
            ):
                return i + 1 - after
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=6)
    runs = parser.parse_args().runs
    print(f"chance: a false mark every {chance(runs):,.0f} tries")
    with tempfile.TemporaryDirectory(prefix="longrank-marks-") as folder:
        for together, how in ((True, "one request"), (False, "a request for each")):
            marks = nightly(Path(folder) / f"{how}.db", together)
            print(f"{NIGHTS} nightly files, failures first, {how}: {marks} false marks")
        for after in (150, 300, 600, 2_000):
            found = [outage(Path(folder) / f"{after}-{i}.db", after, i) for i in range(runs)]
            seen = [each for each in found if each is not None]
            print(f"outage after {after:,} payments: marked in {len(seen)} of {runs} runs, "
                  f"after {sorted(seen)} payments")  # fmt: skip


if __name__ == "__main__":
    main()
