"""A report for colleagues: one HTML page that refers to nothing outside."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from longrank.logs import sections
from longrank.logs.evaluate import evaluate
from longrank.logs.history import History
from longrank.logs.model import fit
from longrank.logs.page import page
from longrank.logs.value import Estimate
from longrank.policies import Policy


def report(
    policies: Mapping[str, Policy],
    history: History,
    path: str | os.PathLike[str],
    estimates: Sequence[Estimate] | None = None,
    *,
    extra_cost: float | None = None,
) -> Path:
    """Write the page; returns its path.

    Parameters
    ----------
    estimates
        From :func:`longrank.logs.evaluate`; made here by default.
    extra_cost
        "What if every try cost this much more?"; a twentieth of the first reward by default.
    """
    if estimates is None:
        estimates = evaluate(policies, history)
    parts = [
        f"<p>{len(history)} decisions of {escape(history.name)}. Every value is what a policy "
        "would earn per decision. Nothing here was played: these are estimates, and where the log "
        "cannot support one the reason stands in its place.</p>",
        "<h2>Values</h2>",
        sections.values(estimates),
    ]
    if not all(one.refused for one in estimates):
        parts += _pictures(policies, history, estimates, extra_cost)
    out = Path(path)
    out.write_text(page(f"Policies on {history.name}", parts), "utf-8")
    return out


def _pictures(
    policies: Mapping[str, Policy],
    history: History,
    estimates: Sequence[Estimate],
    extra_cost: float | None,
) -> list[str]:
    model = fit(history)
    supported = [e.policy for e in estimates if e.estimator == "doubly robust" and not e.refused]
    return [
        sections.intervals(estimates),
        "<h2>Learning curve</h2>",
        sections.learning(policies, history, model, supported),
        "<h2>Success by position</h2>",
        sections.positions(history),
        "<h2>Length</h2>",
        sections.lengths(policies, history),
        "<h2>Calibration of the model</h2>",
        sections.calibration(model),
        "<h2>What if</h2>",
        sections.what_if(policies, history, model, supported, extra_cost),
    ]
