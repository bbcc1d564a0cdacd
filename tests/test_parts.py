"""Parts: kinds, names, versions, migrations, and what comes from outside of the package."""

import sys

import numpy as np
import pytest

import longrank as lr
from longrank import BadFile, BadPlugin, InvalidInput, Outcome, Payoffs, named
from longrank.contents import numbers, text, whole
from longrank.packing import pack, unpack
from longrank.parts import Kinds, Part
from longrank.policies import from_bytes, registry

ITEMS = np.eye(3)[[1, 0, 2]] * 0.9

OUTSIDE = '''
"""Parts of somebody else's."""

from longrank import UCB, Ridge
from longrank.policies import Recipe


class Careful(UCB):
    """A UCB of somebody else's."""

    kind = "careful"


def simple(*, dim, exploration=0.3):
    """Optimism of somebody else's."""
    return Careful(Ridge(dim), exploration=exploration)


careful = Recipe(
    lambda *, dim, rng: Careful(Ridge(dim), exploration=rng),
    "Careful",
    "With a recipe.",
    {"quick": {"exploration": [0.1]}},
)
broken = 3


class Capital(UCB):
    """A policy class whose kind is its name."""

    def __init__(self, learner=None, *, dim=3, features=None, **settings):
        settings = {"exploration": 0.1} | settings
        super().__init__(learner or Ridge(dim), features=features, **settings)
'''

POINTS = """
[longrank.policies]
simple = outside_parts:simple
careful-one = outside_parts:careful
careful = outside_parts:Careful
broken = outside_parts:broken
Capital = outside_parts:Capital
absent = no_such_module:thing
"""


@pytest.fixture
def outside(install_package):
    """An installed package with parts of its own."""
    install_package("outside_parts", OUTSIDE, POINTS)


def play(policy, rounds=5):
    for t in range(rounds):
        ranking = policy.rank(ITEMS, Payoffs.vanilla(2))
        policy.learn(ranking, Outcome(2, t % 2 == 0))
    return policy


@pytest.mark.usefixtures("outside")
def test_a_policy_from_outside_is_known_by_name():
    assert {"simple", "careful-one", "Capital", "absent"} <= set(registry.names())
    assert registry.names()[0] == "recommended"
    assert named("simple", dim=3).exploration == 0.3
    assert registry.get("simple").summary == "Optimism of somebody else's."
    assert registry.get("careful-one").grids["quick"] == {"exploration": [0.1]}
    assert named("Capital", dim=3, exploration=0.7).exploration == 0.7
    assert registry.make("Capital", {"dim": 3, "rng": 1}, {}).exploration == 0.1
    with pytest.raises(
        InvalidInput, match=r"^unknown setting for 'simple', which takes dim, .*: 'speed'"
    ):
        named("simple", dim=3, speed=1)


@pytest.mark.usefixtures("outside")
def test_parts_from_outside_are_saved_loaded_and_continued():
    for name, settings in (("simple", {}), ("careful-one", {"rng": 1})):
        policy = play(named(name, dim=3, **settings))
        again = from_bytes(policy.to_bytes())
        assert type(again) is type(policy)
        assert play(again).to_bytes() == play(policy).to_bytes()


@pytest.mark.usefixtures("outside")
def test_an_entry_point_that_cannot_be_loaded_is_named_and_harms_nobody_else():
    with pytest.raises(BadPlugin, match=r"^the entry point 'absent' of .*, which outside_parts of"):
        named("absent")
    with pytest.raises(InvalidInput, match=r"^the entry point 'broken' of 'longrank.policies' mu"):
        named("broken")
    assert named("ind", dim=3, max_budget=2).exploration == 0.1


@pytest.mark.usefixtures("outside")
def test_without_the_package_its_parts_are_refused_by_name(monkeypatch):
    data = named("simple", dim=3).to_bytes()
    monkeypatch.setattr(sys, "path", sys.path[1:])
    with pytest.raises(BadFile, match=r"unknown policy 'careful': known are .* entry points"):
        from_bytes(data)


@pytest.mark.parametrize(
    ("name", "settings", "policy", "learner", "features"),
    [
        ("thompson", {"rng": 1}, lr.Thompson, lr.Blocks, lr.Records),
        ("plackett-luce", {"rng": 1}, lr.PlackettLuce, lr.Blocks, lr.Records),
        ("eps", {"max_budget": 2, "rng": 1}, lr.EpsilonGreedy, lr.OnlineNewton, lr.Plain),
        ("c-ucb1", {}, lr.UCB, lr.Ridge, lr.Plain),
        ("gl-cdcm", {}, lr.UCB, lr.MaximumLikelihood, lr.Plain),
        ("ind", {"max_budget": 2}, lr.UCB, lr.OnlineNewton, lr.Plain),
        ("dep", {"max_budget": 2, "topics": np.eye(3)}, lr.UCB, lr.OnlineNewton, lr.Coverage),
        ("rand", {"rng": 1}, lr.Random, None, None),
        ("oracle", {"weights": np.ones(3)}, lr.Oracle, None, lr.Plain),
    ],
)
def test_names_are_combinations(name, settings, policy, learner, features):
    assert name in registry.names()
    made = named(name.upper(), **settings | ({} if name in ("rand", "oracle") else {"dim": 3}))
    assert type(made) is policy
    assert learner is None or type(made.learner) is learner
    assert features is None or type(made.features) is features
    assert len(made.rank(ITEMS, Payoffs.vanilla(2))) == 2


def test_a_policy_takes_of_what_is_offered_what_it_needs():
    offered = {"dim": 3, "max_budget": 2, "rng": 7}
    for name in ("recommended", "thompson", "plackett-luce", "rand", "eps", "c-ucb1", "gl-cdcm"):
        assert len(registry.make(name, offered, {}).rank(ITEMS, Payoffs.vanilla(2))) == 2
    assert registry.make("ind", offered, {"exploration": 0.7}).exploration == 0.7
    with pytest.raises(InvalidInput, match=r"^settings must not name 'dim', which is given"):
        registry.make("ind", offered, {"dim": 4})
    with pytest.raises(InvalidInput, match=r"^unknown setting for 'ind', which takes .*: 'speed'"):
        registry.make("ind", offered, {"speed": 4})


def test_the_table_in_the_docstring_of_named_is_the_registry():
    rows = [line.split(None, 1) for line in (named.__doc__ or "").splitlines()]
    table = {row[0]: row[1] for row in rows if len(row) == 2 and row[0] in registry.names()}
    assert set(table) == set(registry.names())
    for name in set(table) - {"dep"}:
        recipe = registry.get(name)
        for setting, parameter in recipe.parameters.items():
            assert setting in table[name], (name, setting)
            if isinstance(parameter.default, float):
                assert f"{setting}={parameter.default}" in table[name]


def test_every_part_says_what_it_is_and_one_of_another_version_is_refused_by_name():
    state = unpack(play(named("recommended", dim=3)).to_bytes())["policy"]
    for part in (state, state["learner"], state["features"]):
        assert {"kind", "version"} <= set(part)
        found = part["version"]
        for version in ("1", 1.5, None, -1, True):
            part["version"] = version
            with pytest.raises(BadFile, match="has no valid version"):
                from_bytes(pack({"policy": state}))
        part["version"] = 99
        with pytest.raises(BadFile, match=rf"file: '{part['kind']}' was saved in version 99 of"):
            from_bytes(pack({"policy": state}), source="file")
        part["version"] = found


class _Grown(Part):
    version = 3
    migrations = {2: lambda s: {**s, "b": s["a"] + 1}}  # noqa: RUF012


class _Whole(_Grown):
    kind = "_Grown"
    migrations = {**_Grown.migrations, 1: lambda s: {**s, "a": 1}}  # noqa: RUF012


class _Checked(Part):
    contents = {"size": whole(1), "rows": numbers("size", 2)}  # noqa: RUF012

    def state(self):
        return {"size": 1, "rows": np.zeros((1, 2))}


class _Free(_Checked):
    def state(self):
        return {"anything": 1}


class _Longer(_Checked):
    contents = {**_Checked.contents, "name": text}  # noqa: RUF012

    def state(self):
        return super().state() | {"name": "x"}


def test_a_part_that_declares_its_contents_is_checked_and_no_other():
    for part in (_Checked(), _Free(), _Longer()):
        assert type(part).migrate(part.saved())["version"] == 1
    for part, name, wrong in (
        (_Checked(), "size", 2),
        (_Checked(), "rows", np.zeros((1, 3))),
        (_Longer(), "rows", None),
        (_Longer(), "name", ["x"]),
    ):
        with pytest.raises(BadFile, match=rf"^'{part.kind}': \w+ must "):
            type(part).migrate(part.saved() | {name: wrong})
    assert _Free.migrate({"version": 1, "rows": "what it likes"})["rows"] == "what it likes"


def test_migrations_run_from_the_version_that_was_found():
    old = {"kind": "_Grown", "version": 1}
    assert _Whole.migrate(old) == {"kind": "_Grown", "a": 1, "b": 2, "version": 3}
    assert _Grown.migrate({"a": 5, "version": 2}) == {"a": 5, "b": 6, "version": 3}
    assert _Grown.migrate({"version": 3}) == {"version": 3}
    with pytest.raises(BadFile, match=r"^'_Grown' has no migration from version 1 to 2$"):
        _Grown.migrate({"version": 1})
    kinds = Kinds("thing", _Grown, "longrank.things", [_Grown])
    assert kinds.read({"kind": "_Grown", "version": 3})[0] is _Grown
    for state in (None, [], {"kind": 3}, {}):
        with pytest.raises(BadFile, match=r"^unknown thing .*: known are \['_Grown'\]"):
            kinds.read(state)
