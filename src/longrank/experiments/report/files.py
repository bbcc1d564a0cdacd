"""A table as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from itertools import groupby

from longrank.experiments.report.document import number
from longrank.experiments.tables import Column, Entry, Table

_COLUMNS = (
    *("task", "scenario", "budget", "policy", "ncr", "ncr_published", "paper", "difference"),
    *("best", "held_out_mean", "held_out_deviation", "held_out_seeds", "mean_length"),
    *("cumulative_reward", "cr_rand", "cr_max", "grid", "seeds", "settings"),
)


def to_csv(table: Table) -> str:
    """One line for each field that we have, with all its numbers; empty where there is none."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in table.entries():
        if entry.score is not None:
            writer.writerow(_record(entry))
    return text.getvalue()


def _record(entry: Entry) -> dict[str, object]:
    score = entry.score
    assert score is not None
    held_out = score.held_out
    record = {
        **score.key._asdict(),
        "ncr": score.ncr,
        "ncr_published": score.ncr_published,
        "paper": None if entry.published is None else entry.published.ncr,
        "difference": None if entry.difference is None else round(entry.difference, 6),
        "best": int(entry.best),
        "held_out_mean": None if held_out is None else held_out.mean,
        "held_out_deviation": None if held_out is None else held_out.deviation,
        "held_out_seeds": 0 if held_out is None else held_out.seeds,
        "mean_length": score.mean_length,
        "cumulative_reward": score.cumulative_reward,
        "cr_rand": score.cr_rand,
        "cr_max": score.cr_max,
        "grid": score.grid,
        "seeds": score.seeds,
        "settings": " ".join(score.settings),
    }
    return {name: "" if value != value else value for name, value in record.items()}


def to_latex(table: Table) -> str:
    """A table environment for the package booktabs: our value, and the paper's beside it."""
    groups = [(s, len(list(run))) for s, run in groupby(table.columns, lambda c: c.scenario)]
    titles, rules, column = [], [], 2
    for scenario, span in groups:
        titles.append(rf"\multicolumn{{{span}}}{{c}}{{{_escaped(scenario.capitalize())}}}")
        rules.append(rf"\cmidrule(lr){{{column}-{column + span - 1}}}")
        column += span
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{_escaped(_caption(table))}}}",
        rf"\label{{tab:{_escaped(table.name)}}}",
        rf"\begin{{tabular}}{{r{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["", *titles]) + r" \\",
        " ".join(rules),
        " & ".join([r"$b_t$", *(_name(column) for column in table.columns)]) + r" \\",
        r"\midrule",
        *(" & ".join([str(row[0].budget), *map(_cell, row)]) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _caption(table: Table) -> str:
    return (
        f"{table.title}: normalized cumulative reward of the best setting, ours and, in brackets, "
        "the paper's. A star marks columns that the paper does not have."
    )


def _name(column: Column) -> str:
    return column.label + ("$^*$" if column.ours_only else "")


def _cell(entry: Entry) -> str:
    ours = _number(None if entry.score is None else entry.score.ncr_published)
    ours = rf"\textbf{{{ours}}}" if entry.best else ours
    if entry.published is None:
        return ours
    return rf"{ours} {{\scriptsize ({_number(entry.published.ncr)})}}"


def _number(value: float | None) -> str:
    return number(value).replace("\N{MINUS SIGN}", "$-$").replace("\N{EN DASH}", "--")


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
