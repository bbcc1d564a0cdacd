"""The report of an evaluation: one HTML page without outside references, the answer first."""

import datetime
import math
import os
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import longrank
from longrank.document.blocks import Beside, Block, Callout, Drawing, Grid, Heading, Prose, to_html
from longrank.document.charts import NARROW, Chart
from longrank.document.numbers import counted, fitted, number, span
from longrank.jobs import Jobs
from longrank.logs.evaluation.comparison import evaluate
from longrank.logs.evaluation.details import Details, Policies, in_currency, lengths, percent
from longrank.logs.evaluation.estimators import Estimate
from longrank.logs.evaluation.evidence import check_batches
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.sample import treatment
from longrank.logs.evaluation.verdict import LOGGED, Difference, Evaluation, Verdict
from longrank.logs.history import History

_DATED, _DATED_TO = 1e8, 1e11  # seconds since 1970 that are dates, rather than any other numbers


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
        "What if every attempt cost this much more?"; by default as much as an attempt of the log
        cost on average, or if they cost nothing, a twentieth of what a success is worth.
    currency
        What amounts are in, such as EUR; by default the context field ``currency`` of the log, if
        it is the same in all decisions.
    interval, missing, jobs, backend, address
        As for :func:`longrank.logs.evaluate`; if ``estimates`` are given, as they were made.
    """
    history = History.of(source).keep()
    evaluation = estimates
    if not isinstance(evaluation, Evaluation):
        how: dict[str, Any] = {"interval": interval, "missing": missing}
        how |= {"jobs": jobs, "backend": backend, "address": address}
        evaluation = evaluate(history, policies, **how)
    money = currency or currency_of(history)
    title = "What would these policies have earned?"
    blocks: list[Block] = [
        Heading(title, 1),
        Prose(f"{history.name}: {counted(len(history), 'decision')}{_period(history)}"),
        *_answer(history, evaluation, money),
    ]
    level = max((verdict.confidence for verdict in evaluation.verdicts.values()), default=0.95)
    settings = IntervalSettings(level, interval)
    if not all(each.refused for each in evaluation):
        details = Details(policies, history, evaluation, money, settings, treatment(missing))
        blocks += details.sections(extra_cost, Jobs(jobs, backend, address))
    today = datetime.datetime.now(datetime.UTC).date()
    made = f"Made on {_day(today)} by longrank {longrank.__version__}."
    blocks += [*_every_estimate(policies, evaluation, money), Prose(made)]
    out = Path(path)
    out.write_text(to_html(blocks, f"{title} {history.name}"), "utf-8")
    return out


def currency_of(history: History) -> str:
    """Return the currency that all decisions of a log have in their context; empty if none."""
    currencies = set()
    for batch in history.batches():
        contexts = batch.more.get("context", [None])
        currencies |= {str((context or {}).get("currency") or "") for context in contexts}
        if len(currencies) > 1 or "" in currencies:
            return ""
    return currencies.pop() if currencies else ""


def _period(history: History) -> str:
    """Return from when to when a log goes, if its times are dates."""
    times = [t for batch in history.batches() for t in batch.more.get("time", []) if t is not None]
    if not times or not _DATED < min(times) <= max(times) < _DATED_TO:
        return ""
    ends = (datetime.datetime.fromtimestamp(t, datetime.UTC) for t in (min(times), max(times)))
    first, last = map(_day, ends)
    return f", {first}" if first == last else f", {first} to {last}"


def _day(date: datetime.date) -> str:
    return f"{date.day} {date:%B %Y}"


def _answer(history: History, evaluation: Evaluation, money: str) -> list[Block]:
    """Answer on the first screen: a sentence per policy, its gain drawn, and a row of numbers."""
    verdicts = evaluation.verdicts
    blocks: list[Block] = [
        *(Callout(_headline(v, money), _WORDINGS[v.advice].kind) for v in verdicts.values()),
        _basis(history, evaluation),
    ]
    drawn = [v for v in verdicts.values() if not v.refused and math.isfinite(v.gain.low)]
    if drawn:
        wide, narrow = (_gains(drawn, list(verdicts), width, money) for width in (560.0, NARROW))
        blocks = [Beside(tuple(blocks), (Drawing(wide, narrow=Drawing(narrow)),))]
    blocks.append(_rows(evaluation, money))
    between = evaluation.differences[len(verdicts) :]
    if between:
        blocks += [Heading("Which one?", 2), *_between(between, money)]
    return blocks


class _Wording(NamedTuple):
    """How a piece of advice is shown: the kind of callout, its first sentence, a table's cell."""

    kind: str
    lead: str
    cell: str


_WORDINGS = {
    "promote": _Wording("good", "Safe to switch to {policy}.", "switch to it"),
    "try": _Wording(
        "open",
        "{policy} looks better, but the log does not prove it: try it on {share} of the traffic.",
        "try it on {share}",
    ),
    "keep": _Wording("bad", "Keep what is played rather than {policy}.", "keep"),
    "not enough data": _Wording(
        "unknown", "Not enough data to switch to {policy}.", "not enough data"
    ),
}


def _headline(verdict: Verdict, money: str) -> str:
    """Return what to do, and why."""
    if verdict.refused:
        return f"{_capital(verdict.finding(money))}."
    lead = _WORDINGS[verdict.advice].lead
    lead = lead.format(policy=f"`{verdict.policy}`", share=percent(verdict.share))
    return f"{lead} {_capital(verdict.finding(money, name='it'))}."


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _gains(drawn: Sequence[Verdict], policies: Sequence[str], width: float, money: str) -> Chart:
    ends = [0.0, *(end for each in drawn for end in (each.gain.low, each.gain.high))]
    room = 0.04 * (max(ends) - min(ends))
    per = "per decision " if width > NARROW else ""
    chart = Chart(
        (min(ends) - room, max(ends) + room),
        (-len(drawn) + 0.4, 0.75),
        label="How much more each policy would earn per decision than what was played",
        titles=(in_currency(f"more {per}than what was played", money), ""),
        width=width,
        height=64.0 + 52.0 * len(drawn),
    )
    chart.rule(0.0)
    for row, each in enumerate(drawn):
        style, gain = policies.index(each.policy), each.gain
        chart.span(-row, gain.low, gain.high, style)
        if not math.isnan(gain.value):
            chart.dot(gain.value, -row, style, 5.0)
        chart.label_at(gain.low, -row + 0.3, each.policy, style)
    return chart


def _rows(evaluation: Evaluation, money: str) -> Grid:
    """Return the numbers: those of one column with as many decimals as the surest deserves."""
    logged = [each for each in evaluation if each.policy == LOGGED]
    widths = [each.high - each.low for each in logged]
    widths += [verdict.high - verdict.low for verdict in evaluation.verdicts.values()]
    widths += [verdict.gain.high - verdict.gain.low for verdict in evaluation.verdicts.values()]
    width = min((each for each in widths if each > 0.0), default=0.0)
    rows = []
    for each in logged:
        values = fitted(each.value, width), span(each.low, each.high, width)
        rows.append((LOGGED, "", *values, "", "", "", f"{each.effective:,.0f}"))
    for name, verdict in evaluation.verdicts.items():
        values = fitted(verdict.value, width), span(verdict.low, verdict.high, width)
        effective = number(verdict.effective, 0)
        rows.append((name, _advice(verdict), *values, *_gain(verdict, width), effective))
    levels = [f"{percent(verdict.confidence)} " for verdict in evaluation.verdicts.values()]
    rounds = max((verdict.rounds for verdict in evaluation.verdicts.values()), default=0)
    header = (
        *("", "advice", in_currency("earns per decision", money)),
        f"{levels[0] if levels else ''}interval",
        *("more than what was played", "best estimate"),
        *(in_currency(f"in all {counted(rounds, 'decision')}", money), "effective decisions"),
    )
    return Grid(header, tuple(rows), prose=(0,), stacked=True)


def _gain(verdict: Verdict, width: float) -> tuple[str, str, str]:
    """Return how much more a policy earns: the interval, the best estimate, and that in all."""
    gain, rounds = verdict.gain, verdict.rounds
    if verdict.refused or math.isnan(gain.low):
        return "–", "–", "–"
    best, total = (fitted(n * gain.value, n * width, sign=True) for n in (1, rounds))
    total += f" ({span(rounds * gain.low, rounds * gain.high, rounds * width, sign=True)})"
    if not math.isnan(verdict.uplift + gain.value):
        best += f" ({number(100.0 * verdict.uplift, 0, sign=True)} %)"
    return span(gain.low, gain.high, width, sign=True), best, total


def _advice(verdict: Verdict) -> str:
    if verdict.refused:
        return "the log cannot tell"
    return _WORDINGS[verdict.advice].cell.format(share=percent(verdict.share))


def _between(differences: Sequence[Difference], money: str) -> list[Block]:
    width = min((each.high - each.low for each in differences if each.high > each.low), default=0.0)
    rows = []
    for each in differences:
        sure = "not known"
        if math.isfinite(each.low):
            better = each.policy if each.low > 0.0 else each.other
            sure = better if each.low * each.high > 0.0 else "may be noise"
        values = fitted(each.value, width, sign=True), span(each.low, each.high, width, sign=True)
        rows.append((f"{each.policy} against {each.other}", *values, sure))
    text = _best_of(differences)
    methods = {each.method for each in differences}
    if "normal" in methods:
        text += " They are compared decision by decision."
    if "betting" in methods:
        text += " With few effective decisions, a difference follows from the intervals of both."
    header = ("", in_currency("more per decision", money), "interval", "better")
    return [Prose(text), Grid(header, tuple(rows), prose=(0, 3), stacked=True)]


def _best_of(differences: Sequence[Difference]) -> str:
    """Say which policy is better than all others, if the log can tell."""
    known = [each for each in differences if math.isfinite(each.low)]
    names = list(dict.fromkeys(name for each in known for name in (each.policy, each.other)))
    beaten = {(each.policy, each.other) for each in known if each.low > 0.0}
    beaten |= {(each.other, each.policy) for each in known if each.high < 0.0}
    for name in names:
        if all((name, other) in beaten for other in names if other != name):
            return f"`{name}` would earn more than all others."
    if not names:
        return "The log cannot tell which policy is better."
    return "The log cannot tell which of these policies earns most: differences may be noise."


def _basis(history: History, evaluation: Evaluation) -> Prose:
    text = (
        "None of these policies was run: the numbers estimate, from the decisions of the log, what "
        "each would earn in further decisions like these. Where the log does not support an "
        "estimate, none is given."
    )
    if history.before:
        first = counted(history.before, "decision")
        text += f" The first {first} of the log were used for learning, and are not counted here."
    if evaluation.missing:
        text += f" {evaluation.missing:,} more decisions have no outcome."
    verdicts = evaluation.verdicts.values()
    if any(verdict.refused for verdict in verdicts):
        text += (
            " A log can tell if at least some of its decisions were randomised, and if it has the "
            "probabilities of what it played (propensities)."
        )
    if any(verdict.advice == "try" for verdict in verdicts):
        text += (
            " The share of the traffic to try a policy on is chosen so that, even at the lower end "
            "of its interval, trying it costs at most 1 % of the range of what a decision can earn."
        )
    if any(not verdict.refused and verdict.estimator != "bounds" for verdict in verdicts):
        text += (
            " They are correct only if the log's propensities are: the probabilities with which it "
            "chose what it played."
        )
    empty = lengths(history)
    if empty[0] > 0.01 * empty.sum():
        share = f"{100.0 * empty[0] / empty.sum():.0f} %"
        text += f" The logging policy made no attempt in {share} of decisions."
    log = check_batches(history)
    if log.prices:
        text += f" Values are net of costs: {log.prices}."
    return Prose(text)


def _every_estimate(policies: Policies, evaluation: Evaluation, money: str) -> list[Block]:
    """List every estimate, and explain the methods."""
    widths = [e.high - e.low for e in evaluation if e.high > e.low]
    width = min(widths, default=0.0)
    rows = []
    for e in evaluation:
        remark = f"refused: {e.refused}" if e.refused else "; ".join(e.notes)
        if not math.isnan(e.exact):
            remark = f"exact in {percent(round(e.exact, 2))} of the decisions; {remark}"
        ends = "" if math.isnan(e.low) else span(e.low, e.high, width)
        value = fitted(e.value, width)
        rows.append((e.policy, e.estimator, value, ends, number(e.effective, 0), e.method, remark))
    levels = [f"{percent(e.confidence)} " for e in evaluation if not math.isnan(e.confidence)]
    header = (
        *("policy", "estimator", in_currency("value", money)),
        f"{levels[0] if levels else ''}interval",
        *("effective decisions", "method", "remarks"),
    )
    return [
        Heading("Every estimator", 2),
        *(Prose(text) for text in _explained(evaluation)),
        *(Prose(f"`{name}` is `{policy!r}`.") for name, policy in policies.items()),
        Grid(header, tuple(rows), folded=f"{len(rows)} estimates", prose=(0, 1, 5, 6)),
    ]


def _explained(evaluation: Evaluation) -> list[str]:
    """Explain the estimators and methods behind the verdicts."""
    verdicts = [verdict for verdict in evaluation.verdicts.values() if not verdict.refused]
    estimators = sorted({verdict.estimator for verdict in verdicts})
    methods = sorted({e.method for e in evaluation if not e.refused})
    file = resources.files(__package__).joinpath("explanations.toml")
    explanations = tomllib.loads(file.read_text("utf-8"))
    texts = [explanations["estimators"].get(name, "") for name in estimators]
    texts += [explanations["methods"].get(name, "") for name in methods]
    return [text for text in (*texts, explanations["effective"] if verdicts else "") if text]
