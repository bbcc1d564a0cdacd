"""The inner loops: plain Python, compiled in the background by numba.

See :mod:`longrank.kernels.compilation`. Kernels take and fill plain arrays. They do not validate:
their callers do. Interpreted or compiled, they give the same bits. Whatever a learner's state
depends on uses additions, multiplications, divisions and square roots in a fixed order, so that
the state is the same bit for bit on every machine.

Parts of other packages make kernels of their own with ``compiled``.
"""

from longrank.kernels.compilation import compiled as compiled
from longrank.kernels.decision import decide, decide_blocks, decide_plain
from longrank.kernels.drawing import LEAST, next_chances
from longrank.kernels.hash_table import grow, room_for
from longrank.kernels.laplace import laplace_cascade
from longrank.kernels.length import best_length, best_stop, probe_is_due, sequence_values
from longrank.kernels.likelihood import fit_likelihood, grow_and_fit
from longrank.kernels.link import densities, probabilities, probability
from longrank.kernels.looks import CONTENDERS, Optimism, count_contenders, strongest_looking, widen
from longrank.kernels.narrowing import narrow_bounds
from longrank.kernels.numbers import code_rows, observe_numbers
from longrank.kernels.planning import plan
from longrank.kernels.ranking import (
    coverage_along,
    greedy_coverage,
    greedy_plain,
    score_rows,
    top,
    worst_row,
)
from longrank.kernels.screening import (
    outline_plain,
    outline_tabular,
    scan,
    screen_looking,
)
from longrank.kernels.sparse import (
    contributions,
    cross_keys,
    learn_blocks,
    score_sparse,
    speak_dense,
)
from longrank.kernels.tabular import (
    BEND,
    KNOTS,
    LEVEL,
    MISSING,
    PRODUCT,
    Curves,
    Shapes,
    View,
    expand_columns,
    expand_rows,
    guide,
    normal_scores,
)
from longrank.kernels.update import learn_costs, observe_cascade
