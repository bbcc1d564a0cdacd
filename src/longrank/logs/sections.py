"""The parts of the report: each a picture, a table, or both, as HTML."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence

import numpy as np

from longrank.logs import insights
from longrank.logs.evaluate import LOGGED
from longrank.logs.history import History
from longrank.logs.model import Model
from longrank.logs.model import calibration as model_calibration
from longrank.logs.page import shown, table
from longrank.logs.svg import Chart, legend
from longrank.logs.value import Estimate
from longrank.policies import Policy


def values(estimates: Sequence[Estimate]) -> str:
    rows = []
    for e in estimates:
        span = "" if e.refused else f"{shown(e.low)} to {shown(e.high)}"
        remark = f"refused: {e.refused}" if e.refused else "; ".join(e.notes)
        if not math.isnan(e.exact):
            remark = f"exact in {e.exact:.0%} of the decisions; {remark}"
        rows.append(
            (e.policy, e.estimator, shown(e.value), span, shown(e.effective, 0), e.method, remark)
        )
    sure = [f"{e.confidence:.0%} " for e in estimates if not math.isnan(e.confidence)]
    span = f"{sure[0] if sure else ''}interval"
    header = ("policy", "estimator", "value", span, "effective", "by", "remarks")
    return table(header, rows, remarks=True)


def intervals(estimates: Sequence[Estimate]) -> str:
    drawn = [e for e in estimates if not e.refused]
    policies = list(dict.fromkeys(e.policy for e in estimates))
    kinds = list(dict.fromkeys(e.estimator for e in drawn))
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
    return chart.render() + legend(kinds)


def learning(
    policies: Mapping[str, Policy], history: History, model: Model, supported: Sequence[str]
) -> str:
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
    how = [f"{name} ({'doubly robust' if name in supported else 'model'})" for name in curves]
    text = "<p>Each policy learns the log decision by decision, and is judged before each one.</p>"
    return text + chart.render() + legend(how)


def positions(history: History) -> str:
    found = insights.by_position(history)
    highest = float(np.nanmax(found.rates, initial=0.0)) or 1.0
    chart = Chart(
        (-0.5, len(found.tried) - 0.5),
        (0.0, highest),
        label="The share of tries that succeeded, by position",
        titles=("position", "success rate"),
        x_names=[str(i + 1) for i in range(len(found.tried))],
        height=220.0,
    )
    for i, rate in enumerate(found.rates):
        if not math.isnan(rate):
            chart.bar(float(i), 0.6, float(rate))
    rows = [
        (str(i + 1), str(tried), str(succeeded), shown(float(rate), 3))
        for i, (tried, succeeded, rate) in enumerate(
            zip(found.tried, found.succeeded, found.rates, strict=True)
        )
    ]
    return chart.render() + table(("position", "tried", "succeeded", "rate"), rows)


def lengths(policies: Mapping[str, Policy], history: History) -> str:
    counted = {LOGGED: insights.lengths(None, history)}
    for name, policy in policies.items():
        counted[name] = insights.lengths(copy.deepcopy(policy), history)
    longest = max(map(len, counted.values()))
    rows = []
    for name, counts in counted.items():
        shares = np.append(counts, np.zeros(longest - len(counts))) / counts.sum()
        mean = float(shares @ np.arange(longest))
        rows.append((name, f"{mean:.2f}", *(f"{share:.0%}" for share in shares)))
    return table(("policy", "mean length", *(str(i) for i in range(longest))), rows)


def calibration(model: Model) -> str:
    bins = model_calibration(model.predictions)
    if not bins:
        return "<p>Nothing was tried, so there is nothing to compare.</p>"
    top = max(max(predicted, true) for predicted, true, _ in bins)
    chart = Chart(
        (0.0, top),
        (0.0, top),
        label="Predicted against observed success, by tenths of the tries",
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
        "<p>Each dot is a tenth of the tries, predicted by a model that has not seen them. On the "
        "line the model is right; the further off, the less the row “model” is worth.</p>"
    )
    return text + chart.render()


def what_if(
    policies: Mapping[str, Policy],
    history: History,
    model: Model,
    supported: Sequence[str],
    extra_cost: float | None,
) -> str:
    most, first = 1, 0.0
    for decision in history.decisions():
        assert decision.payoffs is not None
        most = max(most, decision.tries)
        first = max(first, float(decision.payoffs.rewards[:1].sum()))
    cost = 0.05 * first if extra_cost is None else extra_cost
    budgets = sorted({1, 2, 3, most // 2, most} & set(range(1, most + 1)))
    changes = {f"budget {b}": (None, b) for b in budgets if b < most}
    found = insights.what_if(
        policies,
        history,
        model,
        {
            "as it is": (None, None),
            **changes,
            f"every try costs {cost:g} more": (insights.dearer(cost), None),
        },
        supported,
    )
    rows = [
        (
            one.change,
            *(f"{shown(one.modelled[n])} / {shown(one.robust.get(n, math.nan))}" for n in policies),
        )
        for one in found
    ]
    text = (
        "<p>Each policy decides anew under the change: by the model / doubly robust. What more "
        "budget than the log's would bring cannot be seen in it.</p>"
    )
    return text + table(("change", *policies), rows)
