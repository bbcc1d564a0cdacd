"""``longrank bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from longrank.cli.console import console, names
from longrank.errors import InvalidInput
from longrank.experiments.bench import BENCHMARKS


def bench(
    only: Annotated[str, typer.Option(help=f"Some of {', '.join(BENCHMARKS)}.")] = "",
) -> None:
    """Measure the speed of longrank on this machine; it takes a few minutes.

    Every figure is a ratio of two times taken in turns in one run, so that it can be compared
    between machines, with the times behind it; `benchmarks/` has the comparison with other
    libraries too. The output is a Markdown table.
    """
    chosen = names(only) or list(BENCHMARKS)
    for name in chosen:
        if name not in BENCHMARKS:
            raise InvalidInput("only", f"be among {', '.join(BENCHMARKS)}", repr(name))
    _line("what", "figure", "aim", "", "times: median (min)")
    _line("---", "--:", "--:", "---", "---")
    for name in chosen:
        for row in BENCHMARKS[name]():
            unit = "" if row.unit in ("x", "relative") else f" {row.unit}"
            aim = "" if row.aim is None else f"≤ {row.aim:g}{unit}"
            verdict = "" if row.aim is None else "met" if row.met else "missed"
            _line(row.what, f"{row.value:.3g}{unit}", aim, verdict, row.raw)


def _line(*cells: str) -> None:
    console.print("| " + " | ".join(cells) + " |", markup=False, highlight=False, soft_wrap=True)
