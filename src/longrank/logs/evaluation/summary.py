"""The report of an evaluation: one HTML page without outside references."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longrank.document import Block, Chart, Drawing, Grid, Heading, Prose, number, to_html
from longrank.logs.evaluation import insights
from longrank.logs.evaluation.comparison import evaluate, source_first
from longrank.logs.evaluation.estimators import Estimate
from longrank.logs.evaluation.evidence import Evidence, check_batches, gather_all
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.verdict import LOGGED
from longrank.logs.history import Change, History
from longrank.policies import Policy
from longrank.workers import Workers

Policies = Mapping[str, Policy]
UNCHANGED = "unchanged"


@source_first
def report(
    source: Any,
    policies: Policies,
    path: str | os.PathLike[str],
    estimates: Sequence[Estimate] | None = None,
    *,
    extra_cost: float | None = None,
    jobs: int = 1,
    backend: str = "processes",
    address: str | None = None,
) -> Path:
    """Write a page that compares policies on a log; return its path.

    Parameters
    ----------
    source
        A :class:`~longrank.logs.History`, or whatever it takes: a file, a frame, a list of
        dictionaries.
    policies
        The policies by name.
    estimates
        From :func:`longrank.logs.evaluate`; computed by default.
    extra_cost
        "What if every attempt cost this much more?"; a twentieth of the first reward by default.
    jobs, backend, address
        As for :func:`longrank.logs.evaluate`.
    """
    history = History.of(source).keep()
    if estimates is None:
        estimates = evaluate(history, policies, jobs=jobs, backend=backend, address=address)
    workers = Workers(jobs, backend, address)
    title = f"Policies on {history.name}"
    blocks: list[Block] = [
        Heading(title, 1),
        Prose(
            f"{len(history)} decisions of {history.name}. Every value is what a policy would earn "
            "per decision. Nothing here was played: these are estimates. If the log cannot support "
            "an estimate, the reason is given instead."
        ),
        *_prices(history),
        Heading("Values", 2),
        _values(estimates),
    ]
    if not all(one.refused for one in estimates):
        blocks += _details(policies, history, estimates, extra_cost, workers)
    out = Path(path)
    out.write_text(to_html(blocks, title), "utf-8")
    return out


def _prices(history: History) -> list[Block]:
    log = check_batches(history)
    if not log.prices:
        return []
    return [Prose(f"Values are net of what attempts cost: {log.prices}.")]


def _details(
    policies: Policies,
    history: History,
    estimates: Sequence[Estimate],
    extra_cost: float | None,
    workers: Workers,
) -> list[Block]:
    model, changes = fit(history), _changes(history, extra_cost)
    found = gather_all(policies, history, model, changes, workers=workers)
    supported = [e.policy for e in estimates if e.estimator == "doubly robust" and not e.refused]
    return [
        _intervals(estimates),
        Heading("Learning curve", 2),
        *_learning(policies, history, model, supported),
        Heading("Success by position", 2),
        *_positions(history),
        Heading("Length", 2),
        _lengths({name: one[UNCHANGED] for name, one in found.items()}, history),
        Heading("Calibration of the model", 2),
        *_calibration(model),
        Heading("What if", 2),
        *_what_if(found, changes),
    ]


def _values(estimates: Sequence[Estimate]) -> Grid:
    rows = []
    for e in estimates:
        span = "" if e.refused else f"{number(e.low, 4)} to {number(e.high, 4)}"
        remark = f"refused: {e.refused}" if e.refused else "; ".join(e.notes)
        if not math.isnan(e.exact):
            remark = f"exact in {e.exact:.0%} of the decisions; {remark}"
        effective = number(e.effective, 0)
        value = number(e.value, 4)
        rows.append((e.policy, e.estimator, value, span, effective, e.method, remark))
    levels = [f"{e.confidence:.0%} " for e in estimates if not math.isnan(e.confidence)]
    interval = f"{levels[0] if levels else ''}interval"
    header = ("policy", "estimator", "value", interval, "effective", "method", "remarks")
    return Grid(header, tuple(rows), prose=(0, 1, 5, 6))


def _intervals(estimates: Sequence[Estimate]) -> Drawing:
    drawn = [e for e in estimates if not e.refused]
    policies = list(dict.fromkeys(e.policy for e in estimates))
    kinds = tuple(dict.fromkeys(e.estimator for e in drawn))
    ends = [end for e in drawn for end in (e.low, e.high) if math.isfinite(end)]
    chart = Chart(
        (-0.5, len(policies) - 0.5),
        (min(ends), max(ends)),
        label="The value of each policy with its interval, by each estimator",
        titles=("", "reward per decision"),
        x_names=policies,
        height=320.0,
    )
    for e in drawn:
        style = kinds.index(e.estimator)
        x = policies.index(e.policy) + 0.7 * ((style + 0.5) / len(kinds) - 0.5)
        if math.isfinite(e.low) and math.isfinite(e.high):
            chart.whisker(x, e.low, e.high, style)
        if not math.isnan(e.value):
            chart.dot(x, e.value, style)
    return Drawing(chart, kinds)


def _learning(
    policies: Policies, history: History, model: OutcomeModel, supported: Sequence[str]
) -> list[Block]:
    curves = {
        name: insights.learning_curve(policy, history, model, supported=name in supported)
        for name, policy in policies.items()
    }
    values = [value for curve in curves.values() for _, value in curve]
    chart = Chart(
        (0.0, float(len(history))),
        (min(values), max(values)),
        label="The mean value so far of each policy while it learns from the log",
        titles=("decisions", "mean value so far"),
    )
    for style, curve in enumerate(curves.values()):
        chart.line([(float(t), value) for t, value in curve], style)
    how = (f"{name} ({'doubly robust' if name in supported else 'model'})" for name in curves)
    text = "Each policy learns from the log decision by decision, and is evaluated before each one."
    return [Prose(text), Drawing(chart, tuple(how))]


def _positions(history: History) -> list[Block]:
    found = insights.by_position(history)
    highest = float(np.nanmax(found.rates, initial=0.0)) or 1.0
    chart = Chart(
        (-0.5, len(found.tried) - 0.5),
        (0.0, highest),
        label="The success rate of attempts, by position",
        titles=("position", "success rate"),
        x_names=[str(i + 1) for i in range(len(found.tried))],
        height=220.0,
    )
    for i, rate in enumerate(found.rates):
        if not math.isnan(rate):
            chart.bar(float(i), 0.6, float(rate))
    columns = zip(found.tried, found.succeeded, found.rates, strict=True)
    rows: tuple[tuple[str, ...], ...] = tuple(
        (str(i), str(tried), str(succeeded), number(float(rate), 3))
        for i, (tried, succeeded, rate) in enumerate(columns, 1)
    )
    header = ("position", "tried", "succeeded", "rate")
    if not found.spent.any():
        return [Drawing(chart), Grid(header, rows)]
    costs = (number(float(cost), 4) for cost in found.costs)
    rows = tuple((*row, cost) for row, cost in zip(rows, costs, strict=True))
    spent, wins = float(found.spent.sum()), int(found.succeeded.sum())
    text = f"The log spent {number(spent / len(history), 4)} per decision"
    text += f" and {number(spent / wins, 4)} per success." if wins else "."
    return [Prose(text), Drawing(chart), Grid((*header, "mean cost"), rows)]


def _lengths(found: Mapping[str, Evidence], history: History) -> Grid:
    counted = {LOGGED: insights.lengths(history)}
    counted |= {name: insights.lengths(one) for name, one in found.items()}
    longest = max(map(len, counted.values()))
    rows = []
    for name, counts in counted.items():
        shares = np.append(counts, np.zeros(longest - len(counts))) / counts.sum()
        mean = float(shares @ np.arange(longest))
        rows.append((name, f"{mean:.2f}", *(f"{share:.0%}" for share in shares)))
    return Grid(("policy", "mean length", *map(str, range(longest))), tuple(rows), prose=(0,))


def _calibration(model: OutcomeModel) -> list[Block]:
    bins = calibration(model.predictions)
    if not bins:
        return [Prose("Nothing was tried, so there is nothing to compare.")]
    top = max(max(predicted, true) for predicted, true, _ in bins)
    chart = Chart(
        (0.0, top),
        (0.0, top),
        label="Predicted against observed success, by deciles of the attempts",
        titles=("predicted", "observed"),
        width=360.0,
        height=340.0,
    )
    chart.line([(0.0, 0.0), (top, top)], 6)
    for predicted, true, count in bins:
        error = math.sqrt(max(true * (1.0 - true), 1e-12) / count)
        chart.whisker(predicted, max(true - 2 * error, 0.0), min(true + 2 * error, top))
        chart.dot(predicted, true)
    text = (
        "Each dot is a tenth of the attempts, predicted by a model that has not seen them. On the "
        "line the model is right; the further from it, the less the row “model” is worth."
    )
    return [Prose(text), Drawing(chart)]


def _changes(history: History, extra_cost: float | None) -> dict[str, Change]:
    """Return what might be otherwise: smaller budgets, and more expensive attempts."""
    longest, first = 1, 0.0
    for batch in history.batches():
        known = batch.tried >= 0
        most = [one.budget for one in batch.payoffs]
        for payoffs in batch.payoffs:
            more = payoffs.success_values
            worth = 0.0 if more is None or not len(more) else float(more.max())
            first = max(first, float(payoffs.rewards[:1].sum()) + worth)
        tries = np.minimum(batch.budget, max(most, default=0))[known]
        if batch.items is not None:
            tries = np.minimum(tries, np.diff(batch.items.firsts)[known])
        else:
            sizes = [len(each or ()) for each in batch.more.get("candidates", [])]
            tries = np.minimum(tries, np.array(sizes, np.int64)[known])
        longest = max(longest, int(tries.max(initial=1)))
    cost = 0.05 * first if extra_cost is None else extra_cost
    budgets = sorted({1, 2, 3, longest // 2, longest} & set(range(1, longest)))
    return {
        UNCHANGED: (None, None),
        **{f"budget {b}": (None, b) for b in budgets},
        f"every attempt costs {cost:g} more": (insights.raise_costs(cost), None),
    }


def _what_if(
    evidence: Mapping[str, Mapping[str, Evidence]], changes: Mapping[str, Change]
) -> list[Block]:
    policies, found = list(evidence), insights.judge_changes(evidence, changes)
    rows = []
    for one in found:
        robust = [one.robust.get(name, math.nan) for name in policies]
        pairs = zip((one.modelled[name] for name in policies), robust, strict=True)
        rows.append((one.change, *(f"{number(a, 4)} / {number(b, 4)}" for a, b in pairs)))
    text = (
        "Each policy decides again under the change; the values are by the model / doubly robust. "
        "What a larger budget than the log's would bring cannot be seen in it."
    )
    return [Prose(text), Grid(("change", *policies), tuple(rows), prose=(0,))]
