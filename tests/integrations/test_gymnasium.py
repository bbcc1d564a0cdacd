"""The gymnasium environments: gymnasium's own checker, and the worlds behind them."""

import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from longrank import Outcome, Payoffs, recommended
from longrank.errors import InvalidInput
from longrank.schema import priced
from longrank.simulation import CheckoutWorld, LogisticWorld, TableWorld

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium (extra gym) is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from longrank.integrations.gymnasium import ENVIRONMENTS, CascadeEnv  # noqa: E402


def play(env, actions) -> tuple[list[float], bool]:
    """The rewards of the actions, until the episode ends; whether it succeeded."""
    rewards = []
    for action in actions:
        _, reward, over, _, info = env.step(action)
        rewards.append(reward)
        if over:
            return rewards, info["succeeded"]
    raise AssertionError("the episode did not end")


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.filterwarnings("ignore:.*Box observation space m[ai][xn]imum value is.*infinity")
@pytest.mark.filterwarnings("ignore:.*not within the default range")
def test_gymnasiums_checker_has_no_complaint(name):
    env = gymnasium.make(name, disable_env_checker=True)
    check_env(env.unwrapped, skip_render_check=True)


def test_it_is_registered_and_documented_with_its_settings():
    for name in ENVIRONMENTS:
        page = Path(__file__).parents[2] / "docs" / "examples" / "reinforcement.md"
        [line] = [one for one in page.read_text().splitlines() if one.startswith(f"| `{name}` |")]
        if name != "longrank/Coverage-v0":  # the same as those of the line before
            assert re.findall(r"`(\w+)`", line) == list(signature(ENVIRONMENTS[name]).parameters)
        assert gymnasium.spec(name).id == name


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_rewards_of_an_episode_add_up_to_what_its_outcome_is_worth(name):
    env = gymnasium.make(name)
    rng = np.random.default_rng(0)
    ends = set()
    for episode in range(120):
        env.reset(seed=episode)
        one = env.unwrapped
        k = env.action_space.n - 1
        length = int(rng.integers(0, k + 1))
        order = rng.permutation(k)[:length]
        rewards, succeeded = play(env, [*order.tolist(), k])
        kept = order[: min(length, one.payoffs.budget)]
        outcome = one.dealt.play(kept)
        assert succeeded == outcome.succeeded
        paid = priced(one.payoffs, one.dealt.items).along(kept)
        assert sum(rewards) == pytest.approx(paid.reward(outcome))
        ends.add((outcome.succeeded, outcome.tried < len(kept), length == 0))
    assert (True, True, False) in ends
    assert (False, False, True) in ends
    final = (False, True, False) in ends  # only payments with final declines end early in failure
    assert final == (name == "longrank/Checkout-v0")


def test_a_seed_determines_the_rounds_and_the_truth_stays():
    env = gymnasium.make("longrank/Payments-v0")
    first = env.reset(seed=3)[0]["items"]
    second = env.reset()[0]["items"]
    assert not np.array_equal(first, second)
    assert np.array_equal(env.reset(seed=3)[0]["items"], first)
    assert np.array_equal(env.reset()[0]["items"], second)
    assert not np.array_equal(env.reset(seed=4)[0]["items"], first)
    other = gymnasium.make("longrank/Payments-v0", seed=1)
    assert not np.array_equal(other.reset(seed=3)[0]["items"], first)


def test_a_candidate_tried_again_is_a_wasted_try():
    world = LogisticWorld([-40.0, 0.0], items=3, seed=1)
    env = CascadeEnv(world, Payoffs.linear(3, attempt_cost=0.1))
    for seed in range(50):
        env.reset(seed=seed)
        if not env.dealt.play(np.arange(3)).succeeded:
            break
    _, first, over, _, info = env.step(1)
    assert not over
    assert info["action_mask"].tolist() == [True, False, True, True]
    seen, again, over, _, info = env.step(1)
    assert (over, seen["tries"], seen["tried"].tolist()) == (False, 2, [0, 1, 0])
    losses = env.payoffs.losses
    assert (first, again) == (losses[1], pytest.approx(losses[2] - losses[1]))


def test_a_policy_of_ours_earns_in_it_what_it_earns_in_the_world():
    world, payoffs = CheckoutWorld(4, seed=2, fees=True), Payoffs.linear(2, attempt_cost=0.0)
    env = gymnasium.make("longrank/Checkout-v0", routes=4, budget=2, seed=2)
    inside, outside = recommended(rng=1), recommended(rng=1)
    env.reset(seed=0)
    begin = env.unwrapped._next
    for t in range(begin, begin + 30):
        env.reset()
        dealt = env.unwrapped.dealt
        ranking = inside.rank(dealt.items, env.unwrapped.payoffs, context=dealt.context)
        rewards, succeeded = play(env, [*ranking.order.tolist(), 4])
        tried = env.unwrapped._order
        inside.learn(ranking, Outcome(len(tried), succeeded))
        theirs = world.deal(t)
        other = outside.rank(theirs.items, payoffs, context=theirs.context)
        outcome = theirs.play(other.order)
        outside.learn(other, outcome)
        assert other.order.tolist() == ranking.order.tolist()
        assert sum(rewards) == pytest.approx(other.reward(payoffs, outcome))


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="encode must be given for a world of records"):
        CascadeEnv(CheckoutWorld(3, seed=0), Payoffs.vanilla(2))
    env = gymnasium.make("longrank/Logistic-v0", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match="action must be at most 10, got 11"):
        env.step(11)
    env.step(10)
    with pytest.raises(InvalidInput, match="come after reset"):
        env.step(0)


def test_a_world_that_ends_begins_again():
    table = TableWorld(np.eye(4), np.full(4, 0.5), size=2, seed=0)
    env = CascadeEnv(table, Payoffs.vanilla(2))
    env._next = 0
    rounds = [env.reset()[0]["items"].tolist() for _ in range(4)]
    assert rounds[:2] == rounds[2:]
