"""The engine against a dictionary: duplicates, reordering, late, unknown, expiry, restart."""

import math
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from serving import DIM, Clock, asked, told

from longrank import Outcome, Payoffs, Ranking, named
from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.errors import Conflict, Unknown
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep

NAMES = st.sampled_from([f"d{i}" for i in range(6)])
TTL = 10.0
PRICES = {"costs": [0.1, 0.2, 0.0, 0.05, 0.3], "values": [0.0, 0.7, -0.3, 0.0, 1.1]}


class Machine(RuleBasedStateMachine):
    """What the engine does, a dictionary and a policy do as well."""

    def __init__(self) -> None:
        super().__init__()
        where = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="longrank-", dir=where))
        self.clock = Clock()
        self.policy = named("ind", dim=DIM, max_budget=5)
        self.decisions: dict[str, dict] = {}
        self.learned = 0
        self.earned: list[float] = []
        self.spent: list[float] = []
        self.open()
        request = messages.ModelRequest(dim=DIM, policy="ind", max_budget=5, ttl=TTL)
        self.engine.create("m", request)

    def open(self) -> None:
        store = SqliteStore(self.folder / "decisions.db")
        self.engine = Engine(store, clock=self.clock, snapshot_every=2).start()

    def teardown(self) -> None:
        self.engine.close()
        shutil.rmtree(self.folder)

    @rule(name=NAMES, seed=st.integers(0, 2))
    def decide(self, name: str, seed: int) -> None:
        prices = PRICES if seed else {}
        request = asked(name, seed=seed, **prices)
        known = self.decisions.get(name)
        if known is not None and known["seed"] != seed:
            try:
                self.engine.decide("m", request)
                raise AssertionError("another body must be a conflict")
            except Conflict:
                return
        answer = self.engine.decide("m", request)
        if known is not None:
            assert answer == known["answer"]
            return
        payoffs = Payoffs(request.rewards, request.losses, **prices)
        ranking = self.policy.rank(np.array(request.features), payoffs)
        assert [choice.id for choice in answer.sequence] == [f"c{i}" for i in ranking.order]
        self.decisions[name] = {
            "seed": seed,
            "answer": answer,
            "payoffs": payoffs,
            "ranking": Ranking.from_bytes(ranking.to_bytes()),
            "expires": self.clock.now + TTL,
            "outcome": None,
        }

    @rule(
        name=NAMES,
        tried=st.integers(0, 4),
        succeeded=st.booleans(),
        attributable=st.booleans(),
        cost=st.sampled_from([None, 0.1, 0.7]),
    )
    def settle(self, name: str, tried: int, succeeded: bool, attributable: bool, cost) -> None:
        costs = None if cost is None else [cost] * tried
        outcome = (tried, succeeded, attributable, costs)
        known = self.decisions.get(name)
        try:
            answer = self.engine.settle(
                "m", name, told(tried, succeeded, attributable=attributable, costs=costs)
            )
        except Unknown:
            assert known is None
            return
        except InvalidInput:
            assert tried > len(known["ranking"]) or (succeeded and tried == 0)
            return
        except Conflict:
            assert known["outcome"] not in (None, outcome)
            return
        assert known is not None
        assert known["outcome"] in (None, outcome)
        assert answer.repeated == (known["outcome"] is not None)
        if known["outcome"] is None:
            known["outcome"] = outcome
            earned = known["ranking"].reward(known["payoffs"], Outcome(tried, succeeded, costs))
            assert answer.reward == pytest.approx(earned, rel=1e-14, abs=1e-15)
            self.earned.append(answer.reward)
            self.spent.append(answer.spent)
            late = self.clock.now >= known["expires"]
            learn = not late and tried > 0 and (attributable or succeeded)
            assert answer.learned == learn
            self.learned += learn
            if learn and attributable:
                self.policy.learn(known["ranking"], Outcome(tried, succeeded, costs))
            elif learn:  # only the success says something
                last = Outcome(1, True, costs and costs[-1:])
                self.policy.learn(known["ranking"].subset([tried - 1]), last)

    @rule(seconds=st.sampled_from([0.5, 5.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def upkeep(self) -> None:
        Upkeep(self.engine).keep()

    @precondition(lambda self: self.decisions)
    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        if not clean:
            self.engine.ready = False  # as after a crash: no snapshot at the end
        self.engine.close()
        self.open()

    @invariant()
    def they_agree(self) -> None:
        model = self.engine.model("m")
        assert model.policy.to_bytes() == self.policy.to_bytes()
        assert model.version == self.learned
        self.engine._counted.clear()  # a count that was slow is not repeated at once
        stats = self.engine.describe(model).stats
        settled = sum(one["outcome"] is not None for one in self.decisions.values())
        pending = sum(
            one["outcome"] is None and one["expires"] > self.clock.now
            for one in self.decisions.values()
        )
        assert (stats.decisions, stats.outcomes) == (len(self.decisions), settled)
        assert stats.pending == pending
        sums = math.fsum(self.earned), math.fsum(self.spent)
        assert (stats.total_reward, stats.total_spent) == sums
        assert stats.expired == len(self.decisions) - settled - pending
        shown = {one.id for one in self.engine.latest("m").decisions}
        assert shown == set(self.decisions)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
