"""longrank learns in what order to try things, and when to stop."""

from longrank import theory
from longrank.checks import unit_rows
from longrank.decision import Outcome, Ranking
from longrank.errors import BadFile, BadPlugin, InvalidInput, LongrankError, MissingExtra
from longrank.features import Coverage, Features, Mixture, Plain, Records
from longrank.learners import (
    Blocks,
    Laplace,
    Learner,
    MaximumLikelihood,
    OnlineNewton,
    Ridge,
)
from longrank.links import LOGISTIC, PROBIT, Link
from longrank.payoffs import Payoffs, PlannedSequence
from longrank.policies import (
    LCB,
    UCB,
    EpsilonGreedy,
    Oracle,
    PlackettLuce,
    Policy,
    Random,
    Thompson,
    cautious,
    load,
    named,
    recommended,
)
from longrank.schema import Category, Embedding, Number, Schema, Tags, Text

__version__ = "0.6.0.dev0"

__all__ = [
    "LCB",
    "LOGISTIC",
    "PROBIT",
    "UCB",
    "BadFile",
    "BadPlugin",
    "Blocks",
    "Category",
    "Coverage",
    "Embedding",
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
    "Number",
    "OnlineNewton",
    "Oracle",
    "Outcome",
    "Payoffs",
    "PlackettLuce",
    "Plain",
    "PlannedSequence",
    "Policy",
    "Random",
    "Ranking",
    "Records",
    "Ridge",
    "Schema",
    "Tags",
    "Text",
    "Thompson",
    "cautious",
    "load",
    "named",
    "recommended",
    "theory",
    "unit_rows",
]
