"""longrank learns in what order to try things, and when to stop."""

from longrank import theory
from longrank.cascade import Outcome, Ranking
from longrank.checks import unit_rows
from longrank.errors import BadFile, BadPlugin, InvalidInput, LongrankError, MissingExtra
from longrank.features import Coverage, Features, Mixture, Plain, Polynomial
from longrank.learners import Laplace, Learner, MaximumLikelihood, OnlineNewton, Ridge
from longrank.links import LOGISTIC, PROBIT, Link
from longrank.payoffs import Payoffs
from longrank.policies import (
    UCB,
    EpsilonGreedy,
    Oracle,
    PlackettLuce,
    Policy,
    Random,
    Thompson,
    load,
    named,
    recommended,
)

__version__ = "0.2.0"

__all__ = [
    "LOGISTIC",
    "PROBIT",
    "UCB",
    "BadFile",
    "BadPlugin",
    "Coverage",
    "EpsilonGreedy",
    "Features",
    "InvalidInput",
    "Laplace",
    "Learner",
    "Link",
    "LongrankError",
    "MaximumLikelihood",
    "MissingExtra",
    "Mixture",
    "OnlineNewton",
    "Oracle",
    "Outcome",
    "Payoffs",
    "PlackettLuce",
    "Plain",
    "Policy",
    "Polynomial",
    "Random",
    "Ranking",
    "Ridge",
    "Thompson",
    "load",
    "named",
    "recommended",
    "theory",
    "unit_rows",
]
