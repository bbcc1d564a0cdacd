"""The report on tasks outside the paper: which policy earned most, and how certain that is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import isnan, sqrt
from operator import attrgetter
from pathlib import Path
from statistics import fmean

import numpy as np

from longrank import __version__
from longrank.arrays import Vector
from longrank.document.blocks import (
    Beside,
    Block,
    Callout,
    Code,
    Field,
    Grid,
    Heading,
    Picture,
    Prose,
)
from longrank.document.numbers import counted, number, span
from longrank.experiments import figures
from longrank.experiments.commands import commands
from longrank.experiments.page import Drawn, Page, paragraphs
from longrank.experiments.paired import Gap, difference, gains, standings
from longrank.experiments.results import ResultRow
from longrank.experiments.scores import Score, Scores, mean
from longrank.experiments.settings import readable
from longrank.experiments.tables import Comparison, PaperTable, label

TITLE = "Ranking experiments: results"
FEW_ROUNDS = 200
_MAX_PANELS = 12
_MAX_VALUES, _MAX_INTERVALS = 5, 2  # columns of a table that fits on a telephone
_REFERENCE = "recommended"
_ADVICE = "`longrank run` with `--held-out 4` reports on shuffles that can tell"
_NOTHING_TO_GAIN = "nothing to gain"
_SPREAD = ", mean over shuffles; in small print, the standard deviation between them"


def write(
    scores: Scores,
    tables: Sequence[PaperTable],
    folder: Path,
    origin: tuple[list[str], list[str]],
    out: Path | None,
) -> Page:
    """Report all tasks; draw into ``folder``, and name ``out`` in the commands."""
    page = Page(TITLE, _origin(*origin))
    add_tasks(page, tables, folder, out)
    few = min(score.rounds for score in scores.values()) < FEW_ROUNDS
    page.section("time", "Running time")
    if few:
        page.add(
            [], [Prose(f"Left out: with fewer than {FEW_ROUNDS} rounds, start-up would dominate.")]
        )
    else:
        page.add(*figures.figure_of_seconds(scores, folder))
    page.section("lengths", "Lengths")
    page.add(*_lengths(scores, folder))
    page.section("notes", "How to read this", paragraphs("notes.md"))
    return page


def add_tasks(page: Page, tables: Sequence[PaperTable], folder: Path, out: Path | None) -> None:
    """Add a section for each task outside the paper."""
    own = [table for table in tables if table.number is None]
    panels = _panels(own)
    for table in own:
        page.section(table.name, table.title)
        page.add(*_task_blocks(table, panels[table.name], folder, out))


def _origin(versions: Sequence[str], dates: Sequence[str]) -> str:
    which = f" by longrank {' and '.join(versions)}" if versions else ""
    when = f", {' to '.join(dict.fromkeys((dates[0], dates[-1])))}" if dates else ""
    return f"Results of `longrank run`{which}{when}; report written by longrank {__version__}."


def _task_blocks(
    table: PaperTable, panels: Sequence[tuple[str, int]], folder: Path, out: Path | None
) -> Drawn:
    counts = [len(score.held_out) for score in table.scores if score.held_out]
    held_out, same_stream = [], _same_stream(table)
    settings: list[Block] = [
        details(table, attrgetter("rows"), "The best settings of each shuffle")
    ]
    if counts:
        held_out = [
            Heading("Held out", 3),
            Prose(
                f"NCR on {_range(counts)} that played no part in choosing the settings"
                f"{_SPREAD if max(counts) > 1 else ''}. 0 is random orders, 1 a clairvoyant. "
                "Bold is the highest of its row."
            ),
            *_grids(table, partial(field, True)),
        ]
        title = "Settings and rewards of the held-out runs"
        settings = [details(table, attrgetter("reported"), title), *settings, *same_stream]
    files, curves = _curves(table, panels, folder) if panels else ([], [])
    return files, [
        Prose(_task_line(table.scores)),
        *_warning(table.scores),
        *_conclusion(table.scores),
        *(held_out or same_stream),
        *_undefined(table),
        *_differences(table),
        *curves,
        Heading("Settings and rewards", 3),
        *settings,
        Prose("The command behind these numbers:"),
        Code(tuple(commands(table.scores, out))),
    ]


def _task_line(scores: Sequence[Score]) -> str:
    """Say what was ranked, how often, and on how many shuffles."""
    rows = [row for score in scores for row in score.rows]
    rounds = _range((score.rounds for score in scores), "round")
    parts = [f"{rounds}"]
    items, dimensions, rate = (mean(rows, n) for n in ("items", "dimensions", "success_rate"))
    if items and dimensions:
        size = items / min(score.rounds for score in scores)
        parts = [f"{int(items):,} items of {counted(int(dimensions), 'dimension')}"]
        if rate is not None:
            parts.append(f"of which {100.0 * rate:.3g}% succeed")
        parts.append(f"in {rounds} of {size:.4g}")
    searched = _range((score.seeds for score in scores), "shuffle")
    grids = " and ".join(sorted({score.grid for score in scores}))
    settings = max(score.tried for score in scores)
    tried = f"grid: {grids}, up to {settings} settings per policy" if settings > 1 else "one each"
    text = f"{', '.join(parts)}. Settings were searched on {searched} ({tried})"
    if not any(score.held_out for score in scores):
        return f"{text}; none was held out."
    further = _range((len(s.held_out) for s in scores if s.held_out), "other")
    return f"{text}, and the best ones run on {further}."


def _range(counts: Iterable[int], noun: str = "shuffle") -> str:
    ordered = sorted(counts)
    low, high = ordered[0], ordered[-1]
    return counted(high, noun) if low == high else f"{low:,} to {counted(high, noun)}"


def _warning(scores: Sequence[Score]) -> list[Block]:
    rounds = min(score.rounds for score in scores)
    if rounds >= FEW_ROUNDS:
        return []
    return [
        Callout(
            f"Only {counted(rounds, 'round')}: policies have hardly begun to learn, and chance "
            f"alone moves the mean reward of a run by up to about ± {1.0 / sqrt(rounds):.2f}. "
            f"Take at least {FEW_ROUNDS} rounds (100 items each) to compare policies.",
            "bad",
        )
    ]


def _conclusion(scores: Sequence[Score]) -> list[Block]:
    """Say which policy earned most, in how many cases, and whether the lead is clear."""
    standing = standings(scores)
    if not standing.policies:
        return []
    first, *others = standing.policies
    name = label(first.policy)
    if not others:
        return [Prose(f"Only {name} was run, so there is nothing to compare it with.")]
    second = others[0]
    over = difference(first.by_seed)
    lead = difference(first.by_seed, second.by_seed)
    assert over is not None
    assert lead is not None
    if standing.cases == 1:
        text = f"{name} earned most: NCR {number(first.mean)}"
    else:
        text = (
            f"{name} earned most: mean NCR {number(first.mean)} over {standing.cases} combinations "
            f"of scenario and budget, the highest in {first.first} of them"
        )
    ahead = f"{number(lead.mean, 3)} more than {label(second.policy)}, the next"
    if lead.shuffles == 1:
        kind, sure = "unknown", f"{ahead}. One shuffle cannot tell a lead from luck: {_ADVICE}."
    elif lead.clear:
        kind, sure = "good", f"{ahead} ({_interval(lead)}): probably more than chance."
    else:
        kind, sure = "open", f"{ahead} ({_interval(lead)}): this may be chance."
        text = f"No clear winner. {text}"
    if not any(score.held_out for score in scores) and max(score.tried for score in scores) > 1:
        kind = "unknown"
        sure += " The settings were chosen on the same shuffles, which favours large grids."
    if lead.shuffles > 1 and not (over.clear and over.mean > 0.0):
        sure += " None is clearly better than random orders."
    return [Callout(f"{text}; {sure}", kind)]


def _interval(gap: Gap) -> str:
    return f"95% interval {span(*gap.ends)}, {counted(gap.shuffles, 'shuffle')}"


def _grids(
    table: PaperTable, field: Callable[[Comparison], Field], columns: int = _MAX_VALUES
) -> list[Block]:
    """Return a table for each scenario, sized for a narrow screen; two fit on a wide one."""
    parts = [table.only(scenario) for scenario in table.scenarios]
    grids = [grid(part, field, len(part.columns) > columns) for part in parts]
    fit = max(len(part.columns) for part in parts) <= _MAX_VALUES
    return _in_pairs(grids) if fit else [*grids]


def grid(table: PaperTable, shown: Callable[[Comparison], Field], stacked: bool = False) -> Grid:
    """Show every field of a table; a ``stacked`` one is of one scenario."""
    # The rows of a list have no title above.
    before = f"{table.scenarios[0]}, b = " if stacked else ""
    names = [f"{c.scenario} (ours only)" if c.ours_only else c.scenario for c in table.columns]
    return Grid(
        ("" if stacked else "b", *(column.label for column in table.columns)),
        tuple((f"{before}{row[0].budget}", *map(shown, row)) for row in table.rows),
        () if stacked else (("", 1), *((name, len(list(run))) for name, run in groupby(names))),
        stacked=stacked,
    )


def field(held_out: bool, entry: Comparison) -> Field:
    """Show the value of a protocol, with its deviation between shuffles in small print."""
    value, deviation, best = entry.shown(held_out)
    if value is not None and isnan(value):
        return Field(number(value), _NOTHING_TO_GAIN)
    return Field(number(value), "" if isnan(deviation) else f"± {number(deviation)}", best)


def _undefined(table: PaperTable) -> list[Block]:
    if not any(isnan(row["ncr"]) for score in table.scores for row in score.reported):
        return []
    several = any(len(score.reported) > 1 for score in table.scores)
    where = " on at least one shuffle" if several else ""
    return [
        Prose(
            f"“{_NOTHING_TO_GAIN}”: random orders already earn all that a clairvoyant could{where},"
            " so there is nothing to learn, and the NCR is not defined."
        )
    ]


def _same_stream(table: PaperTable) -> list[Block]:
    """Show the best of the grid, on the shuffles that it was chosen on."""
    count = _range(score.seeds for score in table.scores)
    several = max(score.seeds for score in table.scores) > 1
    where = f"each of {count}{_SPREAD}" if several else "one shuffle"
    text = (
        f"NCR of the best setting of the grid on {where}. The setting is chosen on the stream that "
        "it is reported on, which rewards luck, the more so the larger the grid"
    )
    held_out = any(score.held_out for score in table.scores)
    advice = ": to compare policies, use the held-out results." if held_out else f": {_ADVICE}."
    return [
        Heading("Best of the grid, on the same stream", 3),
        Prose(text + advice),
        *_grids(table, partial(field, False)),
    ]


def _differences(table: PaperTable) -> list[Block]:
    """Compare every policy with a reference, on the same shuffles."""
    ranked = standings(table.scores).policies
    if len(ranked) < 2:
        return []
    names = [standing.policy for standing in ranked]
    reference = _REFERENCE if _REFERENCE in names else names[0]
    scores = {score.key: score for score in table.scores}

    def compared(entry: Comparison) -> Gap | None:
        score = entry.score
        other = score and scores.get(score.key._replace(policy=reference))
        return difference(gains(score), gains(other)) if score and other else None

    def interval(entry: Comparison) -> Field:
        gap = compared(entry)
        if gap is None:
            return Field(number(None))
        low, high = gap.ends
        ends = f"{number(low)} to {number(high)}"
        return Field(number(gap.mean, sign=True), ends, gap.clear)

    others = table.keep(lambda column: column.policy != reference)
    title = Heading(f"Differences from {label(reference)}", 3)
    gaps = [gap for gap in map(compared, others.entries()) if gap is not None]
    if max((gap.shuffles for gap in gaps), default=1) < 2:
        text = "There is one shuffle only, so nothing is known about chance."
        return [title, Prose(f"{text} {_ADVICE}.")]
    clear = sum(gap.clear for gap in gaps)
    text = (
        f"NCR minus that of {label(reference)} on the same shuffles: above 0 is better than "
        f"{label(reference)}. In small print, the 95% interval; bold, where it leaves out 0 "
        f"({clear} of {len(gaps)})."
    )
    if reference != _REFERENCE:
        text += f" {label(reference)} has the highest mean, which overstates its lead a little."
    return [title, Prose(text), *_grids(others, interval, _MAX_INTERVALS)]


def _panels(tables: Sequence[PaperTable]) -> dict[str, list[tuple[str, int]]]:
    """Choose the cases whose curves are drawn: one of each task and scenario before a second."""
    cases = [
        (rank, table.name, scenario, row[0].budget)
        for table in tables
        for scenario in table.scenarios
        for rank, row in enumerate(table.only(scenario).rows)
        if any(_rewards(entry) for entry in row if entry.column.scenario == scenario)
    ]
    drawn = set(sorted(cases, key=lambda case: case[0])[:_MAX_PANELS])
    return {
        table.name: [case[2:] for case in cases if case in drawn and case[1] == table.name]
        for table in tables
    }


def _rewards(entry: Comparison) -> list[Vector]:
    """Return the rewards of all rounds, of each shuffle that has them."""
    rows = () if entry.score is None else entry.score.reported
    return [np.array(row["curve"]) for row in rows if row["curve"] is not None]


def _curves(table: PaperTable, panels: Sequence[tuple[str, int]], folder: Path) -> Drawn:
    files: list[Path] = []
    pictures = []
    for scenario, budget in panels:
        row = next(row for row in table.only(scenario).rows if row[0].budget == budget)
        curves = {entry.column.label: _rewards(entry) for entry in row if _rewards(entry)}
        title = f"{scenario}, b = {budget}"
        path = folder / f"rewards-{table.name}-{scenario}-b{budget}"
        files += figures.average_rewards({title: curves}, path, columns=1, width=4.6, height=2.9)
        pictures.append(Picture(files[-1], title))
    held_out = any(score.held_out for score in table.scores)
    count = max(len(score.reported) for score in table.scores)
    what = "the held-out runs" if held_out else "the best settings"
    text = f"Mean reward per round up to round t, CR(t) / t, of {what}"
    if count > 1:
        text += f": the mean of {count} shuffles, in a band from the lowest to the highest"
    else:
        text += ", on one shuffle"
    text += ". The last point is the CR of the table below divided by the number of rounds."
    missing = [
        f"{scenario}, b = {row[0].budget}"
        for scenario in table.scenarios
        for row in table.only(scenario).rows
        if (scenario, row[0].budget) not in panels
    ]
    left_out = [Prose(f"Not drawn: {'; '.join(missing)}.")] if missing else []
    return files, [Heading("Learning curves", 3), Prose(text), *_in_pairs(pictures), *left_out]


def _in_pairs(blocks: Sequence[Block]) -> list[Block]:
    return [
        Beside((*blocks[i : i + 1],), (*blocks[i + 1 : i + 2],)) for i in range(0, len(blocks), 2)
    ]


def details(table: PaperTable, rows_of: Callable[[Score], Sequence[ResultRow]], title: str) -> Grid:
    """List the settings of every policy with its mean rewards over the shuffles."""
    columns = [("ncr", "NCR", 3), ("cumulative_reward", "CR", 1), ("cr_rand", "CR_rand", 1)]
    columns += [("cr_max", "CR_max", 1), ("mean_length", "length", 1)]
    if any(score.spent is not None for score in table.scores):
        columns.append(("mean_spent", "fees per round", 3))
    lines = []
    for score in (score for name in table.scenarios for score in table.only(name).scores):
        rows, key = rows_of(score), score.key
        settings = [readable(row["settings"]) for row in rows]
        texts = (
            *(key.scenario, str(key.budget), label(key.policy)),
            settings[0] if len(set(settings)) == 1 else " / ".join(settings),
            str(score.tried),
            *(number(mean(rows, name), digits) for name, _, digits in columns),
        )
        lines.append(texts)
    header = ("scenario", "b", "policy", "settings", "of", *(title for _, title, _ in columns))
    return Grid(header, tuple(lines), folded=title, stacked=True)


def _lengths(scores: Scores, folder: Path) -> Drawn:
    reported = {
        key: replace(score, mean_length=fmean(row["mean_length"] for row in score.reported))
        for key, score in scores.items()
    }
    shown = figures.lengths(reported).values()
    values = {round(x, 2) for lines in shown for line in lines.values() for x in line.values()}
    if len(values) == 1:
        [share] = values
        used = "the whole budget" if share == 1.0 else f"{number(share)} of the budget"
        return [], [Prose(f"All policies used {used} everywhere, on average over the rounds.")]
    return figures.figure_of_lengths(reported, folder)
