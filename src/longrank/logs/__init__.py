"""Logs: learn from history, and evaluate a policy before it goes live.

Every function that reads a log takes a file, a frame (pandas, polars, pyarrow), a list of
dictionaries or a :class:`History`.

>>> from longrank import recommended
>>> from longrank.logs import learn_from
>>> rows = [{"id": 1, "items": [[0.5], [0.1]], "order": [1, 0], "tried": 2, "succeeded": True}]
>>> learn_from(recommended(dim=1), rows)
1
"""

from longrank.logs.abilities import Ability, Checked, check
from longrank.logs.columns import COLUMNS
from longrank.logs.decision import Decision
from longrank.logs.evaluation.comparison import evaluate, gate
from longrank.logs.evaluation.estimators import ESTIMATORS, Estimate
from longrank.logs.evaluation.judging import GateDecision
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.report import report
from longrank.logs.evaluation.verdict import Difference, Evaluation, Verdict
from longrank.logs.history import History, learn_from
from longrank.logs.recording import record, write
from longrank.logs.violations import BadLog, Violation

__all__ = [
    "COLUMNS",
    "ESTIMATORS",
    "Ability",
    "BadLog",
    "Checked",
    "Decision",
    "Difference",
    "Estimate",
    "Evaluation",
    "GateDecision",
    "History",
    "OutcomeModel",
    "Verdict",
    "Violation",
    "calibration",
    "check",
    "evaluate",
    "fit",
    "gate",
    "learn_from",
    "record",
    "report",
    "write",
]
