"""The compiled run and the objects are one algorithm: the same run, to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from longrank import (
    UCB,
    Coverage,
    InvalidInput,
    Laplace,
    Oracle,
    Payoffs,
    Policy,
    Ridge,
    named,
    recommended,
    unit_rows,
)
from longrank.simulation import Stream, TableWorld, live, simulate

DIM, BUDGET = 4, 6
TOPICS = np.abs(np.random.default_rng(5).normal(size=(DIM, 3))) / 4
NEWTON = {"dim": DIM, "max_budget": BUDGET, "rate": 5.0, "radius": 3.0}
POLICIES: dict[str, Callable[[], Policy]] = {
    "ind": lambda: named("ind", **NEWTON),
    "ind-theory": lambda: named("ind", dim=DIM, max_budget=BUDGET, exploration=50.0),
    "ind-probit": lambda: named("ind", link="probit", **NEWTON),
    "dep": lambda: named("dep", topics=TOPICS, **(NEWTON | {"dim": 3})),
    "eps": lambda: named("eps", epsilon=0.3, rng=7, **NEWTON),
    "c-ucb1": lambda: named("c-ucb1", dim=DIM),
    "c-ucb1-coverage": lambda: UCB(Ridge(3), features=Coverage(TOPICS), exploration=0.5),
    "gl-cdcm": lambda: named("gl-cdcm", dim=DIM, penalty=0.1),
    "gl-cdcm-probit": lambda: named("gl-cdcm", dim=DIM, link="probit"),
    "rand": lambda: named("rand", rng=3),
    "recommended": lambda: recommended(dim=DIM),
    "recommended-forgetting": lambda: recommended(dim=DIM, forgetting=0.01),
    "laplace-coverage": lambda: UCB(Laplace(3), features=Coverage(TOPICS), exploration=0.5),
}
PAYOFFS = {
    "vanilla": Payoffs.vanilla(BUDGET),
    "exponential": Payoffs.exponential(BUDGET),
    "linear": Payoffs.linear(BUDGET, attempt_cost=0.15, give_up=-0.05),
}


def world(passes: int = 2) -> TableWorld:
    rng = np.random.default_rng(1)
    items = np.abs(unit_rows(rng.normal(size=(230, DIM))))
    chances = 1.0 / (1.0 + np.exp(3.0 - 4.0 * items[:, 0] + 2.0 * items[:, 1]))
    return TableWorld(items, chances, size=20, seed=2, passes=passes)


@pytest.mark.parametrize("payoffs", PAYOFFS.values(), ids=PAYOFFS)
@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_compiled_and_object_runs_are_equal_bit_for_bit(
    make: Callable[[], Policy], payoffs: Payoffs
) -> None:
    policy = make()
    stream = Stream.of(world())
    if hasattr(policy, "features"):
        stream = stream.seen_through(policy.features)
    run = simulate(make(), world(), payoffs)
    life = live(policy, stream, payoffs)
    assert life.rewards.tobytes() == run.rewards.tobytes()
    assert life.lengths.tobytes() == run.lengths.tobytes()
    assert life.tried.tobytes() == run.tried.tobytes()
    assert stream.hindsight(payoffs).tobytes() == run.hindsight.tobytes()


@pytest.mark.parametrize("name", ["ind", "dep", "recommended"])
def test_an_order_that_is_made_only_as_far_as_needed_changes_nothing(name: str) -> None:
    long = Payoffs.vanilla(20)
    wide = {"dim": 3 if name == "dep" else DIM, "max_budget": 20}
    policy = named(name, **(wide | ({"topics": TOPICS} if name == "dep" else {})))
    again = named(name, **(wide | ({"topics": TOPICS} if name == "dep" else {})))
    rare = world(1)
    rare.chances = rare.chances / 20.0
    run = simulate(again, rare, long)
    life = live(policy, Stream.of(rare).seen_through(policy.features), long)
    assert (life.tried > 8).any()
    assert life.rewards.tobytes() == run.rewards.tobytes()
    assert life.lengths.tobytes() == run.lengths.tobytes()
    assert life.tried.tobytes() == run.tried.tobytes()


def test_a_stream_holds_the_rounds_of_its_world_the_last_one_shorter() -> None:
    made, stream = world(), Stream.of(world())
    assert stream.rounds == made.rounds == 24
    for t in range(made.rounds):
        dealt = made.deal(t)
        part = slice(stream.starts[t], stream.starts[t + 1])
        assert np.array_equal(stream.items[part], dealt.items)
        assert len(dealt.items) == (10 if t % 12 == 11 else 20)


def test_what_is_not_compiled_is_refused() -> None:
    stream = Stream.of(world())
    with pytest.raises(InvalidInput, match="policy must be of a kind that is compiled"):
        live(Oracle(np.zeros(DIM)), stream, PAYOFFS["vanilla"])
    with pytest.raises(InvalidInput, match="stream must have 3 columns"):
        live(named("c-ucb1", dim=3), stream, PAYOFFS["vanilla"])
    with pytest.raises(InvalidInput, match="features must use the probabilistic gain"):
        stream.seen_through(Coverage(TOPICS, gain=np.minimum))
