"""A life among records is the run of ``simulate``, to the last bit, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from longrank import (
    UCB,
    EpsilonGreedy,
    InvalidInput,
    Number,
    Payoffs,
    PlackettLuce,
    Policy,
    Random,
    Ranking,
    Records,
    Schema,
    SparseLaplace,
    Thompson,
    kernels,
    load,
    packing,
    recommended,
)
from longrank.features.base import Prepared
from longrank.simulation import CheckoutWorld, LogisticWorld, RecordStream, World, live, simulate
from longrank.simulation.worlds import IndependentRound

ROUNDS = 60
Deal = tuple[list[dict[str, Any]], dict[str, Any] | None]


class Dealt(World):
    """Rounds of records, each made from its own generator."""

    def __init__(self, deal: Callable[[int, np.random.Generator], Deal], rounds: int = ROUNDS):
        self._deal, self._rounds = deal, rounds

    @property
    def rounds(self) -> int:
        return self._rounds

    def deal(self, t: int) -> IndependentRound:
        rng = np.random.default_rng([5, t])
        records, context = self._deal(t, rng)
        chances = np.array([0.1 + 0.8 * (hash_of(record, context) % 7 == 0) for record in records])
        return IndependentRound(records, rng.random(len(records)), chances.reshape(-1), context)


def hash_of(record: dict[str, Any], context: dict[str, Any] | None) -> int:
    return sum(map(ord, f"{record.get('id')}{(context or {}).get('brand')}"))


def routes(t: int, rng: np.random.Generator) -> Deal:
    """Names and numbers, of which some are missing; at times no route, or no context."""
    offered = rng.permutation(9)[: rng.integers(0, 8)] if t else range(7)
    records: list[dict[str, Any]] = [
        {"id": f"r{i}", "eu": bool(i % 2), "load": rng.random(), "fee": rng.pareto(1.0) + 0.01}
        for i in offered
    ]
    for record in records[1:]:
        for name in ("eu", "load", "fee"):
            if rng.random() < 0.2:
                record[name] = None
            elif rng.random() < 0.2:
                del record[name]
    if t % 10 == 9:
        return records, None
    return records, {"brand": f"b{rng.integers(3)}", "amount": 10.0 ** rng.normal(2.0, 2.0)}


def late(t: int, rng: np.random.Generator) -> Deal:
    """A field is missing at first, another comes much later."""
    records, context = routes(t, rng)
    if t >= 20:
        records = [record | {"speed": float(rng.random())} for record in records]
    brand = None if t < 10 else "gold"
    return records, {**(context or {}), "tier": brand}


def tagged(t: int, rng: np.random.Generator) -> Deal:
    records, context = routes(t, rng)
    return [record | {"tags": ["x", f"t{rng.integers(3)}"]} for record in records], context


class Timid(UCB):
    """Acts otherwise than its parent and does not say how it is compiled."""

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs, minimum: int) -> Ranking:
        return super()._choose(prepared, min(count, 1), payoffs, minimum)


def learner() -> SparseLaplace:
    return SparseLaplace()


def declared() -> Schema:
    crossed = [("id", "brand"), ("eu", "amount"), ("id", "fee")]
    return Schema({"fee": Number(log=True), "eu": "category"}, cross=crossed)


POLICIES: dict[str, Callable[[], Policy]] = {
    "recommended": lambda: recommended(rng=1),
    "declared": lambda: recommended(rng=1, schema=declared()),
    "thompson": lambda: Thompson(learner(), scale=0.7, rng=2),
    "thompson-probing": lambda: Thompson(learner(), optimistic=True, probing=True, rng=3),
    "ucb": lambda: UCB(learner(), exploration=0.3),
    "ucb-probing": lambda: UCB(learner(), exploration=0.0, probing=True),
    "ucb-foresight": lambda: UCB(learner(), exploration=0.3, probing=True, foresight=2),
    "eps": lambda: EpsilonGreedy(learner(), epsilon=0.3, rng=4),
    "full": lambda: UCB(SparseLaplace(columns=256), exploration=0.3),
}
NOT_COMPILED: dict[str, Callable[[], Policy]] = {
    "plackett-luce": lambda: PlackettLuce(learner(), temperature=0.3, rng=5),
    "random": lambda: Random(rng=6),
    "own-subclass": lambda: Timid(learner(), exploration=0.5),
}
PAYOFFS = {
    "vanilla": Payoffs.vanilla(3),
    "expensive": Payoffs.linear(2, attempt_cost=0.45, give_up=-0.05),
    "of no gain": Payoffs([1.0], [0.0, -1.0]),  # an even chance is worth giving up
}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the compiled runs."""
    lengths: list[int] = []
    compose = kernels.compose_record_run

    def noted(step: kernels.RecordStep) -> Callable[..., Any]:
        def run(rounds: Any, *rest: Any) -> Any:
            lengths.append(len(rounds[0]) - 1)
            return compose(step)(rounds, *rest)

        return run

    monkeypatch.setattr(kernels, "compose_record_run", noted)
    return lengths


def assert_same(
    make: Callable[[], Policy],
    world: World,
    payoffs: Payoffs,
    rounds: int = ROUNDS,
    stream: RecordStream | None = None,
) -> Policy:
    policy, other = make(), make()
    before = policy.to_bytes()
    life = live(policy, stream or RecordStream.of(world, rounds), payoffs)
    run = simulate(other, world, payoffs, rounds)
    assert life.rewards.tobytes() == run.rewards.tobytes()
    assert life.lengths.tobytes() == run.lengths.tobytes()
    assert life.tried.tobytes() == run.tried.tobytes()
    assert policy.to_bytes() == before
    assert life.policy is not None
    assert life.policy.to_bytes() == other.to_bytes()
    return life.policy


@pytest.mark.parametrize("payoffs", PAYOFFS.values(), ids=PAYOFFS)
@pytest.mark.parametrize("name", [*POLICIES, *NOT_COMPILED])
def test_a_life_is_the_run_of_simulate_bit_for_bit(
    name: str, payoffs: Payoffs, runs: list[int]
) -> None:
    assert_same((POLICIES | NOT_COMPILED)[name], Dealt(routes), payoffs)
    assert runs == ([ROUNDS - 1] if name in POLICIES else [])


def test_a_final_failure_ends_the_round(runs: list[int]) -> None:
    world, stream = CheckoutWorld(5, seed=1), RecordStream.of(CheckoutWorld(5, seed=1), 200)
    assert (stream.ends & ~stream.wins).any()
    assert_same(POLICIES["recommended"], world, PAYOFFS["vanilla"], 200)
    assert runs == [199]


@pytest.mark.parametrize(
    "name", ["recommended", "ucb", "eps", "patient", "plackett-luce", "random"]
)
def test_early_stops_teach_the_same_patience(name: str, runs: list[int]) -> None:
    def patient() -> Policy:
        return UCB(learner(), exploration=0.1, patient=True)

    world = CheckoutWorld(4, seed=2)
    make = (POLICIES | NOT_COMPILED | {"patient": patient})[name]
    for payoffs in (PAYOFFS["expensive"], PAYOFFS["vanilla"].patient(0.6)):
        lived = assert_same(make, world, payoffs, 120)
        if name in ("recommended", "patient"):
            assert lived.patience.stopped > 1  # type: ignore[attr-defined]
    assert bool(runs) == (name not in NOT_COMPILED)


@pytest.mark.parametrize("name", ["recommended", "ucb", "eps", "plackett-luce", "random"])
def test_a_life_with_prices_is_the_run_of_simulate(name: str, runs: list[int]) -> None:
    make = (POLICIES | NOT_COMPILED)[name]
    assert_same(make, CheckoutWorld(4, seed=2, fees=True), PAYOFFS["vanilla"])
    paid = PAYOFFS["vanilla"].priced([0.6, 0.01, 0.3, 0.2])
    assert_same(make, CheckoutWorld(4, seed=2), paid)
    assert runs == []  # prices are not compiled


def test_what_the_policy_does_not_know_yet_is_played(runs: list[int]) -> None:
    assert_same(POLICIES["recommended"], Dealt(late), PAYOFFS["vanilla"])
    assert len(runs) == 1
    assert ROUNDS - 25 < runs[0] < ROUNDS - 20
    assert_same(POLICIES["recommended"], Dealt(tagged), PAYOFFS["vanilla"])
    assert len(runs) == 1


def test_a_table_grows_and_what_no_longer_fits_gives_way(runs: list[int]) -> None:
    def many(t: int, rng: np.random.Generator) -> Deal:
        return [{"id": f"r{rng.integers(500)}", "x": t * i} for i in range(4)], {"user": f"u{t}"}

    for columns in (256, 1 << 12):
        grown = assert_same(
            lambda columns=columns: UCB(SparseLaplace(columns=columns), exploration=1.0),  # type: ignore[misc]
            Dealt(many, 150),
            PAYOFFS["vanilla"],
            150,
        )
        assert (grown.learner.replaced > 0) == (columns == 256)  # type: ignore[attr-defined]
        assert grown.learner.used > 200  # type: ignore[attr-defined]
    assert runs == [149, 149]


def test_a_life_goes_on_from_what_was_learned_saved_and_loaded(tmp_path: Any) -> None:
    def trained() -> Policy:
        first = live(recommended(rng=1), RecordStream.of(Dealt(routes), 40), PAYOFFS["vanilla"])
        assert first.policy is not None
        first.policy.save(tmp_path / "policy")
        return load(tmp_path / "policy")

    other = Dealt(lambda t, _: routes(t, np.random.default_rng([6, t])))
    assert_same(trained, other, PAYOFFS["expensive"])


@pytest.mark.parametrize("name", ["recommended", "declared", "plackett-luce"])
def test_records_that_are_encoded_once_give_the_same_life(name: str, runs: list[int]) -> None:
    stream = RecordStream.of(Dealt(routes)).seen_through(Records())
    assert_same((POLICIES | NOT_COMPILED)[name], Dealt(routes), PAYOFFS["vanilla"], stream=stream)
    assert bool(runs) == (name in POLICIES)


def test_replayed_receipts_teach_the_same() -> None:
    policy, replayed = recommended(rng=1), recommended(rng=9)
    world, payoffs = Dealt(routes), PAYOFFS["expensive"]
    for t in range(ROUNDS):
        dealt = world.deal(t)
        ranking = policy.rank(dealt.items, payoffs, context=dealt.context)
        outcome = dealt.play(ranking.order)
        policy.learn(ranking, outcome)
        receipt = Ranking.from_bytes(ranking.to_bytes())
        replayed.record_decision(receipt)
        replayed.learn(receipt, outcome)
    life = live(recommended(rng=1), RecordStream.of(world), payoffs)
    assert life.policy is not None
    assert life.policy.to_bytes() == policy.to_bytes()
    one, other = (packing.pack(each.state() | {"rng": {}}) for each in (policy, replayed))
    assert one == other


def test_what_ranking_refuses_is_refused_in_its_round() -> None:
    def broken(t: int, rng: np.random.Generator) -> Deal:
        records, context = routes(t, rng)
        return [*records, {"id": "last", "fee": "dear" if t == 30 else 1.0}], context

    sentence = "field 'fee' must be a number, as this field is a number, got 'dear'"
    for play in (
        lambda: live(recommended(rng=1), RecordStream.of(Dealt(broken)), PAYOFFS["vanilla"]),
        lambda: simulate(recommended(rng=1), Dealt(broken), PAYOFFS["vanilla"]),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            play()
    small = recommended(rng=1, max_budget=2)
    with pytest.raises(InvalidInput, match="budget must be at most the learner's max_budget 2"):
        live(small, RecordStream.of(Dealt(routes)), PAYOFFS["vanilla"])


def test_a_stream_of_records_needs_a_world_that_deals_them_independently() -> None:
    with pytest.raises(InvalidInput, match="rounds must be given for an endless world"):
        RecordStream.of(CheckoutWorld(3, seed=1))
    with pytest.raises(InvalidInput, match="world must deal records"):
        RecordStream.of(LogisticWorld([1.0], seed=1), 2)
    empty = live(recommended(rng=1), RecordStream.of(Dealt(routes), 0), PAYOFFS["vanilla"])
    assert len(empty.rewards) == 0
