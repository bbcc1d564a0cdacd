"""The compiled inner loops; nothing else in longrank is compiled.

Kernels take and fill plain arrays. They do not validate: their callers do. Each also runs as plain
Python (``NUMBA_DISABLE_JIT=1``). Whatever a learner's state depends on uses additions,
multiplications, divisions and square roots in a fixed order, so that the state is the same bit for
bit on every machine.

Parts from outside of the package write their own with ``compiled`` (and ``generic`` for a rule),
and return them as :class:`Rule`, :class:`Selection` or :class:`Step`; for records as
:class:`RecordRule`, :class:`RecordSelection` or :class:`RecordStep`.
"""

from longrank.kernels.compilation import compiled, generic
from longrank.kernels.composition import (
    RecordRule,
    RecordSelection,
    RecordStep,
    Rule,
    Selection,
    Step,
    compose_record_run,
    compose_run,
    declared,
    learn_nothing,
    rows_along,
)
from longrank.kernels.costs import learn_costs
from longrank.kernels.decision import decide, decide_looking, decide_plain, decide_sparse
from longrank.kernels.drawing import LEAST, action_chances, break_even, draw_actions
from longrank.kernels.foresight import foresee, greedy_foreseeing
from longrank.kernels.hash_table import grow, room_for
from longrank.kernels.laplace import laplace_cascade, laplace_step
from longrank.kernels.length import (
    best_length,
    best_stop,
    enough_to_go_on,
    patience_of,
    probe_is_due,
    sequence_values,
    values_ahead,
)
from longrank.kernels.likelihood import fit_likelihood, grow_and_fit, likelihood_step
from longrank.kernels.link import densities, probabilities, probability, residual, slope
from longrank.kernels.logs import (
    Aims,
    Expected,
    Findings,
    Logged,
    Worth,
    fit_in_turn,
    values_of_sequence,
    weigh_decisions,
)
from longrank.kernels.looks import (
    CONTENDERS,
    Optimism,
    Pool,
    count_contenders,
    screen_looking,
    screen_roughly,
    strongest_looking,
    widen,
)
from longrank.kernels.narrowing import narrow_bounds
from longrank.kernels.numbers import Coding, code_rows, observe_numbers
from longrank.kernels.outline import outline_plain, outline_tabular
from longrank.kernels.planning import plan
from longrank.kernels.polynomial import expand
from longrank.kernels.ranking import (
    coverage_along,
    greedy_coverage,
    greedy_plain,
    score_rows,
    top,
    worst_row,
)
from longrank.kernels.rules import (
    foreseeing_rule,
    looking_rule,
    mixed_rule,
    optimistic_rule,
    random_rule,
)
from longrank.kernels.screening import scan
from longrank.kernels.sketches import sketch
from longrank.kernels.sparse import (
    State,
    choose_sparse,
    contributions,
    cross_keys,
    cross_rows,
    greedy_sparse,
    learn_growing,
    learn_sparse,
    score_sparse,
)
from longrank.kernels.tabular import (
    BEND,
    KNOTS,
    LEVEL,
    PRODUCT,
    Curves,
    Shapes,
    View,
    expand_columns,
    expand_rows,
    guide,
    normal_scores,
)
from longrank.kernels.update import newton_step, observe_cascade, observe_row

__all__ = [
    "BEND",
    "CONTENDERS",
    "KNOTS",
    "LEAST",
    "LEVEL",
    "PRODUCT",
    "Aims",
    "Coding",
    "Curves",
    "Expected",
    "Findings",
    "Logged",
    "Optimism",
    "Pool",
    "RecordRule",
    "RecordSelection",
    "RecordStep",
    "Rule",
    "Selection",
    "Shapes",
    "State",
    "Step",
    "View",
    "Worth",
    "action_chances",
    "best_length",
    "best_stop",
    "break_even",
    "choose_sparse",
    "code_rows",
    "compiled",
    "compose_record_run",
    "compose_run",
    "contributions",
    "count_contenders",
    "coverage_along",
    "cross_keys",
    "cross_rows",
    "decide",
    "decide_looking",
    "decide_plain",
    "decide_sparse",
    "declared",
    "densities",
    "draw_actions",
    "enough_to_go_on",
    "expand",
    "expand_columns",
    "expand_rows",
    "fit_in_turn",
    "fit_likelihood",
    "foresee",
    "foreseeing_rule",
    "generic",
    "greedy_coverage",
    "greedy_foreseeing",
    "greedy_plain",
    "greedy_sparse",
    "grow",
    "grow_and_fit",
    "guide",
    "laplace_cascade",
    "laplace_step",
    "learn_costs",
    "learn_growing",
    "learn_nothing",
    "learn_sparse",
    "likelihood_step",
    "looking_rule",
    "mixed_rule",
    "narrow_bounds",
    "newton_step",
    "normal_scores",
    "observe_cascade",
    "observe_numbers",
    "observe_row",
    "optimistic_rule",
    "outline_plain",
    "outline_tabular",
    "patience_of",
    "plan",
    "probabilities",
    "probability",
    "probe_is_due",
    "random_rule",
    "residual",
    "room_for",
    "rows_along",
    "scan",
    "score_rows",
    "score_sparse",
    "screen_looking",
    "screen_roughly",
    "sequence_values",
    "sketch",
    "slope",
    "strongest_looking",
    "top",
    "values_ahead",
    "values_of_sequence",
    "weigh_decisions",
    "widen",
    "worst_row",
]
