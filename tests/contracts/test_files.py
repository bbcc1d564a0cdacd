"""What every saved policy must do."""

import numpy as np
import pytest

from longrank import UCB, BadFile, EpsilonGreedy, OnlineNewton, Payoffs, Random, Ridge, load
from longrank.packing import pack, unpack
from longrank.policies import from_bytes

RNG = Random(rng=1).state()["rng"]
ITEMS = np.eye(4)[[1, 0, 3, 2, 1]] * 0.9


def revived(policy):
    return from_bytes(policy.to_bytes())


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_of_numpy_goes_on_where_it_was(kind, play):
    policy = Random(rng=np.random.Generator(getattr(np.random, kind)(5)))
    play(policy, range(5))
    assert play(revived(policy), range(5, 9)) == play(policy, range(5, 9))


def test_an_unknown_version_is_refused_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "policy"
    path.write_bytes(Random(rng=1).to_bytes().replace(b"longrank 1\n", b"longrank 2\n", 1))
    with pytest.raises(BadFile, match=r"policy has format version '2'; this longrank reads"):
        load(path)


SETTING = unpack(UCB(Ridge(2), exploration=1.0).to_bytes())["policy"] | {"exploration": -1.0}
DRAWS = {"kind": "Random", "version": 1, "rng": RNG}
NO_POLICY = {
    "holds something else, not a policy": {},
    "holds a ranking, not a policy": {"order": []},
    "unknown policy 'Nobody'": {"policy": {"kind": "Nobody"}},
    "data: 'UCB': learner must be there, got nothing": {"policy": {"kind": "UCB", "version": 1}},
    "unknown feature map '\\?'": {"policy": DRAWS | {"features": {"kind": "?"}}},
    "'Random': rng must be of a known random generator, .*, got None": {
        "policy": DRAWS | {"features": {"kind": "plain", "version": 1}, "rng": {}}
    },
    r"'UCB': exploration must be a number from 0 .*, got -1.0$": {"policy": SETTING},
}


@pytest.mark.parametrize("message", NO_POLICY)
def test_a_file_that_holds_no_policy_is_refused(message):
    with pytest.raises(BadFile, match=message):
        from_bytes(pack(NO_POLICY[message]))


def test_settings_can_be_changed_after_loading(play):
    policy = UCB(OnlineNewton(4, max_budget=5, rate=3.0), exploration=0.5)
    play(policy, range(8))
    again = revived(policy)
    for each in (policy, again):
        each.exploration, each.learner.rate = 0.01, 9.0
    assert play(again, range(8, 16)) == play(policy, range(8, 16))
    assert revived(again).to_bytes() == policy.to_bytes()
    assert (revived(again).exploration, revived(again).learner.rate) == (0.01, 9.0)
    drawing = revived(EpsilonGreedy(Ridge(4), epsilon=1.0, rng=1))
    for epsilon, several in ((1.0, True), (0.0, False)):
        drawing.epsilon = epsilon
        orders = {tuple(drawing.rank(ITEMS, Payoffs.vanilla(5)).order) for _ in range(9)}
        assert (len(orders) > 1) == several
