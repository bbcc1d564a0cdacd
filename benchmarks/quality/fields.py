"""Worlds with named fields: those of ``benchmarks/records``, with the rivals that take records.

Their settings were tuned for each world, on another seed (``benchmarks/records/rivals.json``).
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "records"))

import play
from worlds import SETTINGS

from longrank import Outcome, Payoffs
from longrank.simulation import Round

ROUNDS = 3_000
WORLDS = tuple(world for world in SETTINGS if world != "fees")  # the rivals know no prices
RIVALS = ("Vowpal Wabbit", "river")


class Counted(play.Player):
    """A player, and how often it gave up."""

    def __init__(self, player: play.Player) -> None:
        self.player, self.given_up = player, 0

    def rank(self, dealt: Round, payoffs: Payoffs) -> np.ndarray:
        order = self.player.rank(dealt, payoffs)
        self.given_up += not len(order)
        return order

    def learn(self, outcome: Outcome) -> None:
        self.player.learn(outcome)


def budget(world: str) -> int:
    return SETTINGS[world].payoffs.budget


def compete(name: str, world: str, seed: int) -> tuple[float, float]:
    """Return the share of the benchmark's reward, and in what share of rounds it gave up."""
    player = Counted(made(name, world, seed))
    whole = replace(SETTINGS[world], whole=True)
    score = play.compete({name: player}, whole, seed, rounds=ROUNDS)[name]
    return score.share, player.given_up / ROUNDS


def made(name: str, world: str, seed: int) -> play.Player:
    if name not in RIVALS:
        return play.policy(name)
    import rivals

    chosen = json.loads(rivals.CHOSEN.read_text())[world][name]
    return rivals.RIVALS[name](**chosen, seed=seed)
