"""A life is the run of ``simulate``, to the last bit, compiled or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    InvalidInput,
    Laplace,
    Oracle,
    Payoffs,
    Plain,
    Policy,
    Ranking,
    Ridge,
    Thompson,
    kernels,
    named,
    packing,
    recommended,
    unit_rows,
)
from longrank.features.base import Prepared
from longrank.policies.learning import LearningPolicy
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
    "eps-coverage": lambda: EpsilonGreedy(Ridge(3), features=Coverage(TOPICS), epsilon=0.5, rng=1),
    "oracle": lambda: Oracle([3.0, -2.0, 0.5, 0.0]),
    "oracle-coverage": lambda: Oracle([3.0, -2.0, 0.5], features=Coverage(TOPICS)),
    "own-parts": lambda: OwnPolicy(OwnLearner(DIM), OwnFeatures()),
}
NOT_COMPILED: dict[str, Callable[[], Policy]] = {
    "thompson": lambda: named("thompson", dim=DIM, rng=5),
    "plackett-luce": lambda: named("plackett-luce", dim=DIM, rng=5),
    "own-gain": lambda: UCB(Ridge(3), features=Coverage(TOPICS, gain=np.minimum), exploration=0.5),
    "own-subclass": lambda: Timid(Ridge(DIM), exploration=0.5),
}


class OwnLearner(Laplace):
    """A part from outside of the package: it weakens every observation."""

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        half_step((self.weights, self.inverse, 0.5), rows, succeeded)
        self.updates += len(rows)

    def compiled_step(self, capacity: int) -> kernels.Step:  # noqa: ARG002
        return kernels.Step(half_step, (self.weights.copy(), self.inverse.copy(), 0.5))


@kernels.compiled
def half_step(state, rows, succeeded):
    weights, inverse, share = state
    kernels.observe_cascade(weights, inverse, share * rows, succeeded, 3.0, 2.0, 0)


class OwnFeatures(Plain):
    """It turns the numbers of an item round."""

    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        return np.ascontiguousarray(super().prepare(items, dim, lazy)[:, ::-1])

    def compiled_selection(self, items: NDArray[np.float64]) -> kernels.Selection:
        rows = self.prepare(items, None)
        return kernels.Selection(rows, kernels.greedy_plain, kernels.rows_along, np.inf)


class OwnPolicy(LearningPolicy):
    """Always tries exactly the two likeliest items."""

    def _choose(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,  # noqa: ARG002
    ) -> Ranking:
        count = min(count, 2)
        return self._best(prepared, count, payoffs, count)

    def compiled_rule(self) -> kernels.Rule:
        return kernels.Rule(likeliest_two, (2,))

    @classmethod
    def from_state(cls, state, features):
        raise NotImplementedError


@kernels.generic
def likeliest_two(greedy, along, now, belief, payoffs, settings):  # noqa: ARG001
    weights, inverse, _, ceiling = belief
    count = min(settings[0], payoffs[0].shape[0], now[0].shape[0])
    order, rows, _, _ = greedy(now[0], weights, inverse, 0.0, ceiling, count)
    return order, rows, count


class Timid(UCB):
    """Acts otherwise than its parent and does not say how it is compiled."""

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs, minimum: int) -> Ranking:
        return super()._choose(prepared, min(count, 1), payoffs, minimum)


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
@pytest.mark.parametrize("make", (POLICIES | NOT_COMPILED).values(), ids=POLICIES | NOT_COMPILED)
def test_a_life_is_the_run_of_simulate_bit_for_bit(
    make: Callable[[], Policy], payoffs: Payoffs
) -> None:
    policy, stream = make(), Stream.of(world())
    before = pickled(policy)
    run = simulate(make(), world(), payoffs)
    life = live(policy, stream, payoffs)
    assert life.rewards.tobytes() == run.rewards.tobytes()
    assert life.lengths.tobytes() == run.lengths.tobytes()
    assert life.tried.tobytes() == run.tried.tobytes()
    assert stream.hindsight(payoffs).tobytes() == run.hindsight.tobytes()
    assert pickled(policy) == before  # it stays as it was


def pickled(policy: Policy) -> bytes:
    return packing.pack(policy.state())


@pytest.mark.parametrize("name", [*POLICIES, *NOT_COMPILED])
def test_parts_that_say_how_are_compiled_and_others_are_played(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[object] = []
    compose = kernels.compose_run

    def noted(*parts: object) -> object:
        composed.append(parts)
        return compose(*parts)

    monkeypatch.setattr(kernels, "compose_run", noted)
    policy = (POLICIES | NOT_COMPILED)[name]()
    live(policy, Stream.of(world()), PAYOFFS["vanilla"])
    assert bool(composed) == (name in POLICIES)


@pytest.mark.parametrize("foresight", [0, 2])
def test_a_try_of_no_gain_counts_as_giving_up(foresight: int) -> None:
    """At first every chance is even; later ones fall below, and probes are due by the count."""

    def make() -> UCB:
        return UCB(Laplace(DIM), exploration=0.0, probing=True, foresight=foresight)

    even, rare = Payoffs([1.0], [0.0, -1.0]), world()
    rare.chances = rare.chances / 4.0
    life, run = live(make(), Stream.of(rare), even), simulate(make(), rare, even)
    assert life.lengths.tobytes() == run.lengths.tobytes()
    assert set(life.lengths.tolist()) == {0, 1}


def test_an_exact_search_is_played() -> None:
    oracle = Oracle([3.0, -2.0, 0.5], features=Coverage(TOPICS), exact=True)
    life = live(oracle, Stream.of(world(1)), Payoffs.exponential(2))
    assert life.rewards.tobytes() == (
        simulate(oracle, world(1), Payoffs.exponential(2)).rewards.tobytes()
    )


@pytest.mark.parametrize("name", ["ind", "gl-cdcm", "recommended", "dep"])
def test_a_life_goes_on_from_what_was_learned(name: str) -> None:
    policy, payoffs, stream = POLICIES[name](), PAYOFFS["linear"], Stream.of(world())
    fresh = live(policy, stream, payoffs)
    simulate(policy, world(), payoffs)
    life = live(policy, stream, payoffs)
    run = simulate(policy, world(), payoffs)
    assert life.rewards.tobytes() == run.rewards.tobytes() != fresh.rewards.tobytes()
    assert life.lengths.tobytes() == run.lengths.tobytes()


@pytest.mark.parametrize("name", ["dep", "recommended", "thompson", "rand"])
def test_items_that_are_prepared_once_give_the_same_life(name: str) -> None:
    make, stream = (POLICIES | NOT_COMPILED)[name], Stream.of(world())
    features = getattr(make(), "features", Plain())
    once = live(make(), stream.seen_through(features), PAYOFFS["linear"])
    assert once.rewards.tobytes() == live(make(), stream, PAYOFFS["linear"]).rewards.tobytes()


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


def test_what_ranking_refuses_is_refused() -> None:
    stream = Stream.of(world())
    with pytest.raises(InvalidInput, match="stream must have 3 columns"):
        live(named("c-ucb1", dim=3), stream, PAYOFFS["vanilla"])
    with pytest.raises(InvalidInput, match="budget must be at most the learner's max_budget 2"):
        live(named("ind", dim=DIM, max_budget=2), stream, PAYOFFS["vanilla"])
    long = Stream(3.0 * stream.items, stream.starts, stream.wins)
    for policy in (named("c-ucb1", dim=DIM), Thompson(Laplace(DIM), rng=1)):
        with pytest.raises(InvalidInput, match="norm"):
            live(policy, long, PAYOFFS["vanilla"])
    live(named("rand", rng=1), long, PAYOFFS["vanilla"])
