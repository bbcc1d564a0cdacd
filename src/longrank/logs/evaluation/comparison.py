"""Comparing policies on a log: by every estimator that it supports, and by the gate."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from longrank import checks
from longrank.errors import InvalidInput
from longrank.jobs import Jobs
from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.estimators import ESTIMATORS, Estimate, cost_notes
from longrank.logs.evaluation.evidence import Evidence, check_batches, gather_all
from longrank.logs.evaluation.intervals import IntervalSettings, cautions, mean_interval
from longrank.logs.evaluation.judging import GateDecision, check_gate, comparable, differ, judge
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.sample import Sample, range_of, too_many, treatment, widen
from longrank.logs.evaluation.verdict import LOGGED, PLAYED, Evaluation, Verdict
from longrank.logs.history import History, Progress
from longrank.policies import Policy, Random

_ROOM = 2**27  # bytes of evidence held in memory at once, unless one policy needs more
_COLUMNS, _WIDE = 14, 3  # numbers of evidence per decision, and per action


def evaluate(
    source: Any,
    policies: Mapping[str, Policy],
    *,
    confidence: float = 0.95,
    interval: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
    model: OutcomeModel | None = None,
    missing: str = "refuse",
    jobs: int = 1,
    backend: str = "processes",
    address: str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Estimate what policies would earn on a log: a verdict on each, and every estimate.

    The log is read and validated once. The policies do not change: they neither learn nor draw.
    Evaluate them on decisions that they have not learned from (:meth:`History.part`).

    Parameters
    ----------
    source
        A :class:`~longrank.logs.History` or anything it accepts: a file, a frame, a list of
        dictionaries.
    policies
        The policies by name.
    confidence
        The confidence level of the intervals.
    interval
        ``"betting"`` for intervals that are valid for any number of decisions, assuming only that
        propensities are correct and rewards are what the payoffs say. By default these are used
        if there are fewer than 100 effective decisions or the weights are doubtful; otherwise the
        intervals are narrower: normal, or by the bootstrap.
    resamples, seed
        The number of bootstrap resamples, and their seed.
    model
        From :func:`longrank.logs.fit`; by default fitted to this log.
    missing
        How to treat decisions without an outcome: ``"refuse"`` an estimate if they exceed 1 %;
        reweight the others, if outcomes are missing ``"at random"`` given what was played; or
        give ``"bounds"``, which are valid whatever the reason.
    jobs, backend, address
        How many processes evaluate batches of the log, with the same results: of this machine
        (``"processes"``), or of a ``"dask"`` or ``"ray"`` cluster at this address.
    progress
        Called with the number of decisions done and their total, after each batch.

    Returns
    -------
    Evaluation
        A list of estimates, with ``verdicts`` by the names of the policies, ``differences``, and
        the number of ``missing`` outcomes.
    """
    if interval not in ("bootstrap", "betting"):
        raise InvalidInput("interval", "be 'bootstrap' or 'betting'", repr(interval))
    settings = IntervalSettings(
        checks.real("confidence", confidence, above=0.0, maximum=0.999999),
        interval,
        checks.whole("resamples", resamples, minimum=1),
        checks.whole("seed", seed),
    )
    treated = treatment(missing)
    for name in (LOGGED, PLAYED):
        if name in policies:
            raise InvalidInput("policies", "have names other than those of the log", repr(name))
    history = History.of(source).keep()
    log, workers = check_batches(history), Jobs(jobs, backend, address)
    reason = log.lacks(*NEEDS["bounds"]) if log.decisions else "there are no decisions to evaluate"
    if reason:
        estimates = [Estimate(p, e, refused=reason) for p in policies for e in ESTIMATORS]
        level, gone = settings.confidence, log.missing
        verdicts = {p: Verdict(p, refused=reason, missing=gone, confidence=level) for p in policies}
        return Evaluation(estimates, verdicts, [], log.missing)
    fitted = fit(history) if model is None else model
    asked = policies or {LOGGED: Random(rng=0)}  # any policy will do, to find what the log earned
    estimates, verdicts, sides = [], {}, []
    plain = too_many(log.missing, log.decisions) if treated == "refuse" else ""
    calibrated = _calibrated(fitted)
    for name, evidence in _gathered(asked, history, fitted, workers, progress):
        if not estimates:
            estimates.append(_logged(evidence, settings))
        if name not in policies:
            continue
        ended = Sample(evidence.ended(), settings, gone=0)
        for estimator in ESTIMATORS.values():
            estimate = estimator.judge(name, ended)
            if estimator.name == "model":
                estimate = replace(estimate, notes=(calibrated, *estimate.notes))
            if log.missing and not estimate.refused:
                estimate = _without(estimate, evidence, plain)
            estimates.append(estimate)
        sample = Sample(evidence, settings, treated)
        verdicts[name] = judge(sample, name)
        sides.append(comparable(sample, verdicts[name]))
        del evidence, ended, sample  # before the next ones are gathered
    differences = [
        *(verdict.gain for verdict in verdicts.values()),
        *(differ(*pair, settings) for pair in combinations(sides, 2)),
    ]
    estimates = [replace(each, confidence=settings.confidence) for each in estimates]
    return Evaluation(estimates, verdicts, differences, log.missing)


def gate(
    source: Any,
    policies: Mapping[str, Policy],
    *,
    confidence: float = 0.95,
    missing: str = "refuse",
    earnable: tuple[float, float] | None = None,
) -> dict[str, GateDecision]:
    """Decide for each policy whether it may replace what is played; ask as often as you like.

    The bounds are valid at all times simultaneously, so the log may grow between looks, as that of
    a service does: a policy that earns no more than what was played is ever promoted with
    probability at most 1 - ``confidence``. This requires the same policies at every look, and a log
    of decisions that they have not learned from. If decisions can earn different amounts,
    ``earnable`` gives the minimum and maximum that any decision, including future ones, can earn.
    """
    level = checks.real("confidence", confidence, above=0.0, maximum=0.999999)
    settings, treated = IntervalSettings(level), treatment(missing)
    history = History.of(source).keep()
    gathered = gather_all(policies, history, fit(history), draws=0)
    return {
        name: check_gate(evidence[""], settings, name, treated, earnable)
        for name, evidence in gathered.items()
    }


def _gathered(
    policies: Mapping[str, Policy],
    history: History,
    model: OutcomeModel,
    workers: Jobs,
    progress: Progress | None,
) -> Iterator[tuple[str, Evidence]]:
    """Return the evidence about each policy; as many at once as memory allows."""
    longest = max(int(batch.lengths.max()) for batch in history.batches())
    size = 8 * (_COLUMNS + _WIDE * (longest + 1)) * (len(history) + history.missing)
    at_once, names = max(1, _ROOM // size), list(policies)
    passes = range(0, len(names), at_once)
    for i, first in enumerate(passes):

        def report(done: int, total: int, before: int = i) -> None:
            if progress is not None:
                progress(before * total + done, len(passes) * total)

        some = {name: policies[name] for name in names[first : first + at_once]}
        gathered = gather_all(some, history, model, workers=workers, progress=report)
        for name in some:
            yield name, gathered.pop(name)[""]


def _logged(evidence: Evidence, settings: IntervalSettings) -> Estimate:
    """Return what the log itself earned; its interval allows for missing outcomes."""
    log, ended = evidence.log, evidence.ended()
    rewards, n = ended.rewards, len(ended.rewards)
    least = float(rewards.min(initial=ended.earnable[:, 0].min()))
    most = float(rewards.max(initial=ended.earnable[:, 1].max()))
    low, high, method = mean_interval(rewards, (least, most), settings)
    notes = (*cost_notes(log), *cautions(n, method))
    share = log.missing / (log.missing + log.decisions)
    if log.missing:
        low, high = widen(low, least, share), widen(high, most, share)
        notes += (
            f"{log.missing} decisions without an outcome may have earned anything: see the "
            "interval",
        )
    value = float(rewards.mean())
    return Estimate(LOGGED, "mean reward", value, low, high, method, n, float(n), notes=notes)


def _calibrated(model: OutcomeModel) -> str:
    """Say how far the model's predictions are from what happened."""
    bins = calibration(model.predictions)
    if not bins:
        return "nothing was tried, so the model knows nothing"
    total = sum(count for _, _, count in bins)
    off = sum(abs(predicted - true) * count for predicted, true, count in bins) / total
    return (
        f"calibration: its predictions are off by {off:.3f} on average, over tenths of the attempts"
    )


def _without(estimate: Estimate, evidence: Evidence, refused: str) -> Estimate:
    """Return an estimate that states which outcomes are unknown."""
    gone = evidence.log.missing
    note = f"{gone} decisions have no outcome, and this counts only the others"
    if refused and estimate.estimator != "bounds":
        return Estimate(estimate.policy, estimate.estimator, refused=refused)
    if estimate.estimator == "bounds":
        share = gone / (gone + evidence.log.decisions)
        least, most = range_of(evidence)
        low, high = widen(estimate.low, least, share), widen(estimate.high, most, share)
        note = f"{gone} decisions have no outcome, and may have earned anything"
        exact = (1.0 - share) * estimate.exact
        estimate = replace(estimate, value=math.nan, low=low, high=high, exact=exact)
    return replace(estimate, notes=(note, *estimate.notes))
