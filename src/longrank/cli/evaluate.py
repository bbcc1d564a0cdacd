"""``longrank evaluate``."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from longrank.cli.logs import ColumnNames, ContextNames, LogFiles, LogPayoffs, open_log, values
from longrank.cli.run import Address, Backend
from longrank.cli.terminal import Plain, console, counted, refuse, say
from longrank.document.numbers import plain_number, rounded
from longrank.errors import InvalidInput, MissingExtra, unknown
from longrank.policies import Policy, load, registry

if TYPE_CHECKING:
    from longrank.logs import Estimate, Evaluation, GateDecision, History, Verdict

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
        bool,
        typer.Option(
            "--every",
            help="Show the estimates of every estimator: bounds, replay, importance sampling (IPS, "
            "SNIPS), doubly robust (DR, SNDR), and the model's (DM).",
        ),
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
            "joblib is installed; otherwise one.",
        ),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Where to evaluate the log.")] = "processes",
    address: Address = None,
) -> None:
    """Estimate what policies would have earned on a log, without running them.

    A verdict on each policy comes first: how much more or less it would earn than what was played,
    how many decisions support that, and what to do.

    Named policies learn from the first part of the log and are judged on the rest. Policies from
    files are judged as they are, on the same rest. What the log cannot support is refused, with
    the reason; `longrank logs check` shows beforehand what a log supports. The exit code is 1 if
    a row of the log breaks a rule, or nothing can be said about any of the policies.

    If the columns of your log do not have the names that `longrank logs columns` lists, map them
    with `--columns`.

    The log is read once, and may be larger than memory. Its batches are evaluated in parallel, with
    the same results whatever the number of processes.

    Parquet files need `pip install '.[logs]'`, several processes `'.[experiments]'`;
    `--backend dask` and `--backend ray` also need `'.[cluster]'`.

    Example: `longrank evaluate log.csv --policy recommended --policy ind:rate=5`

    With a report to show to others:
    `longrank evaluate log.csv --policy recommended --report report.html`
    """
    from longrank import logs
    from longrank.logs.evaluation.report import currency_of

    if extra_cost is not None and not math.isfinite(extra_cost):
        raise InvalidInput("extra_cost", "be finite", extra_cost)
    for file in (report, json):
        if file is not None and not file.parent.is_dir():
            raise InvalidInput(
                "report" if file is report else "json", "be in a folder that exists", file
            )
    parallel = importlib.util.find_spec("joblib") is not None
    if not parallel and ((jobs or 1) > 1 or backend != "processes"):
        raise MissingExtra("running in several processes", "experiments")
    specs = policy or ["recommended"]
    if gate and (len(specs) != 1 or not Path(specs[0]).is_file()):
        rule = (
            "be one file with --gate, because repeated looks at a growing log must judge the same "
            "policy"
        )
        raise InvalidInput("--policy", rule, ", ".join(map(repr, specs)))
    own = Plain(stderr=True) if str(json) == "-" else console
    try:
        with own.status(f"reading {', '.join(map(str, log))}"):
            history = open_log(log, columns, context, payoffs).keep()
    except logs.BadLog as error:
        refuse(str(error))
        raise typer.Exit(1) from None
    if gate:
        with own.status("asking the gate"):
            decision = _gate_decision(history, specs, confidence, missing, _pair(earnable))
        _write(json, decision.to_dict())
        say(str(decision), own)
        raise typer.Exit(GATE[decision.answer])
    total = len(history)
    cut = math.floor(total * learn)
    policies = _policies(specs, history, cut, seed, own)
    judged = history.part(cut)
    own.print(f"{total} decisions: {cut} to learn from, {total - cut} to judge by")
    many = parallel and len(judged) >= _MANY
    jobs = jobs or (many and os.cpu_count()) or 1
    how: dict[str, Any] = {"interval": interval, "missing": missing}
    how |= {"jobs": jobs, "backend": backend, "address": address}
    with _progress(own, "estimating") as progress:
        evaluation = logs.evaluate(
            judged, policies, confidence=confidence, seed=seed, progress=progress, **how
        )
    _write(json, evaluation.to_dict())
    money = currency or currency_of(judged)
    _show(own, evaluation, money)
    if every:
        _show_all(own, evaluation)
    if report is not None:
        with own.status("writing the report"):
            more: dict[str, Any] = {"extra_cost": extra_cost, "currency": money}
            logs.report(judged, policies, report, evaluation, **more, **how)
        own.print(f"Wrote the report to {report}")
    if all(each.refused and math.isnan(each.low) for each in evaluation.verdicts.values()):
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


def _gate_decision(
    history: History,
    specs: list[str],
    confidence: float,
    missing: str,
    earnable: tuple[float, float] | None,
) -> GateDecision:
    """Ask whether the policy may replace what is played."""
    from longrank import logs

    name, policy = Path(specs[0]).stem, load(specs[0])
    return logs.gate(
        history, {name: policy}, confidence=confidence, missing=missing, earnable=earnable
    )[name]


def _write(path: Path | None, contents: dict[str, Any]) -> None:
    if path is None:
        return
    text = dumps(contents, indent=2, ensure_ascii=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
    else:
        path.write_text(text + "\n", "utf-8")


def _policies(
    specs: list[str], history: History, cut: int, seed: int, own: Console
) -> dict[str, Policy]:
    from longrank.logs import learn_from

    policies: dict[str, Policy] = {}
    for spec in specs:
        if Path(spec).is_file():
            policies[Path(spec).stem] = load(spec)
            continue
        policies[spec] = _named(spec, history, seed)
        if cut:
            with _progress(own, f"{spec} is learning") as progress:
                learn_from(policies[spec], history.part(0, cut), progress=progress)
    return policies


@contextmanager
def _progress(own: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many decisions are done."""
    with counted(own, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _named(spec: str, history: History, seed: int) -> Policy:
    name, _, rest = spec.partition(":")
    if name not in registry.names() or set(registry.get(name).needs) - set(_OFFERED):
        known = ", ".join(n for n in registry.names() if n not in ("dep", "oracle"))
        file = "a file that exists" if Path(name).suffix or len(Path(name).parts) > 1 else "a file"
        rule = f"be {file} or one of {known} (save any other policy to a file)"
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
    limits = (np.where(b.budget > 0, b.budget, b.lengths).max() for b in history.batches())
    return max(1, *map(int, limits))


def _show(console: Console, evaluation: Evaluation, money: str) -> None:
    """Print the verdicts, and a row per policy with the estimator that the log supports best."""
    from longrank.logs.evaluation.verdict import LOGGED

    for verdict in evaluation.verdicts.values():
        say(verdict.sentence(money), console)
    table = _table(f"Reward per decision{f' ({money})' if money else ''}")
    rows: list[Estimate | Verdict] = [each for each in evaluation if each.policy == LOGGED]
    for row in (*rows, *evaluation.verdicts.values()):
        how = "refused" if row.refused else row.estimator
        table.add_row(row.policy, how, *_figures(row))
    console.print(table, crop=False)
    for difference in evaluation.differences[len(evaluation.verdicts) :]:
        say(str(difference), console)
    if evaluation.missing:
        console.print(f"{evaluation.missing} decisions have no outcome", highlight=False)


def _table(title: str) -> Table:
    """Make a table with all of its figures, on a narrow terminal too, which then wraps lines."""
    table = Table(title=title, box=SIMPLE_HEAD)
    table.add_column("policy", overflow="fold")
    table.add_column("estimator", min_width=len("self-normalised"))
    table.add_column("value", justify="right")
    table.add_column("interval", no_wrap=True)
    table.add_column("effective", justify="right")
    if console.width < FIGURES:
        table.width = FIGURES
    return table


def _figures(row: Estimate | Verdict) -> tuple[str, str, str]:
    """Return value, interval and effective decisions, with as many digits as the width deserves."""
    known, width = not math.isnan(row.low), row.high - row.low
    value = rounded(row.value, width) if known else plain_number(row.value, 4)
    span = " to ".join(rounded(end, width) for end in (row.low, row.high))
    effective = "" if math.isnan(row.effective) else f"{row.effective:.0f}"
    return "–" if math.isnan(row.value) else value, span if known else "–", effective


def _show_all(console: Console, evaluation: Evaluation) -> None:
    table = _table("Every estimator")
    table.add_column("see")
    before, remarks = "", dict[str, int]()
    for row in evaluation:
        if before and row.policy != before:
            table.add_section()
        name, before = "" if row.policy == before else row.policy, row.policy
        notes = [row.refused] if row.refused else list(row.notes)
        if not math.isnan(row.exact):
            notes.insert(0, f"the reward is exact in {row.exact:.0%} of the decisions")
        see = ", ".join(str(remarks.setdefault(text, len(remarks) + 1)) for text in notes)
        figures = ("–", "refused", "") if row.refused else _figures(row)
        table.add_row(name, row.estimator, *figures, see)
    console.print(table, crop=False)
    for text, place in remarks.items():
        console.print(f"{place:>3}  {text}", highlight=False)
