"""A log of records as a polars frame with its own column names: checked, learned from, evaluated.

    python benchmarks/logs/records.py [--count 200000] [--policies recommended,plackett-luce]

Payments: each has six to ten of 14 routes as candidates, with a region and a fee, and five fields
of context in columns of their own. The log drew its sequences by Plackett-Luce, with STOP as an
action, from scores that know the brand but not the country; its propensities are exact. Another
process makes the log; the peak is that of this one so far, with the frame and the libraries.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from longrank import Payoffs, named, recommended
from longrank.logs import History, check, evaluate, learn_from

ROUTES, BUDGET = 14, 3
BRANDS = np.array(["visa", "mastercard", "amex", "jcb"])
COUNTRIES = np.array([f"country {i}" for i in range(20)])
PAYOFFS = Payoffs.linear(BUDGET, attempt_cost=0.05, give_up=-0.2)
COLUMNS = {"id": "payment", "candidates": "routes", "ids": "chosen", "tried": "attempts"}
COLUMNS |= {"succeeded": "paid", "propensity": "chance", "prefix_propensities": "chances"}


def make_log(count: int, seed: int = 0) -> pl.DataFrame:
    """Draw payments, what was tried, and how it ended."""
    rng = np.random.default_rng(seed)
    brand, country = rng.integers(len(BRANDS), size=count), rng.integers(20, size=count)
    by_brand = rng.normal(0.0, 1.0, (len(BRANDS), ROUTES))
    by_country = rng.normal(0.0, 0.7, (len(COUNTRIES), ROUTES))
    truth = by_brand[brand] + by_country[country] - 0.5
    amount, new = np.exp(rng.normal(3.5, 1.2, count)).round(2), rng.random(count) < 0.3
    truth -= 0.3 * new[:, np.newaxis]

    sizes = rng.integers(6, 11, size=count)
    shuffled = np.argsort(rng.random((count, ROUTES)), axis=1)
    offered = np.zeros((count, ROUTES), np.bool_)
    np.put_along_axis(offered, shuffled, np.arange(ROUTES) < sizes[:, np.newaxis], axis=1)

    weights = np.where(offered, np.exp(0.7 * by_brand[brand]), 0.0)
    weights = np.column_stack([weights, np.full(count, 0.3)])  # STOP is the last action
    order, prefix = np.full((count, BUDGET), -1), np.ones((count, BUDGET))
    reached, going, rows = np.ones(count), np.ones(count, np.bool_), np.arange(count)
    for j in range(BUDGET):
        shares = weights / weights.sum(axis=1, keepdims=True)
        drawn = (shares.cumsum(axis=1) > rng.random((count, 1))).argmax(axis=1)
        chance = np.where(going, shares[rows, drawn], 1.0)
        reached = reached * chance
        going &= drawn < ROUTES
        order[going, j], prefix[going, j] = drawn[going], reached[going]
        weights[rows[going], drawn[going]] = 0.0
    lengths = (order >= 0).sum(axis=1)

    odds = np.take_along_axis(truth, np.maximum(order, 0), axis=1)
    hits = (rng.random((count, BUDGET)) < 1.0 / (1.0 + np.exp(-odds))) & (order >= 0)
    paid = hits.any(axis=1)
    tried = np.where(paid, hits.argmax(axis=1) + 1, lengths)

    records = [
        {"id": f"route {i}", "region": ("eu", "us", "asia")[i % 3], "fee": 0.1 + 0.02 * i}
        for i in range(ROUTES)
    ]
    names = np.array([record["id"] for record in records])
    members, owners = np.nonzero(offered)[1], np.cumsum(sizes)[:-1]
    played, ends = order[order >= 0], np.cumsum(lengths)[:-1]
    known = pl.DataFrame(records).to_struct("routes")
    return pl.DataFrame(
        {
            "payment": np.arange(count),
            "brand": BRANDS[brand],
            "country": COUNTRIES[country],
            "amount": amount,
            "hour": rng.integers(24, size=count),
            "new customer": new,
            "routes": _lists(known.gather(members), owners, count),
            "chosen": _lists(pl.Series(names[played]), ends, count),
            "attempts": tried,
            "paid": paid,
            "chance": reached,
            "chances": _lists(pl.Series(prefix[order >= 0]), ends, count),
        }
    )


def _lists(values: pl.Series, ends: np.ndarray, count: int) -> pl.Series:
    """Cut a series into lists that end there."""
    owner = np.zeros(len(values), np.int64)
    np.add.at(owner, ends[ends < len(values)], 1)
    frame = pl.DataFrame({"owner": owner.cumsum(), "value": values})
    lists = frame.group_by("owner", maintain_order=True).agg("value")
    every = pl.DataFrame({"owner": np.arange(count)}).join(lists, on="owner", how="left")
    return every["value"].fill_null([])


def write_log(count: int, path: Path) -> None:
    """Make a log and write it to a file."""
    make_log(count).write_parquet(path)


def read_log(count: int) -> pl.DataFrame:
    """Return a log that another process has made."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = count, Path(folder) / "log.parquet"
        maker = multiprocessing.get_context("spawn").Process(target=write_log, args=arguments)
        maker.start()
        maker.join()
        return pl.read_parquet(arguments[1])


def timed(what: str, job: Callable[[], Any]) -> Any:
    """Run a job; print what it took."""
    start, busy = time.perf_counter(), time.process_time()
    result = job()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {what} | {seconds:.1f} | {busy:.1f} | {peak:,.0f} |", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200_000, help="decisions")
    parser.add_argument("--policies", default="recommended,plackett-luce", help="to evaluate")
    arguments = parser.parse_args()
    count, half = arguments.count, arguments.count // 2

    few = History(make_log(50, seed=1), columns=COLUMNS, payoffs=PAYOFFS)
    learn_from(recommended(), few)  # compiles
    print(f"| {count:,} decisions | seconds | of CPU | peak MB |\n|---|--:|--:|--:|", flush=True)
    frame = timed("made", lambda: read_log(count))
    history = History(frame, columns=COLUMNS, payoffs=PAYOFFS)
    found = timed("checked", lambda: check(history))
    assert not found.problems, found.problems[0]
    timed("learned from", lambda: learn_from(recommended(), history))
    for name in arguments.policies.split(","):
        policy = named(name, rng=0)
        learn_from(policy, history.part(0, half))
        rest, one = History(frame[half:], columns=COLUMNS, payoffs=PAYOFFS), {name: policy}
        text = f"{name} evaluated on {count - half:,}"
        for estimate in timed(text, lambda: evaluate(rest, one)):  # noqa: B023
            print(f"    {estimate}")


if __name__ == "__main__":
    main()
