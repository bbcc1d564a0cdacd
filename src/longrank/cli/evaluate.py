"""``longrank evaluate``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.progress import Progress, TaskID
from rich.table import Table

from longrank.cli.terminal import console, counted, names
from longrank.errors import InvalidInput
from longrank.logs import Estimate, History, learn_from
from longrank.logs import evaluate as estimate
from longrank.logs import report as write_report
from longrank.policies import Policy, load, named

Interval = Literal["bootstrap", "bernstein"]

_NEEDS = {
    "recommended": ("dim", "max_budget"),
    "ind": ("dim", "max_budget"),
    "eps": ("dim", "max_budget", "rng"),
    "c-ucb1": ("dim",),
    "gl-cdcm": ("dim",),
    "rand": ("rng",),
}


def evaluate(
    log: Annotated[
        Path, typer.Argument(help="A .parquet, .csv or .jsonl file with the column `items`.")
    ],
    policy: Annotated[
        list[str],
        typer.Option(
            help="A file that Policy.save wrote, or a name (recommended, ind, eps, c-ucb1, "
            "gl-cdcm, rand), optionally with settings: ind:rate=5. Repeat it for each policy."
        ),
    ],
    learn: Annotated[
        float,
        typer.Option(min=0.0, max=0.95, help="Fraction of the log that named policies learn from."),
    ] = 0.5,
    confidence: Annotated[
        float, typer.Option(min=0.01, max=0.999999, help="Confidence level of the intervals.")
    ] = 0.95,
    interval: Annotated[
        Interval,
        typer.Option(help="How to compute intervals; bernstein is wider, but always holds."),
    ] = "bootstrap",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    extra_cost: Annotated[
        float | None, typer.Option(help="In the report: what if every try cost this much more?")
    ] = None,
) -> None:
    """Estimate what policies would have earned on a log, without running them.

    Named policies learn from the first part of the log and are judged on the rest. Policies from
    files are judged as they are, on the same rest. An estimate that the log cannot support is
    refused, with the reason; `longrank logs check` shows beforehand what a log supports.

    Parquet files need `pip install 'longrank[logs]'`.

    Example: `longrank evaluate log.csv --policy recommended --policy ind:rate=5`
    """
    if extra_cost is not None and not math.isfinite(extra_cost):
        raise InvalidInput("extra_cost", "be finite", extra_cost)
    history = History(log).keep()
    total = len(history)
    cut = math.floor(total * learn)
    policies = _policies(policy, history, cut, seed)
    judged = history.part(cut)
    console.print(f"{total} decisions: {cut} to learn from, {total - cut} to judge by")
    with console.status("estimating"):
        found = estimate(judged, policies, confidence=confidence, interval=interval, seed=seed)
    _show(found)
    if report is not None:
        with console.status("writing the report"):
            write_report(judged, policies, report, found, extra_cost=extra_cost)
        console.print(f"Wrote the report to {report}")


def _policies(specs: list[str], history: History, cut: int, seed: int) -> dict[str, Policy]:
    found: dict[str, Policy] = {}
    for spec in specs:
        if Path(spec).is_file():
            found[Path(spec).stem] = load(spec)
            continue
        made = found[spec] = _named(spec, history, seed)
        if cut:
            with counted() as bar:
                task = bar.add_task(f"{spec} is learning", total=cut)
                told = partial(_tell, bar, task)
                learn_from(made, history.part(0, cut), progress=told)
    return found


def _tell(bar: Progress, task: TaskID, done: int, _: int) -> None:
    bar.update(task, completed=done)


def _named(spec: str, history: History, seed: int) -> Policy:
    name, _, rest = spec.partition(":")
    if name not in _NEEDS:
        rule = f"be a file or one of {', '.join(_NEEDS)} (save any other policy to a file)"
        raise InvalidInput("policy", rule, repr(spec))
    first = next(history.decisions())
    known: dict[str, Any] = {"dim": _width(first), "max_budget": _budget(history), "rng": seed}
    settings = {key: known[key] for key in _NEEDS[name]}
    for part in names(rest):
        key, equals, value = part.partition("=")
        try:
            settings[key] = float(value) if "." in value or "e" in value else int(value)
        except ValueError:
            settings[key] = value
        if not equals:
            raise InvalidInput("policy", "have settings of the form ind:rate=5", repr(spec))
    return named(name, **settings)


def _width(decision: Any) -> int:
    rows = decision.items if decision.items is not None else decision.features
    return int(rows.shape[1])


def _budget(history: History) -> int:
    found = (decision.budget or len(decision.order) for decision in history.decisions())
    return max(1, max(found))


def _show(found: list[Estimate]) -> None:
    table = Table(title="Reward per decision", box=SIMPLE_HEAD)
    table.add_column("policy", overflow="fold")
    table.add_column("estimator", min_width=len("self-normalised"))
    table.add_column("value", justify="right")
    table.add_column("interval", no_wrap=True)
    table.add_column("effective", justify="right")
    table.add_column("see")
    before = ""
    remarks: dict[str, int] = {}

    def see(texts: Iterable[str]) -> str:
        return ", ".join(str(remarks.setdefault(text, len(remarks) + 1)) for text in texts)

    for one in found:
        if before and one.policy != before:
            table.add_section()
        name = "" if one.policy == before else one.policy
        before = one.policy
        if one.refused:
            table.add_row(name, one.estimator, "–", "refused", "", see([one.refused]))
            continue
        value = "–" if math.isnan(one.value) else f"{one.value:.4f}"
        effective = "" if math.isnan(one.effective) else f"{one.effective:.0f}"
        notes = list(one.notes)
        if not math.isnan(one.exact):
            notes.insert(0, f"the reward is exact in {one.exact:.0%} of the decisions")
        span = f"{one.low:.4f} to {one.high:.4f}"
        table.add_row(name, one.estimator, value, span, effective, see(notes))
    console.print(table)
    for text, number in remarks.items():
        console.print(f"{number:>3}  {text}", highlight=False, markup=False)
