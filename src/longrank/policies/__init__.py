"""Policies: what to try, in which order, and when to stop."""

from longrank.policies.base import Policy
from longrank.policies.default import cautious, recommended
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.files import from_bytes, load
from longrank.policies.lcb import LCB
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.randomised import Randomised
from longrank.policies.registry import Recipe, named
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB

__all__ = [
    "LCB",
    "UCB",
    "EpsilonGreedy",
    "Oracle",
    "PlackettLuce",
    "Policy",
    "Random",
    "Randomised",
    "Recipe",
    "Thompson",
    "cautious",
    "from_bytes",
    "load",
    "named",
    "recommended",
]
