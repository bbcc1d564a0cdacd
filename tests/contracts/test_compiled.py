"""Interpreted, compiled, or switched in the middle: every policy ranks and learns the same bits."""

import numpy as np
import pytest

from longrank.kernels.behind import behind
from longrank.kernels.compilation import using
from longrank.policies import Randomised, registry
from longrank.testing import DIM, MAX_BUDGET, RecordRounds, Rounds

pytestmark = pytest.mark.compiled

ROUNDS = 200
OFFERED = {"dim": DIM, "max_budget": MAX_BUDGET, "rng": 3}
SETTINGS = {
    "dep": {"topics": np.eye(DIM), "exploration": 0.5},
    "oracle": {"weights": [3.0, 1.0, -2.0, 0.5]},
}
RECORDS = ("recommended", "thompson", "plackett-luce", "cautious", "rand")


def make(name: str, rounds: type[Rounds]):
    offered = OFFERED if rounds is Rounds else OFFERED | {"dim": None}
    return registry.make(name, offered, SETTINGS.get(name, {}))


def play(policy, rounds: type[Rounds], numbers: range) -> list[bytes]:
    """Rank and learn, with prices in every other round; the receipts, and the chances."""
    receipts = []
    for t in numbers:
        dealt = rounds.deal_priced(t) if t % 2 else rounds.deal(t)
        ranking = policy.rank(*dealt, **rounds.given(t))
        if isinstance(policy, Randomised):
            chances = policy.choices(*dealt[:2], ranking.order, *dealt[2:], **rounds.given(t))
            receipts.append(chances.tobytes())
        policy.learn(ranking, rounds.happen(t, ranking))
        receipts.append(ranking.to_bytes())
    return receipts


@pytest.mark.parametrize(
    ("name", "rounds"),
    [*((name, Rounds) for name in registry.names()), *((name, RecordRounds) for name in RECORDS)],
)
def test_interpreted_compiled_and_switched_are_equal_bit_for_bit(name, rounds):
    states, receipts = [], []
    for first, second in (("plain", "plain"), ("compiled", "compiled"), ("plain", "compiled")):
        policy = make(name, rounds)
        with using(first):
            played = play(policy, rounds, range(ROUNDS // 2))
        with using(second):
            played += play(policy, rounds, range(ROUNDS // 2, ROUNDS))
        states.append(policy.to_bytes())
        receipts.append(played)
    assert not behind.failed  # all was compiled
    assert receipts[0] == receipts[1] == receipts[2]
    assert states[0] == states[1] == states[2]
