"""The report of an evaluation: one HTML page without outside references."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.document import (
    LETTER,
    NARROW,
    Beside,
    Block,
    Callout,
    Chart,
    Drawing,
    Field,
    Grid,
    Heading,
    Prose,
    counted,
    number,
    to_html,
)
from longrank.jobs import Jobs
from longrank.logs.evaluation import insights
from longrank.logs.evaluation.comparison import evaluate, source_first
from longrank.logs.evaluation.estimators import Estimate
from longrank.logs.evaluation.evidence import Evidence, check_batches, gather_all
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.observation import treatment
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.verdict import LOGGED, Difference, Evaluation, Verdict
from longrank.logs.history import Change, History
from longrank.policies import Policy

Policies = Mapping[str, Policy]
UNCHANGED = "unchanged"
_DATED, _DATED_TO = 1e8, 1e11  # seconds since 1970 that are dates, rather than any other numbers
SOME = 3_000  # decisions that are enough to ask what if, and to see how a policy learns


@source_first
def report(
    source: Any,
    policies: Policies,
    path: str | os.PathLike[str],
    estimates: Sequence[Estimate] | None = None,
    *,
    extra_cost: float | None = None,
    currency: str = "",
    interval: str = "bootstrap",
    missing: str = "refuse",
    jobs: int = 1,
    backend: str = "processes",
    address: str | None = None,
) -> Path:
    """Write a page that compares policies on a log; return its path.

    Parameters
    ----------
    source
        A :class:`~longrank.logs.History` or anything it accepts: a file, a frame, a list of
        dictionaries.
    policies
        The policies by name.
    estimates
        From :func:`longrank.logs.evaluate`; computed by default.
    extra_cost
        "What if every attempt cost this much more?"; a twentieth of the first reward by default.
    currency
        What amounts are in, such as EUR; by default the context field ``currency`` of the log, if
        it is the same in all decisions.
    interval, missing, jobs, backend, address
        As for :func:`longrank.logs.evaluate`; if ``estimates`` are given, as they were made.
    """
    history = History.of(source).keep()
    found = estimates
    if not isinstance(found, Evaluation):
        how: dict[str, Any] = {"interval": interval, "missing": missing}
        how |= {"jobs": jobs, "backend": backend, "address": address}
        found = evaluate(history, policies, **how)
    workers = Jobs(jobs, backend, address)
    level = max((verdict.confidence for verdict in found.verdicts.values()), default=0.95)
    settings = IntervalSettings(level, "bootstrap" if interval == "bootstrap" else "betting")
    judged = partial(insights.judge_changes, settings=settings, missing=treatment(missing))
    money = currency or currency_of(history)
    title = "What would these policies have earned?"
    blocks: list[Block] = [
        Heading(title, 1),
        Prose(f"{history.name}: {counted(len(history), 'decision')}{_period(history)}"),
        *_answer(history, found, money),
    ]
    if not all(one.refused for one in found):
        blocks += _details(policies, history, found, extra_cost, workers, judged, money)
    blocks += [Heading("Every estimator", 2), *_estimates(found, money)]
    out = Path(path)
    out.write_text(to_html(blocks, f"{title} {history.name}"), "utf-8")
    return out


def currency_of(history: History) -> str:
    """Return the currency that all decisions of a log have in their context; empty if none."""
    found = set()
    for batch in history.batches():
        contexts = batch.more.get("context", [None])
        found |= {str((context or {}).get("currency") or "") for context in contexts}
        if len(found) > 1 or "" in found:
            return ""
    return found.pop() if found else ""


def _period(history: History) -> str:
    """Return from when to when a log goes, if its times are dates."""
    times = [t for batch in history.batches() for t in batch.more.get("time", []) if t is not None]
    if not times or not _DATED < min(times) <= max(times) < _DATED_TO:
        return ""
    ends = (datetime.datetime.fromtimestamp(t, datetime.UTC) for t in (min(times), max(times)))
    first, last = (f"{end.day} {end:%B %Y}" for end in ends)
    return f", {first}" if first == last else f", {first} to {last}"


def _in(text: str, money: str) -> str:
    return f"{text} ({money})" if money else text


_KINDS = {"promote": "good", "try": "open", "keep": "bad"}


def _answer(history: History, found: Evaluation, money: str) -> list[Block]:
    """Answer on the first screen: a sentence per policy, its gain drawn, and a row of numbers."""
    told: list[Block] = [
        Callout(f"{_capital(verdict.told(money))}.", _KINDS.get(verdict.advice, "unknown"))
        for verdict in found.verdicts.values()
    ]
    blocks: list[Block] = [*told, _basis(history, found)]
    drawn = [v for v in found.verdicts.values() if not v.refused and math.isfinite(v.gain.low)]
    if drawn:
        wide, narrow = (
            _gains(drawn, list(found.verdicts), width, money) for width in (560.0, NARROW)
        )
        blocks = [Beside(tuple(blocks), (Drawing(wide, narrow=Drawing(narrow)),))]
    blocks.append(_rows(found, money))
    between = found.differences[len(found.verdicts) :]
    if between:
        blocks += [Heading("Which one?", 2), *_between(between, money)]
    return blocks


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _gains(drawn: Sequence[Verdict], policies: Sequence[str], width: float, money: str) -> Chart:
    ends = [0.0, *(end for one in drawn for end in (one.gain.low, one.gain.high))]
    room = 0.04 * (max(ends) - min(ends))
    per = "per decision " if width > NARROW else ""
    chart = Chart(
        (min(ends) - room, max(ends) + room),
        (-len(drawn) + 0.4, 0.75),
        label="How much more each policy would earn per decision than what was played",
        titles=(_in(f"more {per}than what was played", money), ""),
        width=width,
        height=64.0 + 52.0 * len(drawn),
    )
    chart.rule(0.0)
    for row, one in enumerate(drawn):
        style, gain = policies.index(one.policy), one.gain
        chart.span(-row, gain.low, gain.high, style)
        if not math.isnan(gain.value):
            chart.dot(gain.value, -row, style, 5.0)
        chart.label_at(gain.low, -row + 0.3, one.policy, style)
    return chart


def _percent(share: float) -> str:
    return f"{100.0 * share:.4g} %"


def _rows(found: Evaluation, money: str) -> Grid:
    rows = []
    for one in found:
        if one.policy == LOGGED:
            span = f"{number(one.low, 4)} to {number(one.high, 4)}"
            rows.append((LOGGED, "", number(one.value, 4), span, "", f"{one.effective:,.0f}", ""))
    for name, verdict in found.verdicts.items():
        known, gain = not math.isnan(verdict.low), verdict.gain
        span = f"{number(verdict.low, 4)} to {number(verdict.high, 4)}" if known else "–"
        more = f"{number(gain.low, 4, sign=True)} to {number(gain.high, 4, sign=True)}"
        how = f"{verdict.estimator}, {verdict.method}" if verdict.method else verdict.estimator
        if verdict.refused:
            more, how = "–", "refused"
        advice = f"try on {_percent(verdict.share)}" if verdict.advice == "try" else verdict.advice
        effective = number(verdict.effective, 0)
        rows.append((name, advice, number(verdict.value, 4), span, more, effective, how))
    levels = [f"{_percent(verdict.confidence)} " for verdict in found.verdicts.values()]
    interval = f"{levels[0] if levels else ''}interval"
    header = (
        *("", "advice", _in("earns per decision", money), interval),
        *("more than what was played", "effective decisions", "by"),
    )
    return Grid(header, tuple(rows), prose=(0, 6), stacked=True)


def _between(differences: Sequence[Difference], money: str) -> list[Block]:
    rows = []
    for one in differences:
        span = "not known"
        if math.isfinite(one.low):
            span = f"{number(one.low, 4, sign=True)} to {number(one.high, 4, sign=True)}"
        value = number(one.value, 4, sign=True)
        rows.append((f"{one.policy} against {one.other}", value, span, one.method))
    text = (
        "The policies compared decision by decision, which tells more than two intervals that "
        "overlap."
    )
    header = ("", _in("more per decision", money), "interval", "method")
    return [Prose(text), Grid(header, tuple(rows), prose=(0, 3), stacked=True)]


def _basis(history: History, found: Evaluation) -> Prose:
    text = (
        "None of these policies was run: the numbers are estimates of what each would have earned "
        "on the decisions of the log. Where the log cannot support an estimate, there is none."
    )
    if found.missing:
        text += f" {found.missing:,} more decisions have no outcome."
    log = check_batches(history)
    if log.prices:
        text += f" Values are net of what attempts cost: {log.prices}."
    return Prose(text)


def _details(
    policies: Policies,
    history: History,
    estimates: Evaluation,
    extra_cost: float | None,
    workers: Jobs,
    judged: Callable[..., list[insights.WhatIf]],
    money: str,
) -> list[Block]:
    model, changes = fit(history), _changes(history, extra_cost)
    every = max(1, math.ceil(len(history) / SOME))
    found = gather_all(policies, history, model, changes, workers=workers, every=every)
    supported = [e.policy for e in estimates if e.estimator == "doubly robust" and not e.refused]
    return [
        Heading("What if", 2),
        *_what_if(list(found), judged(found, changes), every, money),
        Heading("Length", 2),
        _lengths({name: one[UNCHANGED] for name, one in found.items()}, history),
        Heading("Learning curve", 2),
        *_learning(policies, history, model, supported, money),
        Heading("Success by position", 2),
        *_positions(history, money),
        Heading("Calibration of the model", 2),
        *_calibration(model),
    ]


def _estimates(estimates: Evaluation, money: str) -> list[Block]:
    rows = []
    for e in estimates:
        span = "" if math.isnan(e.low) else f"{number(e.low, 4)} to {number(e.high, 4)}"
        remark = f"refused: {e.refused}" if e.refused else "; ".join(e.notes)
        if not math.isnan(e.exact):
            remark = f"exact in {_percent(round(e.exact, 2))} of the decisions; {remark}"
        effective = number(e.effective, 0)
        value = number(e.value, 4)
        rows.append((e.policy, e.estimator, value, span, effective, e.method, remark))
    levels = [f"{_percent(e.confidence)} " for e in estimates if not math.isnan(e.confidence)]
    interval = f"{levels[0] if levels else ''}interval"
    header = (
        "policy",
        "estimator",
        _in("value", money),
        interval,
        "effective",
        "method",
        "remarks",
    )
    text = "The verdicts above come from the one that the design of this log supports best."
    folded = f"{len(rows)} estimates"
    return [Prose(text), Grid(header, tuple(rows), folded=folded, prose=(0, 1, 5, 6))]


def _learning(
    policies: Policies,
    history: History,
    model: OutcomeModel,
    supported: Sequence[str],
    money: str,
) -> list[Block]:
    whole, history = len(history), history.part(0, SOME)
    curves = {
        name: insights.learning_curve(policy, history, model, supported=name in supported)
        for name, policy in policies.items()
    }
    shown = {name if name in supported else f"{name} (model)": curves[name] for name in curves}
    wide = _curves(shown, money, right=min(20.0 + LETTER * max(map(len, shown)), 300.0))
    step = 15.0 * (wide.y[1] - wide.y[0]) / wide.height  # labels do not overlap
    at = math.inf
    ends = [(curve[-1][1], style, name) for style, (name, curve) in enumerate(shown.items())]
    for value, style, name in sorted(ends, reverse=True):
        at = min(value, at - step)
        wide.label_at(wide.x[1], at, name, style)
    narrow = Drawing(_curves(shown, money, width=NARROW), tuple(shown))
    first = f"the first {len(history):,} decisions of " if len(history) < whole else ""
    text = (
        f"Each policy learns from {first}the log one by one, and is evaluated before each: the "
        "mean so far, with two standard errors."
    )
    return [Prose(text), Drawing(wide, narrow=narrow)]


def _curves(
    curves: Mapping[str, insights.Curve], money: str, width: float = 640.0, right: float = 14.0
) -> Chart:
    points = [point for curve in curves.values() for point in curve]
    chart = Chart(
        (0.0, float(max(t for t, _, _ in points))),
        (
            min(value - 2.0 * error for _, value, error in points),
            max(value + 2.0 * error for _, value, error in points),
        ),
        label="The mean value so far of each policy while it learns from the log",
        titles=("decisions", _in("mean value so far", money)),
        width=width,
        right=right,
    )
    for style, curve in enumerate(curves.values()):
        band = [(float(t), value - 2.0 * error, value + 2.0 * error) for t, value, error in curve]
        chart.band(band, style)
        chart.line([(float(t), value) for t, value, _ in curve], style)
    return chart


def _positions(history: History, money: str) -> list[Block]:
    found = insights.by_position(history)
    wide, narrow = (_bars(found.rates, width) for width in (640.0, NARROW))
    drawing = Drawing(wide, narrow=Drawing(narrow))
    columns = zip(found.tried, found.succeeded, found.rates, strict=True)
    rows: tuple[tuple[str, ...], ...] = tuple(
        (str(i), str(tried), str(succeeded), number(float(rate), 3))
        for i, (tried, succeeded, rate) in enumerate(columns, 1)
    )
    header = ("position", "tried", "succeeded", "rate")
    if not found.spent.any():
        return [drawing, Grid(header, rows)]
    costs = (number(float(cost), 4) for cost in found.costs)
    rows = tuple((*row, cost) for row, cost in zip(rows, costs, strict=True))
    spent, wins = float(found.spent.sum()), int(found.succeeded.sum())
    unit = f" {money}" if money else ""
    text = f"The log spent {number(spent / len(history), 4)}{unit} per decision"
    text += f" and {number(spent / wins, 4)}{unit} per success." if wins else "."
    return [Prose(text), drawing, Grid((*header, _in("mean cost", money)), rows)]


def _bars(rates: NDArray[np.float64], width: float) -> Chart:
    highest = float(np.nanmax(rates, initial=0.0)) or 1.0
    every = math.ceil(len(rates) / (width / 24.0))  # numbers do not overlap
    chart = Chart(
        (-0.5, len(rates) - 0.5),
        (0.0, min(1.05 * highest, 1.0)),
        label="The success rate of attempts, by position",
        titles=("position", "success rate"),
        x_names=["" if i % every else str(i + 1) for i in range(len(rates))],
        width=width,
        height=220.0,
    )
    for i, rate in enumerate(rates):
        if not math.isnan(rate):
            chart.bar(float(i), 0.6, float(rate))
    return chart


def _lengths(found: Mapping[str, Evidence], history: History) -> Grid:
    counted = {LOGGED: insights.lengths(history)}
    counted |= {name: insights.lengths(one) for name, one in found.items()}
    longest = max(map(len, counted.values()))
    rows = []
    for name, counts in counted.items():
        shares = np.append(counts, np.zeros(longest - len(counts))) / counts.sum()
        mean = float(shares @ np.arange(longest))
        rows.append((name, f"{mean:.2f}", *(_percent(round(share, 2)) for share in shares)))
    return Grid(("policy", "mean length", *map(str, range(longest))), tuple(rows), prose=(0,))


def _calibration(model: OutcomeModel) -> list[Block]:
    bins = calibration(model.predictions)
    if not bins:
        return [Prose("Nothing was tried, so there is nothing to compare.")]
    top = min(1.05 * max(max(predicted, true) for predicted, true, _ in bins), 1.0)
    chart = Chart(
        (0.0, top),
        (0.0, top),
        label="Predicted against observed success, by deciles of the attempts",
        titles=("predicted", "observed"),
        width=NARROW,
        height=300.0,
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
    policies: Sequence[str], found: Sequence[insights.WhatIf], every: int, money: str
) -> list[Block]:
    rows: list[tuple[Field | str, ...]] = []
    for one in found:
        cells: list[Field | str] = []
        for name in policies:
            verdict = one.verdicts[name]
            if verdict.refused:
                cells.append(Field("–", "not supported by the log"))
                continue
            span = f"{number(verdict.low, 3)} to {number(verdict.high, 3)}"
            cells.append(Field(number(verdict.value, 3), span))
        rows.append((one.change, *cells))
    levels = {verdict.confidence for one in found for verdict in one.verdicts.values()}
    level = "".join(f"{_percent(one)} " for one in levels)
    text = (
        "Each policy decides again under the change, and the log is asked again whether it "
        f"supports that: {_in('value', money)} and {level}interval. What a larger budget than the "
        "log's would bring cannot be seen in it."
    )
    if every > 1:
        text += f" This long log is asked about one decision in {every}, spread evenly."
    return [Prose(text), Grid(("change", *policies), tuple(rows), prose=(0,))]
