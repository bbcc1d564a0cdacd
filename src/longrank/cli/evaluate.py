"""``longrank evaluate``."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Iterable
from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from longrank.cli.logs import ColumnNames, ContextNames, LogFiles, LogPayoffs, open_log, values
from longrank.cli.run import Backend
from longrank.cli.terminal import console, counted
from longrank.document import plain_number, rounded
from longrank.errors import InvalidInput, unknown
from longrank.logs import Estimate, Evaluation, GateDecision, History, Verdict, learn_from
from longrank.logs import evaluate as estimate
from longrank.logs import gate as ask_gate
from longrank.logs import report as write_report
from longrank.logs.evaluation.report import currency_of
from longrank.logs.evaluation.verdict import LOGGED
from longrank.policies import Policy, load, registry

Interval = Literal["bootstrap", "betting"]
Treatment = Literal["refuse", "at-random", "bounds"]
GATE = {"promote": 0, "keep": 3, "not enough data": 4}  # exit codes

FIGURES = 80  # characters that a table of estimates needs
_MANY = 50_000  # decisions that are worth several processes
_OFFERED = ("dim", "max_budget", "rng")  # what the log and the command line give a policy


def evaluate(
    log: LogFiles,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A file that policy.save wrote, or a name (recommended, cautious, thompson, "
            "plackett-luce, ind, eps, c-ucb1, gl-cdcm, rand, or one that an installed package "
            "offers), "
            "optionally with settings: ind:rate=5. Repeat it for each policy. "
            "Default: recommended."
        ),
    ] = None,
    columns: ColumnNames = "",
    context: ContextNames = None,
    payoffs: LogPayoffs = "",
    learn: Annotated[
        float,
        typer.Option(min=0.0, max=0.95, help="Fraction of the log that named policies learn from."),
    ] = 0.5,
    confidence: Annotated[
        float, typer.Option(min=0.01, max=0.999999, help="Confidence level of the intervals.")
    ] = 0.95,
    interval: Annotated[
        Interval,
        typer.Option(
            help="How to compute intervals; betting is wider, but holds for every number of "
            "decisions."
        ),
    ] = "bootstrap",
    missing: Annotated[
        Treatment,
        typer.Option(
            help="What to do about decisions without an outcome. refuse: give no estimate if they "
            "are more than 1 %. at-random: assume that they are missing at random, given what was "
            "played, and weight the others. bounds: give bounds that hold whatever the reason."
        ),
    ] = "refuse",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    every: Annotated[
        bool, typer.Option("--every", help="Show the estimates of every estimator.")
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            help="Write verdicts, differences and estimates to this file; - is standard output.",
        ),
    ] = None,
    gate: Annotated[
        bool,
        typer.Option(
            help="Decide whether the policy may replace what is played. Exit code 0: promote; 3: "
            "keep what is played; 4: not enough data. You may repeat this daily while the log "
            "grows. Needs one policy, from a file, and a log of decisions made since it was saved."
        ),
    ] = False,
    earnable: Annotated[
        str,
        typer.Option(
            help="For --gate: the least and the most that a decision can earn, such as -0.2,2.4. "
            "Required if that differs between decisions."
        ),
    ] = "",
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    extra_cost: Annotated[
        float | None,
        typer.Option(help="For the report: what if every attempt cost this much more?"),
    ] = None,
    currency: Annotated[
        str,
        typer.Option(
            help="What amounts are in, such as EUR, for the verdicts and the report. Default: the "
            "field currency of the log, if it is the same everywhere."
        ),
    ] = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Parallel processes. Default: all processors for 50,000 decisions or more, if "
            "joblib is installed, or else one.",
        ),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Where to evaluate the log.")] = "processes",
    address: Annotated[
        str | None,
        typer.Option(help="Address of the Dask or Ray cluster; default: start one here."),
    ] = None,
) -> None:
    """Estimate what policies would have earned on a log, without running them.

    A verdict on each policy comes first: how much more or less it would earn than what was played,
    how many decisions support that, and what to do.

    Named policies learn from the first part of the log and are judged on the rest. Policies from
    files are judged as they are, on the same rest. What the log cannot support is refused, with
    the reason; `longrank logs check` shows beforehand what a log supports. The exit code is 1 if
    nothing can be said about any of the policies.

    If the columns of your log do not have the names that `longrank logs columns` lists, map them
    with `--columns`.

    The log is read once, and may be larger than memory. Its batches are evaluated in parallel, with
    the same results whatever the number of processes.

    Parquet files need `pip install 'longrank[logs]'`, several processes `longrank[experiments]`;
    `--backend dask` and `--backend ray` also need `longrank[cluster]`.

    Example: `longrank evaluate log.csv --policy recommended --policy ind:rate=5`

    With a report to show to others:
    `longrank evaluate log.csv --policy recommended --report report.html`
    """
    if extra_cost is not None and not math.isfinite(extra_cost):
        raise InvalidInput("extra_cost", "be finite", extra_cost)
    for file in (report, json):
        if file is not None and not file.parent.is_dir():
            raise InvalidInput(
                "report" if file is report else "json", "be in a folder that exists", file
            )
    specs = policy or ["recommended"]
    history = open_log(log, columns, context, payoffs).keep()
    if gate:
        _gate(history, specs, confidence, missing, _pair(earnable), json)
    total = len(history)
    cut = math.floor(total * learn)
    policies = _policies(specs, history, cut, seed)
    judged = history.part(cut)
    own = Console(stderr=True) if str(json) == "-" else console
    own.print(f"{total} decisions: {cut} to learn from, {total - cut} to judge by")
    workers: Any = {"jobs": _jobs(jobs, len(judged)), "backend": backend, "address": address}
    settings: dict[str, Any] = {"confidence": confidence, "interval": interval, "seed": seed}
    with own.status("estimating"):
        found = estimate(judged, policies, missing=missing, **settings, **workers)
    _write(json, found.to_dict())
    money = currency or currency_of(judged)
    _show(own, found, money)
    if every:
        _show_all(own, found)
    if report is not None:
        with own.status("writing the report"):
            settings = {"interval": interval, "missing": missing, "extra_cost": extra_cost}
            settings["currency"] = money
            write_report(judged, policies, report, found, **settings, **workers)
        own.print(f"Wrote the report to {report}")
    if all(one.refused and math.isnan(one.low) for one in found.verdicts.values()):
        raise typer.Exit(1)


def _pair(earnable: str) -> tuple[float, float] | None:
    """Read the least and the most that a decision can earn."""
    if not earnable:
        return None
    try:
        least, most = (float(part) for part in earnable.split(","))
    except ValueError:
        least = most = math.nan
    if not -math.inf < least < most < math.inf:
        raise InvalidInput("earnable", "be two numbers such as -0.2,2.4", repr(earnable))
    return least, most


def _gate(
    history: History,
    specs: list[str],
    confidence: float,
    missing: str,
    earnable: tuple[float, float] | None,
    json: Path | None,
) -> None:
    """Print whether the policy may replace what is played; exit with the code of that."""
    if len(specs) != 1 or not Path(specs[0]).is_file():
        rule = "be one file with --gate, since looks at a growing log must see the same policy"
        raise InvalidInput("policy", rule, ", ".join(map(repr, specs)))
    name = Path(specs[0]).stem
    how: dict[str, Any] = {"confidence": confidence, "missing": missing, "earnable": earnable}
    decision = ask_gate(history, {name: load(specs[0])}, **how)[name]
    _write(json, {"answer": decision.answer, "sentence": str(decision)} | _plain(decision))
    if str(json) != "-":
        console.print(str(decision), highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(GATE[decision.answer])


def _plain(decision: GateDecision) -> dict[str, Any]:
    gain = decision.gain
    known = {"value": gain.value, "low": gain.low, "high": gain.high}
    told = {name: one if math.isfinite(one) else None for name, one in known.items()}
    return {"policy": gain.policy, "gain": told, "reason": decision.reason}


def _write(path: Path | None, found: dict[str, Any]) -> None:
    if path is None:
        return
    text = dumps(found, indent=2, ensure_ascii=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
    else:
        path.write_text(text + "\n", "utf-8")


def _jobs(jobs: int | None, decisions: int) -> int:
    """Return how many processes evaluate so many decisions: starting them takes seconds."""
    if jobs is not None:
        return jobs
    able = importlib.util.find_spec("joblib") is not None
    return os.cpu_count() or 1 if able and decisions >= _MANY else 1


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
    if name not in registry.names() or set(registry.get(name).needs) - set(_OFFERED):
        known = ", ".join(n for n in registry.names() if n not in ("dep", "oracle"))
        rule = f"be a file or one of {known} (save any other policy to a file)"
        raise InvalidInput("policy", rule, unknown(spec, registry.names()))
    first = next(history.decisions())
    offered = {"max_budget": _budget(history), "rng": seed}
    rows = first.items if first.items is not None else first.features
    if rows is not None:
        offered["dim"] = int(rows.shape[1])
    elif "dim" in registry.get(name).needs:
        able = (n for n in registry.names() if not set(registry.get(n).needs) - set(offered))
        rule = f"be one for records, such as {', '.join(able)}"
        raise InvalidInput("policy", rule, repr(spec))
    return registry.make(name, offered, values("policy", rest))


def _budget(history: History) -> int:
    found = 1
    for batch in history.batches():
        found = max(found, int(np.where(batch.budget > 0, batch.budget, batch.lengths).max()))
    return found


def _show(console: Console, found: Evaluation, money: str) -> None:
    """Print the verdicts, and a row per policy with the estimator that the log supports best."""
    for verdict in found.verdicts.values():
        console.print(verdict.told(money), highlight=False, markup=False, soft_wrap=True)
    table = Table(title=f"Reward per decision{f' ({money})' if money else ''}", box=SIMPLE_HEAD)
    table.add_column("policy", overflow="fold")
    table.add_column("estimator", min_width=len("doubly robust"))
    table.add_column("value", justify="right")
    table.add_column("interval", no_wrap=True)
    table.add_column("effective", justify="right")
    logged = next((one for one in found if one.policy == LOGGED), None)
    if logged is not None:
        span = _span(logged.low, logged.high)
        rounds = f"{logged.effective:.0f}"
        table.add_row(LOGGED, logged.estimator, _fitted(logged), span, rounds)
    for name, one in found.verdicts.items():
        span, rounds = _span(one.low, one.high), _count(one.effective)
        how = "refused" if one.refused else one.estimator
        table.add_row(name, how, _fitted(one), span, rounds)
    _print_table(console, table)
    for each in found.differences[len(found.verdicts) :]:
        console.print(str(each), highlight=False, markup=False, soft_wrap=True)
    if found.missing:
        console.print(f"{found.missing} decisions have no outcome", highlight=False)


def _print_table(console: Console, table: Table) -> None:
    """Print a table with all of its figures, on a narrow terminal too, which then wraps lines."""
    if console.width < FIGURES:
        table.width = FIGURES
    console.print(table, crop=False)


def _span(low: float, high: float) -> str:
    return "–" if math.isnan(low) else " to ".join(rounded(end, high - low) for end in (low, high))


def _fitted(one: Estimate | Verdict) -> str:
    """Return the value with the digits that its interval deserves."""
    if math.isnan(one.value):
        return "–"
    known = not math.isnan(one.low)
    return rounded(one.value, one.high - one.low) if known else plain_number(one.value, 4)


def _count(effective: float) -> str:
    return "" if math.isnan(effective) else f"{effective:.0f}"


def _show_all(console: Console, found: Evaluation) -> None:
    table = Table(title="Every estimator", box=SIMPLE_HEAD)
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
        effective = _count(one.effective)
        notes = list(one.notes)
        if not math.isnan(one.exact):
            notes.insert(0, f"the reward is exact in {one.exact:.0%} of the decisions")
        span = "" if math.isnan(one.low) else _span(one.low, one.high)
        table.add_row(name, one.estimator, _fitted(one), span, effective, see(notes))
    _print_table(console, table)
    for text, place in remarks.items():
        console.print(f"{place:>3}  {text}", highlight=False, markup=False)
