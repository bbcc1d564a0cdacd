"""Benchmarks that need no other library."""

from collections.abc import Callable

from longrank.experiments.bench.measure import Measure, Times, alternate, ratio
from longrank.experiments.bench.ranking import measure_default, measure_dependent, measure_many
from longrank.experiments.bench.rounds import (
    measure_likelihood,
    measure_long,
    measure_round,
    measure_start,
)

BENCHMARKS: dict[str, Callable[[], list[Measure]]] = {
    "round": measure_round,
    "default": measure_default,
    "many": measure_many,
    "dependent": measure_dependent,
    "long": measure_long,
    "likelihood": measure_likelihood,
    "start": measure_start,
}

__all__ = ["BENCHMARKS", "Measure", "Times", "alternate", "ratio"]
