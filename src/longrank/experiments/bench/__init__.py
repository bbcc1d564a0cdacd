"""Benchmarks that need no other library."""

from collections.abc import Callable

from longrank.experiments.bench.learning import measure_likelihood, measure_long
from longrank.experiments.bench.measure import Row, Times, alternate, ratio
from longrank.experiments.bench.ranking import measure_dependent, measure_many
from longrank.experiments.bench.rounds import measure_round, measure_simulated, measure_start

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "round": measure_round,
    "simulated": measure_simulated,
    "many": measure_many,
    "dependent": measure_dependent,
    "long": measure_long,
    "likelihood": measure_likelihood,
    "start": measure_start,
}

__all__ = ["BENCHMARKS", "Row", "Times", "alternate", "ratio"]
