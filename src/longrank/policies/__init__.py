"""Policies: what to try, in which order, and when to stop."""

from __future__ import annotations

from longrank.policies.base import Policy
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.files import from_bytes, load
from longrank.policies.named import NAMES, named
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.randomised import Randomised
from longrank.policies.recommended import recommended
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB

__all__ = [
    "NAMES",
    "UCB",
    "EpsilonGreedy",
    "Oracle",
    "PlackettLuce",
    "Policy",
    "Random",
    "Randomised",
    "Thompson",
    "from_bytes",
    "load",
    "named",
    "recommended",
]
