"""Insights into a log and policies: positions, candidates, lengths, learning, and what if."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from longrank.logs.columns import PAID
from longrank.logs.evaluation.evidence import Evidence, gather
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.judging import Comparable, comparable, differ, judge
from longrank.logs.evaluation.outcome_model import OutcomeModel
from longrank.logs.evaluation.sample import Sample
from longrank.logs.evaluation.target import choose
from longrank.logs.evaluation.verdict import LOGGED, Difference, Verdict
from longrank.logs.history import History
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.schema import identities

Array = NDArray[np.float64]
Curve = list[tuple[int, float, float]]  # decisions so far, mean value, standard error


@dataclass(frozen=True)
class Positions:
    """How often each position was tried, how often it succeeded, and what was spent on it."""

    tried: NDArray[np.int64]
    succeeded: NDArray[np.int64]
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
        lengths, ended = batch.lengths[observed], batch.tried[observed]
        more = max(int(lengths.max(initial=0)) - len(tried), 0)
        tried, succeeded = (
            np.append(each, np.zeros(more, np.int64)) for each in (tried, succeeded)
        )
        spent = np.append(spent, np.zeros(more))
        tried += (ended[:, np.newaxis] > np.arange(len(tried))).sum(axis=0)
        won = ended[batch.succeeded[observed]]
        succeeded += np.bincount(won - 1, minlength=len(tried))
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

    ``first`` counts by who plays, in ``decisions`` of them; ``tried`` and ``succeeded`` count the
    attempts of the log, which ``spent`` so much; empty if they cost nothing.
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


def lengths(source: Evidence | History) -> NDArray[np.int64]:
    """Count the sequences of length 0, 1, ... in a log, or of what a policy would play."""
    if isinstance(source, Evidence):
        return np.bincount(source.lengths[source.observed])
    counts = np.zeros(1, np.int64)
    for batch in source.batches():
        own = np.bincount(batch.lengths[batch.observed], minlength=len(counts))
        own[: len(counts)] += counts
        counts = own
    return counts


def learning_curve(
    policy: Policy, history: History, model: OutcomeModel, points: int = 60
) -> Curve:
    """Return the mean value up to decision t of a policy that learns from the log as it goes.

    It is evaluated before every decision with what it has learned so far, doubly robust. The
    points are t, the mean and its standard error; they begin after a tenth of the decisions, since
    means of a few jump.
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
    """A change, and what each policy would then earn: by the model, and the verdict on it.

    ``differences`` are those from the first of the changes.
    """

    change: str
    modelled: dict[str, float]
    verdicts: dict[str, Verdict]
    differences: dict[str, Difference]


def judge_changes(
    evidence: Mapping[str, Mapping[str, Evidence]],
    changes: Iterable[str],
    settings: IntervalSettings | None = None,
    missing: str = "refuse",
) -> list[WhatIf]:
    """Judge the evidence about policies under other payoffs or smaller budgets.

    Each decided again under the change; whether the log supports that is judged for each.
    """
    settings = settings or IntervalSettings()
    first: dict[str, Comparable] = {}
    judged = []
    for change in changes:
        samples = {n: Sample(each[change], settings, missing) for n, each in evidence.items()}
        verdicts = {name: judge(sample, name) for name, sample in samples.items()}
        sides = {name: comparable(samples[name], verdicts[name]) for name in samples}
        first = first or sides
        judged.append(
            WhatIf(
                change,
                {name: float(each.evidence.modelled.mean()) for name, each in samples.items()},
                verdicts,
                {name: differ(side, first[name], settings) for name, side in sides.items()},
            )
        )
    return judged


def raise_costs(cost: float) -> Callable[[Payoffs], Payoffs]:
    """Return a change of payoffs that makes every attempt more expensive by ``cost``."""

    def change(payoffs: Payoffs) -> Payoffs:
        tries = np.arange(payoffs.budget + 1)
        rewards, losses = payoffs.rewards - cost * tries[1:], payoffs.losses - cost * tries
        if payoffs.success_values is None:
            return Payoffs(np.maximum(rewards, 0.0), losses, patience=payoffs.patience)
        short = max(0.0, -float(rewards[-1:].sum()))  # what successes then earn less, all of them
        changed = Payoffs(np.maximum(rewards + short, 0.0), losses, patience=payoffs.patience)
        return changed.priced(payoffs.costs, payoffs.success_values - short)

    return change
