"""Simulation: worlds with a known truth, the loop, and metrics."""

from longrank.simulation.checkout import CheckoutRound, CheckoutWorld
from longrank.simulation.loop import Run, simulate
from longrank.simulation.metrics import (
    average_reward,
    cumulative_reward,
    ncr,
    ncr_published,
    pseudo_regret,
    scaled_regret,
)
from longrank.simulation.stream import Stream, StreamRun, run_stream
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
    "LogisticWorld",
    "PaymentWorld",
    "Round",
    "Run",
    "Stream",
    "StreamRun",
    "TableWorld",
    "World",
    "average_reward",
    "cumulative_reward",
    "ncr",
    "ncr_published",
    "pseudo_regret",
    "run_stream",
    "scaled_regret",
    "simulate",
]
