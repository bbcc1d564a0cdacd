"""Policy files that somebody else made: refused by name, or a policy that works. Nothing else."""

import json
import random
import warnings

import numpy as np
import pytest
from mutants import EVERY, MUTANTS, mutate_bytes, mutate_tree, peak, sign, taught

from longrank import (
    UCB,
    BadFile,
    InvalidInput,
    Laplace,
    LongrankError,
    MaximumLikelihood,
    OnlineNewton,
    PlackettLuce,
    Random,
    recommended,
)
from longrank.packing import MAX_HEADER, pack, unpack
from longrank.policies import from_bytes


@pytest.mark.parametrize("name", EVERY)
def test_a_mutant_is_refused_by_name_or_ranks_and_learns(name):
    policy, features = taught(name)
    data, rng = policy.to_bytes(), random.Random(name)
    tree, refused = unpack(data), 0
    for _ in range(MUTANTS):
        mutant = mutate_bytes(data, rng) if rng.random() < 0.2 else pack(mutate_tree(tree, rng))
        try:
            found = from_bytes(mutant, features=features)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of belief in absurd numbers, and idle fields
                EVERY[name][1].play(found, range(3))
        except LongrankError:
            refused += 1
    assert refused > MUTANTS // 3
    assert from_bytes(data, features=features).to_bytes() == data


def refuse(data: bytes, message: str | None = None) -> None:
    with pytest.raises(BadFile, match=message):
        from_bytes(data)


def changed(policy, change) -> bytes:
    """A file of a policy whose tree was changed."""
    tree = unpack(policy.to_bytes())
    change(tree["policy"])
    return pack(tree)


def packed(header: str, blocks: bytes = b"") -> bytes:
    return sign(b"longrank 1\n" + header.encode() + b"\n" + blocks)


def array(dtype="<f8", shape=(1,), offset=0) -> str:
    return json.dumps({"array": [dtype, list(shape), offset]})


HEADERS = {
    "298 GiB": packed(f'{{"x":{array(shape=[40_000_000_000])}}}', b"\0" * 64),
    "2^64": packed(f'{{"x":{array(shape=[2**62, 4])}}}', b"\0" * 64),
    "2^70 nothings": packed(f'{{"x":{array(shape=[0, 2**70])}}}'),
    "negative": packed(f'{{"x":{array(shape=[-1])}}}', b"\0" * 64),
    "99 dimensions": packed(f'{{"x":{array(shape=[1] * 99)}}}', b"\0" * 8),
    "fractions": packed(f'{{"x":{array(shape=[1.0])}}}', b"\0" * 8),
    "gap": packed(f'{{"x":{array(offset=8)}}}', b"\0" * 16),
    "rest": packed(f'{{"x":{array()}}}', b"\0" * 16),
    "one block for many": packed(
        "{" + ",".join(f'"{i}":{array(shape=[10_000])}' for i in range(500)) + "}", b"\0" * 80_000
    ),
    "deep lists": packed('{"x":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "deep trees": packed('{"x":' * 500 + "1" + "}" * 500),
    "digits": packed('{"x":' + "9" * 100_000 + "}"),
    "digits of sizes": packed(f'{{"x":{array(shape=[10**4000] * 500)}}}'),
    "letters": packed('{"x":"ü"}'),
    "long": packed('{"x":"' + "y" * MAX_HEADER + '"}'),
    "no end": sign(b"longrank 1\n{}"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_asks_for_more_than_the_file_has_is_refused_before_it_is_given(name):
    data = HEADERS[name]
    refuse(data)  # what is imported on first use is not counted
    assert peak(lambda: refuse(data)) < 4 * len(data) + 2**20


BELIEFS = [
    (lambda: Laplace(3), {"weights": np.array([0.0, np.nan, 0.0])}),
    (lambda: Laplace(3), {"weights": np.zeros(4)}),
    (lambda: Laplace(3), {"weights": np.zeros(3, np.float32)}),
    (lambda: Laplace(3), {"inverse": np.eye(4)}),
    (lambda: Laplace(3), {"inverse": -np.eye(3)}),
    (lambda: Laplace(3), {"inverse": np.full((3, 3), 1e200)}),
    (lambda: Laplace(3), {"dim": 10**9}),
    (lambda: Laplace(3), {"dim": True}),
    (lambda: Laplace(3), {"updates": 2**63}),
    (lambda: Laplace(3), {"updates": 1e300}),
    (lambda: Laplace(3), {"penalty": 1e-300}),
    (lambda: MaximumLikelihood(3), {"updates": 2**53}),
    (lambda: MaximumLikelihood(3), {"updates": 3}),
    (lambda: OnlineNewton(3, max_budget=2), {"radius": np.inf}),
]
TABLES = [
    lambda state: state["places"].sort() or state["places"].__setitem__(0, state["places"][1]),
    lambda state: state["places"].__setitem__(-1, state["size"]),
    lambda state: state["counts"].__setitem__(0, 2**50),
    lambda state: state["table"].__setitem__((0, 0), -1.0),
    lambda state: state["variances"].__setitem__(-1, 0.0),
    lambda state: state["group_keys"].__setitem__(0, 0),
    lambda state: state["group_of"].__setitem__(0, 2**40),
]
SIDES = [
    lambda side: side["known"].append(["x", "number", False]),
    lambda side: side["known"].append(["x", "embedding"]),
    lambda side: side["known"].append(side["known"][0]),
    lambda side: side["widths"].update(x=3),
    lambda side: side["known"].extend([[f"x{i}", "category"] for i in range(300)]),
    lambda side: side["known"].append(["x", "number", []]),
    lambda side: side["sizes"].__setitem__(0, 2**40),
    lambda side: side.update(
        known=[[*each[:2], True] if each[1] == "number" else each for each in side["known"]],
        samples=-np.ones_like(side["samples"]),
    ),
]
GENERATORS = [
    ("PCG64", {"state": {"state": 1, "inc": 2}}),  # it would repeat itself forever
    ("PCG64", {"state": {"state": 2**128, "inc": 1}}),
    ("PCG64", {"bit_generator": "BitGenerator"}),
    ("PCG64", {"bit_generator": "RandomState"}),
    ("MT19937", {"state": {"key": np.zeros(624, np.uint32), "pos": 10**6}}),
    ("MT19937", {"state": {"key": np.zeros(623, np.uint32), "pos": 0}}),
    ("Philox", {"buffer_pos": -9}),
    ("SFC64", {"uinteger": 2**32}),
]


def test_a_belief_or_a_count_that_cannot_be_is_refused():
    for make, parts in BELIEFS:
        policy = UCB(make(), exploration=0.1)
        data = changed(policy, lambda state, p=parts: state["learner"].update(p))
        refuse(data, r"^data: '\w+': \w+ must ")
    for given_up in (1e300, 2**63, -1, True, None, "1"):
        data = changed(recommended(dim=3), lambda state, n=given_up: state.update(given_up=n))
        refuse(data, "'UCB': given_up must be a whole number from 0 to")


def test_a_table_or_a_schema_whose_parts_do_not_fit_is_refused():
    policy, _ = taught("records/recommended")
    for change in TABLES:
        refuse(changed(policy, lambda state, c=change: c(state["learner"])), "Blocks")
    for change in SIDES:
        data = changed(policy, lambda s, c=change: c(s["features"]["schema"]["sides"]["candidate"]))
        refuse(data, "schema")
    for size in (2**40, 2**30, 2**20, 3000):  # far larger than its columns
        data = changed(policy, lambda s, n=size: s["learner"].update(size=n, columns=2**40))
        assert peak(lambda data=data: refuse(data)) < 4 * len(data) + 2**20


def test_a_generator_that_cannot_be_is_refused():
    for kind, change in GENERATORS:
        policy = Random(rng=np.random.Generator(getattr(np.random, kind)(1)))
        assert from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()
        data = changed(policy, lambda state, c=change: state["rng"].update(c))
        refuse(data, r"'Random': rng[. ]")


def test_very_many_crosses_are_crossed_once():
    policy, _ = taught("records/declared")
    crosses = {"cross": [["id", "region"]] * 100_000}
    found = from_bytes(changed(policy, lambda s: s["features"]["schema"].update(crosses)))
    with pytest.warns(UserWarning, match="cannot change the order"):
        assert found.schema.crosses() == [("id", "region")]


def test_parts_of_different_policies_are_refused_and_what_a_part_from_outside_adds_is_not():
    for name, one, other, message in (
        ("learner", recommended(dim=3), taught("arrays/recommended")[0], "does not fit together"),
        (
            *("costs", taught("arrays/recommended")[0], taught("arrays/ucb/ridge/matrix")[0]),
            "what it expects of costs do not fit together",
        ),
    ):
        part = {name: unpack(other.to_bytes())["policy"][name]}
        refuse(changed(one, lambda state, part=part: state.update(part)), message)
    outside = PlackettLuce(Laplace(2), temperature=1.0, rng=1)
    again = from_bytes(changed(outside, lambda state: state.update(more={"of": "anything"})))
    assert again.temperature == 1.0
    with pytest.raises(InvalidInput, match="the tree must have at most"):
        pack({"x": "y" * MAX_HEADER})  # what could not be read is not written
