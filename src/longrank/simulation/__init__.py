"""Simulation: worlds with a known truth, the loop, and metrics."""

from longrank.simulation.checkout import CheckoutRound, CheckoutWorld
from longrank.simulation.life import Life, live
from longrank.simulation.loop import Run, simulate
from longrank.simulation.metrics import (
    average_reward,
    cumulative_reward,
    ncr,
    ncr_published,
    pseudo_regret,
    scaled_regret,
)
from longrank.simulation.stream import RecordStream, Stream, small_world
from longrank.simulation.worlds import (
    CoverageWorld,
    LogisticWorld,
    PaymentWorld,
    Round,
    TableWorld,
    World,
)

__all__ = [
    "CheckoutRound",
    "CheckoutWorld",
    "CoverageWorld",
    "Life",
    "LogisticWorld",
    "PaymentWorld",
    "RecordStream",
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
