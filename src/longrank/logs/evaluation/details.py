"""The details of a report: the log's statistics, what-if analyses, and learning curves."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from longrank.arrays import Array, Indices
from longrank.document.blocks import Block, Drawing, Field, Grid, Heading, Prose
from longrank.document.charts import LETTER, NARROW, Chart
from longrank.document.numbers import fitted, number, span
from longrank.jobs import Jobs
from longrank.logs.batch import grown
from longrank.logs.columns import PAID
from longrank.logs.evaluation.evidence import Evidence, gather, gather_all
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.judging import Comparable, comparable, differ, judge
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.sample import Sample
from longrank.logs.evaluation.target import choose
from longrank.logs.evaluation.verdict import LOGGED, PLAYED, Difference, Evaluation, Verdict
from longrank.logs.history import Change, History
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.schema import identities

Curve = list[tuple[int, float, float]]  # decisions so far, mean value, standard error
Policies = Mapping[str, Policy]
UNCHANGED = "unchanged"
MAX_ASKED = 3_000  # decisions that suffice for what-if analyses and learning curves
MAX_NAMED = 12  # candidates that are shown by name


def in_currency(text: str, money: str) -> str:
    """Return a title with the currency, if there is one."""
    return f"{text} ({money})" if money else text


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100.0 * share:.4g} %"


@dataclass(frozen=True)
class Positions:
    """Attempts, successes and total costs by position."""

    tried: Indices
    succeeded: Indices
    spent: Array

    @property
    def rates(self) -> Array:
        """The success rate at each position; NaN where nothing was tried."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.succeeded / self.tried)

    @property
    def costs(self) -> Array:
        """What an attempt at each position cost on average; NaN where nothing was tried."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.spent / self.tried)


def by_position(history: History) -> Positions:
    """Count successes and costs by position in a log."""
    tried, succeeded, spent = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    for batch in history.batches():
        observed = batch.observed
        attempts, width = batch.tried[observed], int(batch.lengths[observed].max(initial=0))
        tried, succeeded, spent = (grown(each, width) for each in (tried, succeeded, spent))
        tried += (attempts[:, np.newaxis] > np.arange(len(tried))).sum(axis=0)
        wins = attempts[batch.succeeded[observed]] - 1
        succeeded += np.bincount(wins, minlength=len(tried))
        if PAID not in batch.lists and not any(each.has_prices for each in batch.payoffs):
            continue
        for decision in batch:
            if decision.outcome is not None and decision.payoffs is not None:
                count = decision.outcome.tried
                spent[:count] += decision.paid(decision.payoffs)[:count]
    return Positions(tried, succeeded, spent)


@dataclass(frozen=True)
class Candidates:
    """Which candidates are tried first, by the log and by policies, and how attempts ended.

    ``first`` counts by player (the log or a policy), in ``decisions`` decisions; ``tried`` and
    ``succeeded`` count the attempts of the log; ``spent`` is their total cost, empty if attempts
    cost nothing.
    """

    decisions: int
    first: dict[str, Counter[str]]
    tried: Counter[str]
    succeeded: Counter[str]
    spent: dict[str, float]


def by_candidate(
    policies: Mapping[str, Policy], history: History, every: int = 1
) -> Candidates | None:
    """Count by candidate, in each n-th decision; None if the candidates of a log have no names."""
    decisions = [
        decision
        for decision in islice(history.decisions(), 0, None, every)
        if decision.candidates is not None and decision.payoffs is not None
    ]
    if not decisions:
        return None
    first = {LOGGED: Counter[str](), **{name: Counter[str]() for name in policies}}
    tried, succeeded, spent = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for decision in decisions:
        assert decision.candidates is not None
        assert decision.payoffs is not None
        names = list(map(str, identities(decision.candidates, decision.order.tolist())))
        first[LOGGED].update(names[:1])
        tried.update(names[: decision.ended.tried])
        if decision.ended.succeeded:
            succeeded[names[decision.ended.tried - 1]] += 1
        for name, cost in zip(
            names[: decision.ended.tried], decision.paid(decision.payoffs), strict=False
        ):
            spent[name] += float(cost)
    for name, policy in policies.items():
        target = choose(policy, decisions, 1, range(0, every * len(decisions), every))
        for i in np.flatnonzero(target.lengths[:, 0] > 0):
            leading = int(target.sequences[i, 0, 0])
            first[name].update(map(str, identities(decisions[i].candidates or [], [leading])))
    costs = dict(spent) if any(spent.values()) else {}
    return Candidates(len(decisions), first, tried, succeeded, costs)


def lengths(history: History) -> Indices:
    """Count the sequences of length 0, 1, ... in a log."""
    observed = [batch.lengths[batch.observed] for batch in history.batches()]
    return np.bincount(np.concatenate([np.zeros(0, np.int64), *observed]), minlength=1)


def learning_curve(
    policy: Policy, history: History, model: OutcomeModel, points: int = 60
) -> Curve:
    """Return the mean value up to decision t of a policy that learns from the log as it goes.

    It is evaluated before every decision with what it has learned so far, doubly robust. The points
    are t, the mean and its standard error, from a tenth of the decisions on: earlier means are
    noise.
    """
    ended = gather(policy, history, model, learn=True).ended()
    return _means_so_far(Sample(ended, IntervalSettings(), gone=0).terms, points)


def logged_curve(history: History, points: int = 60) -> Curve:
    """Return the mean of what was played up to decision t, in the same way."""
    known = (decision.reward for decision in history.decisions() if decision.payoffs is not None)
    return _means_so_far(np.fromiter(known, np.float64), points)


def _means_so_far(terms: Array, points: int) -> Curve:
    times = np.arange(1, len(terms) + 1)
    scale = float(np.abs(terms).max(initial=0.0)) or 1.0  # squares do not overflow
    means = np.cumsum(terms / scale) / times
    squares = np.maximum(np.cumsum((terms / scale) ** 2) / times - means**2, 0.0)
    means, errors = scale * means, scale * np.sqrt(squares / times)
    where = np.unique(np.linspace(max(len(means) // 10, 1), len(means), points).astype(int))
    return [(int(t), float(means[t - 1]), float(errors[t - 1])) for t in where]


@dataclass(frozen=True)
class WhatIf:
    """A change, the verdict on each policy under it, and the difference from the first change."""

    change: str
    verdicts: dict[str, Verdict]
    differences: dict[str, Difference]


def judge_changes(
    evidence: Mapping[str, Mapping[str, Evidence]],
    changes: Iterable[str],
    settings: IntervalSettings | None = None,
    missing: str = "refuse",
) -> list[WhatIf]:
    """Judge the evidence about policies under other payoffs or smaller budgets.

    Each policy decides again under the change, and the support of the log is judged again.
    """
    settings = settings or IntervalSettings()
    unchanged: dict[str, Comparable] = {}
    judged = []
    for change in changes:
        samples = {n: Sample(each[change], settings, missing) for n, each in evidence.items()}
        verdicts = {name: judge(sample, name) for name, sample in samples.items()}
        sides = {name: comparable(samples[name], verdicts[name]) for name in samples}
        unchanged = unchanged or sides
        gains = {name: differ(side, unchanged[name], settings) for name, side in sides.items()}
        judged.append(WhatIf(change, verdicts, gains))
    return judged


def raise_costs(cost: float) -> Callable[[Payoffs], Payoffs]:
    """Return a change of payoffs that makes every attempt more expensive by ``cost``."""

    def change(payoffs: Payoffs) -> Payoffs:
        tries = np.arange(payoffs.budget + 1)
        rewards, losses = payoffs.rewards - cost * tries[1:], payoffs.losses - cost * tries
        if payoffs.success_values is None:
            return Payoffs(np.maximum(rewards, 0.0), losses, patience=payoffs.patience)
        short = max(0.0, -float(rewards[-1:].sum()))  # by which every success is then reduced
        changed = Payoffs(np.maximum(rewards + short, 0.0), losses, patience=payoffs.patience)
        return changed.priced(payoffs.costs, payoffs.success_values - short)

    return change


@dataclass(frozen=True)
class Details:
    """The sections of a report that follow its answer."""

    policies: Policies
    history: History
    evaluation: Evaluation
    money: str
    settings: IntervalSettings
    missing: str

    @cached_property
    def model(self) -> OutcomeModel:
        """The outcome model of the log."""
        return fit(self.history)

    @property
    def unit(self) -> str:
        """The currency after a number, if there is one."""
        return f" {self.money}" if self.money else ""

    def sections(self, extra_cost: float | None, workers: Jobs) -> list[Block]:
        """Return all sections that require asking the policies again."""
        positions = by_position(self.history)
        cost, why = self._extra(extra_cost, positions)
        changes = self._changes(cost)
        every = max(1, math.ceil(len(self.history) / MAX_ASKED))
        asked = (self.policies, self.history, self.model, changes)
        evidence = gather_all(*asked, workers=workers, every=every)
        blocks = self._candidates(every)
        parts = {
            "What if": self._what_if(evidence, changes, why, every),
            "Length": self._lengths({name: each[UNCHANGED] for name, each in evidence.items()}),
            "Learning curve": self._learning(),
            "Success by position": self._positions(positions),
            "Calibration of the model": _calibration(self.model),
        }
        for title, part in parts.items():
            blocks += [Heading(title, 2), *part] if part else []
        return blocks

    def _candidates(self, every: int) -> list[Block]:
        """Show which candidates are tried first, if they have names."""
        counted = by_candidate(self.policies, self.history, every)
        if counted is None:
            return []
        named = set(counted.tried).union(*counted.first.values())
        highest = {name: max(counts[name] for counts in counted.first.values()) for name in named}
        names = sorted(named, key=lambda name: (-highest[name], name))
        rows = []
        for name in names[:MAX_NAMED]:
            tried = counted.tried[name]
            shares = (counts[name] / counted.decisions for counts in counted.first.values())
            rate = _share(counted.succeeded[name] / tried) if tried else "–"
            rows.append((name, *map(_share, shares), f"{tried:,}", rate))
        if counted.spent:
            costs = _costs(
                counted.spent.get(name, 0.0) / max(counted.tried[name], 1) for name in names
            )
            rows = [(*row, cost) for row, cost in zip(rows, costs, strict=False)]
        nothing = [1.0 - counts.total() / counted.decisions for counts in counted.first.values()]
        if any(nothing):
            blank = ("",) * (3 if counted.spent else 2)
            rows.append(("nothing is tried", *map(_share, nothing), *blank))
        header = ("candidate", *counted.first, "attempts", "success rate")
        header += (in_currency("mean cost", self.money),) if counted.spent else ()
        text = (
            "The share of decisions in which each candidate is tried first; then all its attempts "
            "in the log: how many there were, how many succeeded, and what they cost."
        )
        if len(names) > MAX_NAMED:
            text += f" Shown are the {MAX_NAMED} of {len(names)} that are tried first most often."
        if every > 1:
            text += f" Counted in every {every}th decision."
        players = len(counted.first)
        groups = ("", 1), ("tried first by", players), ("in the log", len(header) - 1 - players)
        grid = Grid(header, tuple(rows), groups=groups, prose=(0,), stacked=True)
        return [Heading("Who is tried first", 2), Prose(text), grid]

    def _extra(self, extra_cost: float | None, positions: Positions) -> tuple[float, str]:
        """Return the extra cost of an attempt to analyse, and how it was chosen."""
        if extra_cost is not None:
            return extra_cost, ""
        tried, spent = int(positions.tried.sum()), float(positions.spent.sum())
        if spent > 0.0:
            return _round(spent / tried), "about the mean cost of an attempt in the log"
        return _round(0.05 * self._worth()), "about a twentieth of the most a success is worth"

    def _worth(self) -> float:
        """Return the most that a success at once is worth."""
        most = [0.0]
        for batch in self.history.batches():
            for payoffs in batch.payoffs:
                values = payoffs.success_values
                highest = 0.0 if values is None or not len(values) else float(values.max())
                most.append(float(payoffs.rewards[:1].sum()) + highest)
        return max(most)

    def _changes(self, cost: float) -> dict[str, Change]:
        """Return the what-if changes: smaller budgets, and more expensive attempts."""
        longest = 1
        for batch in self.history.batches():
            known = batch.observed
            most = [each.budget for each in batch.payoffs]
            tries = np.minimum(np.minimum(batch.budget, max(most, default=0)), batch.sizes)
            longest = max(longest, int(tries[known].max(initial=1)))
        budgets = sorted({1, 2, 3, longest // 2, longest} & set(range(1, longest)))
        smaller: dict[str, Change] = {f"budget {budget}": (None, budget) for budget in budgets}
        dearer = f"every attempt costs {cost:g}{self.unit} more"
        return {UNCHANGED: (None, None), **smaller, dearer: (raise_costs(cost), None)}

    def _what_if(
        self,
        evidence: Mapping[str, Mapping[str, Evidence]],
        changes: Mapping[str, Change],
        why: str,
        every: int,
    ) -> list[Block]:
        judged = judge_changes(evidence, changes, self.settings, self.missing)
        verdicts = [verdict for what_if in judged for verdict in what_if.verdicts.values()]
        widths = [verdict.high - verdict.low for verdict in verdicts if not verdict.refused]
        if not widths:
            return []
        width = min(widths)
        rows = []
        for what_if in judged:
            cells: list[Field | str] = [what_if.change]
            for name, verdict in what_if.verdicts.items():
                if verdict.refused:
                    cells.append(Field("–", "not supported by the log"))
                    continue
                value, remark = fitted(verdict.value, width), span(verdict.low, verdict.high, width)
                gain = what_if.differences[name]
                if what_if is not judged[0] and not math.isnan(gain.value):
                    value += f" ({fitted(gain.value, width, sign=True)})"
                    remark += "" if gain.low * gain.high > 0.0 else "; not clear"
                cells.append(Field(value, remark))
            rows.append(tuple(cells))
        level = percent(self.settings.confidence)
        text = (
            "Each policy decides again under the change, and is evaluated again on the log: "
            f"{in_currency('value', self.money)}, the difference from unchanged in brackets, and "
            f"the {level} interval. “Not clear”: the change may matter, but this log is too small "
            "to show it. A budget is the number of attempts allowed; the log cannot show what a "
            "larger one would bring."
        )
        if why:
            text += f" The extra cost of an attempt is {why}."
        if every > 1:
            text += f" Evaluated on every {every}th decision of this long log."
        return [Prose(text), Grid(("change", *evidence), tuple(rows), prose=(0,), stacked=True)]

    def _lengths(self, evidence: Mapping[str, Evidence]) -> list[Block]:
        counted = {LOGGED: lengths(self.history)}
        counted |= {n: np.bincount(e.lengths[e.observed]) for n, e in evidence.items()}
        longest = max(map(len, counted.values()))
        rows = []
        for name, counts in counted.items():
            shares = grown(counts, longest) / counts.sum()
            mean = float(shares @ np.arange(longest))
            rows.append((name, f"{mean:.2f}", *map(_share, shares)))
        text = (
            "How many candidates a sequence names, and the share of decisions with that many. "
            "Attempts end at the first success, so a long sequence means more second chances, not "
            "more attempts; with 0 nothing is tried."
        )
        header = ("policy", "mean length", *(f"length {n}" for n in range(longest)))
        return [Prose(text), Grid(header, tuple(rows), prose=(0,), stacked=True)]

    def _learning(self) -> list[Block]:
        supported = [
            e.policy for e in self.evaluation if e.estimator == "doubly robust" and not e.refused
        ]
        if not supported:
            return []
        whole, history = len(self.history), self.history.part(0, MAX_ASKED)
        curves = {
            name: learning_curve(policy, history, self.model)
            for name, policy in self.policies.items()
            if name in supported
        }
        curves[PLAYED] = logged_curve(history)
        wide = _curves(curves, self.money, right=min(20.0 + LETTER * max(map(len, curves)), 300.0))
        step = 15.0 * (wide.y[1] - wide.y[0]) / wide.height  # labels do not overlap
        at = math.inf
        ends = [(curve[-1][1], style, name) for style, (name, curve) in enumerate(curves.items())]
        for value, style, name in sorted(ends, reverse=True):
            at = min(value, at - step)
            wide.label_at(wide.x[1], at, name, style)
        narrow = Drawing(_curves(curves, self.money, width=NARROW), tuple(curves))
        first = f"the first {len(history):,} of " if len(history) < whole else ""
        text = (
            f"Here each policy keeps learning from {first}these decisions, one after another, and "
            "is evaluated before each: the mean so far, with two standard errors, which are less "
            "reliable than the intervals above."
        )
        left = [name for name in self.policies if name not in supported]
        if left:
            text += f" The log does not support curves of {', '.join(left)}."
        return [Prose(text), Drawing(wide, narrow=narrow)]

    def _positions(self, positions: Positions) -> list[Block]:
        if not positions.tried.any():
            return [Prose("Nothing was tried.")]
        wide, narrow = (_bars(positions.rates, width) for width in (640.0, NARROW))
        drawing = Drawing(wide, narrow=Drawing(narrow))
        columns = zip(positions.tried, positions.succeeded, positions.rates, strict=True)
        rows: tuple[tuple[str, ...], ...] = tuple(
            (str(i), f"{tried:,}", f"{succeeded:,}", _share(float(rate)))
            for i, (tried, succeeded, rate) in enumerate(columns, 1)
        )
        header = ("position", "tried", "succeeded", "success rate")
        if not positions.spent.any():
            return [drawing, Grid(header, rows, stacked=True)]
        costs = _costs(positions.costs)
        rows = tuple((*row, cost) for row, cost in zip(rows, costs, strict=True))
        spent, wins = float(positions.spent.sum()), int(positions.succeeded.sum())
        text = f"The log spent {spent / len(self.history):.3g}{self.unit} per decision"
        text += f" and {spent / wins:.3g}{self.unit} per success." if wins else "."
        titles = (*header, in_currency("mean cost", self.money))
        return [Prose(text), drawing, Grid(titles, rows, stacked=True)]


def _share(share: float) -> str:
    return "–" if math.isnan(share) else f"{100.0 * share:.0f} %"


def _costs(costs: Iterable[float]) -> list[str]:
    """Return costs with as many decimals as the largest needs for three digits."""
    known = list(costs)
    most = max((abs(cost) for cost in known if math.isfinite(cost)), default=0.0)
    return [number(cost, max(2 - math.floor(math.log10(most)), 0) if most else 2) for cost in known]


def _round(cost: float) -> float:
    """Round to two digits."""
    return float(f"{cost:.2g}")


def _curves(
    curves: Mapping[str, Curve], money: str, width: float = 640.0, right: float = 14.0
) -> Chart:
    points = [point for curve in curves.values() for point in curve]
    lowest = min(value - 2.0 * error for _, value, error in points)
    highest = max(value + 2.0 * error for _, value, error in points)
    chart = Chart(
        (0.0, float(max(t for t, _, _ in points))),
        (lowest, highest),
        label="The mean value so far of each policy while it learns, and of what was played",
        titles=("decisions", in_currency("mean value so far", money)),
        width=width,
        right=right,
    )
    for style, curve in enumerate(curves.values()):
        band = [(float(t), value - 2.0 * error, value + 2.0 * error) for t, value, error in curve]
        chart.band(band, style)
        chart.line([(float(t), value) for t, value, _ in curve], style)
    return chart


def _bars(rates: Array, width: float) -> Chart:
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


def _calibration(model: OutcomeModel) -> list[Block]:
    bins = calibration(model.predictions)
    if not bins:
        return [Prose("Nothing was tried, so there is nothing to compare.")]
    errors = [2.0 * math.sqrt(max(true * (1.0 - true), 1e-12) / count) for _, true, count in bins]
    ends = (max(bin[0], bin[1] + error) for bin, error in zip(bins, errors, strict=True))
    highest = min(max(ends), 1.0)
    step = 10.0 ** math.floor(math.log10(highest))
    top = min(step * math.ceil(highest / step), 1.0)  # a round number, so that it has a tick
    chart = Chart(
        (0.0, top),
        (0.0, top),
        label="Predicted against observed success, by deciles of the attempts",
        titles=("predicted", "observed"),
        width=NARROW,
        height=300.0,
    )
    chart.line([(0.0, 0.0), (top, top)], 6)
    for (predicted, true, _), error in zip(bins, errors, strict=True):
        chart.whisker(predicted, max(true - error, 0.0), min(true + error, top))
        chart.dot(predicted, true)
    text = (
        "Each dot is a tenth of the attempts, predicted by a model that has not seen them. Dots on "
        "the line are predicted well. The farther they are from it, the less the row “model” in "
        "the table below can be trusted, and the wider doubly robust intervals are. Of intervals, "
        "only “normal” ones use the model, for the variance of rare events; those by betting, "
        "which the advice to switch requires as well, do not."
    )
    return [Prose(text), Drawing(chart)]
