"""The compiled inner loops; nothing else in longrank is compiled.

They take and fill plain arrays and check nothing: the callers do. Each runs as plain Python
too (``NUMBA_DISABLE_JIT=1``). What a learner's state depends on is written with additions,
multiplications, divisions and square roots in a fixed order, so that the state is the same bit
for bit on every machine.
"""

from longrank.kernels.curve import densities, probabilities, probability, residual, slope
from longrank.kernels.decision import decide, decide_plain
from longrank.kernels.expand import expand
from longrank.kernels.foresight import greedy_foreseeing
from longrank.kernels.laplace import laplace_cascade
from longrank.kernels.length import (
    best_length,
    best_stop,
    enough_to_go_on,
    probe_is_due,
    sequence_values,
    values_ahead,
)
from longrank.kernels.likelihood import fit_likelihood, grow_and_fit
from longrank.kernels.live import live
from longrank.kernels.ranking import (
    coverage_along,
    greedy_coverage,
    greedy_plain,
    score_rows,
    worst_row,
)
from longrank.kernels.scan import scan
from longrank.kernels.update import observe_cascade, observe_row

__all__ = [
    "best_length",
    "best_stop",
    "coverage_along",
    "decide",
    "decide_plain",
    "densities",
    "enough_to_go_on",
    "expand",
    "fit_likelihood",
    "greedy_coverage",
    "greedy_foreseeing",
    "greedy_plain",
    "grow_and_fit",
    "laplace_cascade",
    "live",
    "observe_cascade",
    "observe_row",
    "probabilities",
    "probability",
    "probe_is_due",
    "residual",
    "scan",
    "score_rows",
    "sequence_values",
    "slope",
    "values_ahead",
    "worst_row",
]
