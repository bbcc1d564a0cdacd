"""Simulation: worlds whose truth is known, the loop, and what to measure."""

from longrank.simulation.metrics import (
    average_reward,
    cumulative_reward,
    ncr,
    ncr_published,
    pseudo_regret,
    scaled_regret,
)
from longrank.simulation.payments import PaymentWorld
from longrank.simulation.simulate import Run, simulate
from longrank.simulation.stream import Life, Stream, live
from longrank.simulation.worlds import CoverageWorld, LogisticWorld, Round, TableWorld, World

__all__ = [
    "CoverageWorld",
    "Life",
    "LogisticWorld",
    "PaymentWorld",
    "Round",
    "Run",
    "Stream",
    "TableWorld",
    "World",
    "average_reward",
    "cumulative_reward",
    "live",
    "ncr",
    "ncr_published",
    "pseudo_regret",
    "scaled_regret",
    "simulate",
]
