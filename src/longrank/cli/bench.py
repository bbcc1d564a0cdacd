"""``longrank bench``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.terminal import console, names, say
from longrank.errors import InvalidInput
from longrank.kernels import compilation

if TYPE_CHECKING:
    from longrank.experiments.measure import Measure

NAMES = ("round", "default", "many")


def bench(
    only: Annotated[
        str, typer.Option(help=f"Benchmarks to run, separated by commas: {', '.join(NAMES)}.")
    ] = "",
) -> None:
    """Measure how fast longrank is on this machine, in a few minutes.

    Prints a Markdown table. Each figure is a ratio of two times measured alternately in the same
    run, so you can compare it between machines; the times themselves stand beside it. The
    repository's `benchmarks/` folder compares longrank with other libraries.

    Example: `longrank bench --only round,many`
    """
    chosen = names(only) or list(NAMES)
    for name in chosen:
        if name not in NAMES:
            raise InvalidInput("only", f"be among {', '.join(NAMES)}", repr(name))
    from longrank.experiments.bench import BENCHMARKS

    show(BENCHMARKS, chosen)


def show(benchmarks: Mapping[str, Callable[[], list[Measure]]], chosen: Sequence[str]) -> None:
    """Run benchmarks and print a Markdown table of what they measure."""
    _line("what", "figure", "aim", "", "times: median (min)")
    _line("---", "--:", "--:", "---", "---")
    for name in chosen:
        compiled = "compiled" if compilation.mode() == "auto" else compilation.mode()
        with console.status(f"measuring: {name}"), compilation.using(compiled):
            rows = benchmarks[name]()
        for row in rows:
            unit = "" if row.unit in ("x", "relative") else f" {row.unit}"
            aim = "" if row.aim is None else f"≤ {row.aim:g}{unit}"
            verdict = "" if row.aim is None else "met" if row.met else "missed"
            _line(row.what, f"{row.value:.3g}{unit}", aim, verdict, row.raw)


def _line(*cells: str) -> None:
    say("| " + " | ".join(cells) + " |")
