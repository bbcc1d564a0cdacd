"""Every estimate of a report in a table, and what its words mean."""

from __future__ import annotations

import math

from longrank.document import Block, Grid, Heading, Prose, fitted, number, span
from longrank.logs.evaluation.details import Policies, in_currency, percent
from longrank.logs.evaluation.verdict import Evaluation

_ESTIMATORS = {
    "doubly robust": (
        "The verdicts are “doubly robust”: a model of the log says what to expect of a policy, and "
        "the decisions in which the log happened to begin like the policy correct it. So they do "
        "not depend on the model being right, as the row “model” does."
    ),
    "importance sampling": (
        "The verdicts are by “importance sampling”: decisions count the more, the more likely the "
        "policy and the less likely the log was to play them."
    ),
    "bounds": (
        "The verdicts are “bounds”: the log was not made by chance, so they rest on what its "
        "decisions show for certain."
    ),
}
_METHODS = {
    "bounds": "The row “bounds” is what the decisions show for certain, whatever was not tried.",
    "normal": (
        "Intervals called “normal” are right for many effective decisions. They leave room for "
        "what was too rare to be seen, so that they are not symmetric."
    ),
    "bootstrap": "Intervals called “bootstrap” come from evaluating resampled decisions.",
    "betting": (
        "Intervals called “betting” are wide, but valid for any number of decisions: they contain "
        "every value that a gambler who bets against it could not refute. They are used where "
        "fewer than 100 effective decisions follow the policy to the end of its sequences, even if "
        "more of them follow it up to the outcome."
    ),
}
_EFFECTIVE = (
    "“Effective decisions”: the log tells as much about the policy as this many decisions of the "
    "policy itself would."
)


def every_estimate(policies: Policies, found: Evaluation, money: str) -> list[Block]:
    """Return every estimate, and what the words mean."""
    widths = [e.high - e.low for e in found if e.high > e.low]
    width = min(widths, default=0.0)
    rows = []
    for e in found:
        remark = f"refused: {e.refused}" if e.refused else "; ".join(e.notes)
        if not math.isnan(e.exact):
            remark = f"exact in {percent(round(e.exact, 2))} of the decisions; {remark}"
        ends = "" if math.isnan(e.low) else span(e.low, e.high, width)
        value = fitted(e.value, width)
        rows.append((e.policy, e.estimator, value, ends, number(e.effective, 0), e.method, remark))
    levels = [f"{percent(e.confidence)} " for e in found if not math.isnan(e.confidence)]
    header = (
        *("policy", "estimator", in_currency("value", money)),
        f"{levels[0] if levels else ''}interval",
        *("effective decisions", "method", "remarks"),
    )
    return [
        Heading("Every estimator", 2),
        *(Prose(text) for text in _explained(found)),
        *(Prose(f"`{name}` is `{policy!r}`.") for name, policy in policies.items()),
        Grid(header, tuple(rows), folded=f"{len(rows)} estimates", prose=(0, 1, 5, 6)),
    ]


def _explained(found: Evaluation) -> list[str]:
    """Explain how the verdicts were reached, in as many words as they need."""
    verdicts = [verdict for verdict in found.verdicts.values() if not verdict.refused]
    estimators = sorted({verdict.estimator for verdict in verdicts})
    methods = sorted({e.method for e in found if not e.refused})
    texts = [_ESTIMATORS[name] for name in estimators if name in _ESTIMATORS]
    texts += [_METHODS[name] for name in methods if name in _METHODS]
    return [*texts, _EFFECTIVE] if verdicts else texts
