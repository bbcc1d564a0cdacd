"""Comparing policies on a log, by every estimator that the log supports."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from longrank import checks
from longrank.errors import InvalidInput
from longrank.logs.abilities import NEEDS
from longrank.logs.evaluation.estimators import ESTIMATORS, Estimate, cost_notes, mean_reward
from longrank.logs.evaluation.evidence import check_batches, gather_all
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.outcome_model import OutcomeModel, fit
from longrank.logs.history import History
from longrank.policies import Policy
from longrank.workers import Workers

LOGGED = "the log itself"
P = ParamSpec("P")
T = TypeVar("T")


def source_first(function: Callable[P, T]) -> Callable[P, T]:
    """Accept the old order of arguments, policies before the log, with a warning."""

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> T:
        if "history" in settings:
            rule = "the parameter 'history' is now called 'source'"
            warnings.warn(f"{function.__name__}: {rule}", DeprecationWarning, stacklevel=2)
            settings["source"] = settings.pop("history")
            if args:
                args, settings["policies"] = args[1:], args[0]
        elif len(args) > 1 and isinstance(args[0], Mapping):
            rule = "takes the log first and the policies second"
            warnings.warn(f"{function.__name__} {rule}", DeprecationWarning, stacklevel=2)
            args = (args[1], args[0], *args[2:])
        return function(*args, **settings)

    return call


@source_first
def evaluate(
    source: Any,
    policies: Mapping[str, Policy],
    *,
    confidence: float = 0.95,
    interval: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
    model: OutcomeModel | None = None,
    jobs: int = 1,
    backend: str = "processes",
    address: str | None = None,
) -> list[Estimate]:
    """Estimate what policies would earn on a log, by every estimator; a refusal says why.

    The log is read and checked once. The policies do not change: they neither learn nor draw.
    Evaluate them on decisions that they have not learned from (:meth:`History.part`).

    Parameters
    ----------
    source
        A :class:`~longrank.logs.History`, or whatever it takes: a file, a frame, a list of
        dictionaries.
    policies
        The policies by name.
    confidence
        The confidence level of the intervals.
    interval
        ``"bootstrap"``, or ``"bernstein"`` where the estimate is a plain mean.
    resamples, seed
        The number of bootstrap resamples, and their seed.
    model
        From :func:`longrank.logs.fit`; by default fitted to this log.
    jobs, backend, address
        How many processes evaluate batches of the log, with the same results: of this machine
        (``"processes"``), or of a ``"dask"`` or ``"ray"`` cluster at this address.
    """
    if interval not in ("bootstrap", "bernstein"):
        raise InvalidInput("interval", "be 'bootstrap' or 'bernstein'", repr(interval))
    settings = IntervalSettings(
        checks.real("confidence", confidence, above=0.0, maximum=0.999999),
        interval,
        checks.whole("resamples", resamples, minimum=1),
        checks.whole("seed", seed),
    )
    history = History.of(source).keep()
    log = check_batches(history)
    reason = log.lacks(*NEEDS["bounds"]) if log.decisions else "there are no decisions to evaluate"
    if reason:
        return [Estimate(p, e, refused=reason) for p in policies for e in ESTIMATORS]
    fitted = fit(history) if model is None else model
    rewards = [
        decision.reward_under(fitted.payoffs(decision, index))
        for index, decision in enumerate(history.decisions())
    ]
    logged = mean_reward(np.array(rewards), settings)
    notes = (*cost_notes(log), *logged.notes)
    estimates = [replace(logged, policy=LOGGED, estimator="mean reward", notes=notes)]
    gathered = gather_all(policies, history, fitted, workers=Workers(jobs, backend, address))
    for name in policies:
        evidence = gathered[name][""].ended()
        estimates += [one.judge(name, evidence, settings) for one in ESTIMATORS.values()]
    return [replace(one, confidence=settings.confidence) for one in estimates]
