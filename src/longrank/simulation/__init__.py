"""Simulation: worlds whose truth is known, the loop, and what to measure."""

from longrank.simulation.loop import Run, simulate
from longrank.simulation.metrics import (
    average_reward,
    cumulative_reward,
    ncr,
    ncr_published,
    pseudo_regret,
    scaled_regret,
)
from longrank.simulation.stream import Life, Stream, live, small_world
from longrank.simulation.worlds import (
    CoverageWorld,
    LogisticWorld,
    PaymentWorld,
    Round,
    TableWorld,
    World,
)

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
    "small_world",
]
