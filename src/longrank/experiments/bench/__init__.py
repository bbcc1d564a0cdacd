"""The benchmarks that need no other library: each module measures one thing."""

from collections.abc import Callable

from longrank.experiments.bench import (
    dependent,
    likelihood,
    long,
    many,
    rounds,
    simulated,
    start,
)
from longrank.experiments.bench.measure import Row, Times, alternate, ratio

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "round": rounds.figures,
    "simulated": simulated.figures,
    "many": many.figures,
    "dependent": dependent.figures,
    "long": long.figures,
    "likelihood": likelihood.figures,
    "start": start.figures,
}

__all__ = ["BENCHMARKS", "Row", "Times", "alternate", "ratio"]
