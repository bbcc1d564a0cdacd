"""Logs: learn from history, and evaluate a policy before it goes live.

Every function that reads a log takes a file, a frame (pandas, polars, pyarrow), a list of
dictionaries or a :class:`History`.

>>> from longrank import recommended
>>> from longrank.logs import learn_from
>>> rows = [{"id": 1, "items": [[0.5], [0.1]], "order": [1, 0], "tried": 2, "succeeded": True}]
>>> learn_from(recommended(dim=1), rows)
1
"""

from __future__ import annotations

import warnings

from longrank.logs.abilities import Ability, Checked, check
from longrank.logs.columns import COLUMNS
from longrank.logs.decision import Decision
from longrank.logs.evaluation.comparison import evaluate
from longrank.logs.evaluation.estimators import ESTIMATORS, Estimate
from longrank.logs.evaluation.outcome_model import OutcomeModel, calibration, fit
from longrank.logs.evaluation.report import report
from longrank.logs.history import History, learn_from
from longrank.logs.problems import BadLog, Problem
from longrank.logs.writer import record, write

__all__ = [
    "COLUMNS",
    "ESTIMATORS",
    "Ability",
    "BadLog",
    "Checked",
    "Decision",
    "Estimate",
    "History",
    "OutcomeModel",
    "Problem",
    "calibration",
    "check",
    "evaluate",
    "fit",
    "learn_from",
    "record",
    "report",
    "write",
]


def __getattr__(name: str) -> object:
    if name == "Model":
        message = "longrank.logs.Model is now called longrank.logs.OutcomeModel"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return OutcomeModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
