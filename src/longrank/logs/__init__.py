"""Logs: learn from history, and judge a policy before it goes live.

>>> from longrank import UCB, OnlineNewton
>>> from longrank.logs import History
>>> history = History([{"id": 1, "items": [[0.5], [0.1]], "order": [1, 0],
...                     "tried": 2, "succeeded": True}])
>>> UCB(OnlineNewton(dim=1, max_budget=2), exploration=0.1).learn_from(history)
1
"""

from longrank.logs.check import Ability, Checked, check
from longrank.logs.columns import COLUMNS
from longrank.logs.decision import Decision
from longrank.logs.evaluate import ESTIMATORS, evaluate
from longrank.logs.history import History
from longrank.logs.model import Model, calibration, fit
from longrank.logs.problems import BadLog, Problem
from longrank.logs.report import report
from longrank.logs.value import Estimate
from longrank.logs.warm import learn_from
from longrank.logs.write import record, write

__all__ = [
    "COLUMNS",
    "ESTIMATORS",
    "Ability",
    "BadLog",
    "Checked",
    "Decision",
    "Estimate",
    "History",
    "Model",
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
