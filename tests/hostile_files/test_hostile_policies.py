"""Policy files that somebody else made: refused by name, or a policy that works. Nothing else."""

from __future__ import annotations

import json
import random
import tracemalloc
import warnings

import numpy as np
import pytest
from mutants import mutate_bytes, mutate_tree, sign

from every_part import POLICIES, RECORD_POLICIES
from longrank import (
    UCB,
    BadFile,
    InvalidInput,
    Laplace,
    LongrankError,
    MaximumLikelihood,
    OnlineNewton,
    Outcome,
    PlackettLuce,
    Random,
    recommended,
)
from longrank.packing import MAX_HEADER, pack, unpack
from longrank.policies import from_bytes
from longrank.testing import RecordRounds, Rounds

EVERY = {f"arrays/{name}": (make, Rounds) for name, make in POLICIES.items()} | {
    f"records/{name}": (make, RecordRounds) for name, make in RECORD_POLICIES.items()
}
MUTANTS = 60  # of each


def taught(make, rounds):
    """A policy that has learned all that it can, and the features that a file cannot hold."""
    policy = make()
    rounds.play(policy, range(12))
    for t in range(12, 16):
        items, payoffs, budget = rounds.deal(t)
        ranking = policy.rank(items, payoffs, budget, **rounds.given(t))
        policy.learn(ranking, Outcome(len(ranking), False, (0.3,) * len(ranking)))
    features = getattr(policy, "features", None)
    own = features is not None and features.state().get("topics_kind") == "function"
    return policy, features if own else None


@pytest.mark.parametrize("name", EVERY)
def test_a_mutant_is_refused_by_name_or_ranks_and_learns(name):
    make, rounds = EVERY[name]
    policy, features = taught(make, rounds)
    data, rng = policy.to_bytes(), random.Random(name)
    tree, refused = unpack(data), 0
    for _ in range(MUTANTS):
        mutant = mutate_bytes(data, rng) if rng.random() < 0.2 else pack(mutate_tree(tree, rng))
        try:
            found = from_bytes(mutant, features=features)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of belief in absurd numbers, and idle fields
                rounds.play(found, range(3))
        except LongrankError:
            refused += 1
    assert refused > MUTANTS // 3
    assert from_bytes(data, features=features).to_bytes() == data


def peak(data: bytes) -> int:
    """The memory that refusing a file takes, beside the file."""
    tracemalloc.start()
    with pytest.raises(BadFile):
        from_bytes(data)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def packed(header: str, blocks: bytes = b"") -> bytes:
    return sign(b"longrank 1\n" + header.encode() + b"\n" + blocks)


def with_learner(policy, **parts) -> bytes:
    tree = unpack(policy.to_bytes())
    tree["policy"]["learner"] |= parts
    return pack(tree)


def array(dtype="<f8", shape=(1,), offset=0) -> str:
    return json.dumps({"array": [dtype, list(shape), offset]})


@pytest.mark.parametrize(
    "data",
    [
        packed(f'{{"x":{array(shape=[40_000_000_000])}}}', b"\0" * 64),
        packed(f'{{"x":{array(shape=[2**62, 4])}}}', b"\0" * 64),
        packed(f'{{"x":{array(shape=[0, 2**70])}}}'),
        packed(f'{{"x":{array(shape=[-1])}}}', b"\0" * 64),
        packed(f'{{"x":{array(shape=[1] * 99)}}}', b"\0" * 8),
        packed(f'{{"x":{array(shape=[1.0])}}}', b"\0" * 8),
        packed(f'{{"x":{array(offset=8)}}}', b"\0" * 16),
        packed(f'{{"x":{array()}}}', b"\0" * 16),
        packed(
            "{" + ",".join(f'"{i}":{array(shape=[10_000])}' for i in range(500)) + "}",
            b"\0" * 80_000,
        ),
        packed('{"x":' + "[" * 100_000 + "]" * 100_000 + "}"),
        packed('{"x":' * 500 + "1" + "}" * 500),
        packed('{"x":' + "9" * 100_000 + "}"),
        packed(f'{{"x":{array(shape=[10**4000] * 500)}}}'),
        packed('{"x":"ü"}'),
        packed('{"x":"' + "y" * MAX_HEADER + '"}'),
        sign(b"longrank 1\n{}"),
    ],
    ids=[
        *("298 GiB", "2^64", "2^70 nothings", "negative", "99 dimensions", "fractions", "gap"),
        *("rest", "one block for many", "deep lists", "deep trees", "digits", "digits of sizes"),
        *("letters", "long", "no end"),
    ],
)
def test_a_header_that_asks_for_more_than_the_file_has_is_refused_before_it_is_given(data):
    peak(data)  # what is imported on first use is not counted
    assert peak(data) < 4 * len(data) + 2**20


@pytest.mark.parametrize(
    ("make", "parts"),
    [
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
    ],
)
def test_a_belief_that_cannot_be_is_refused(make, parts):
    data = with_learner(UCB(make(), exploration=0.1), **parts)
    with pytest.raises(BadFile, match=r"^data: '\w+': \w+ must "):
        from_bytes(data)


@pytest.mark.parametrize("given_up", [1e300, 2**63, -1, True, None, "1"])
def test_a_count_that_is_none_is_refused(given_up):
    tree = unpack(recommended(dim=3).to_bytes())
    tree["policy"]["given_up"] = given_up
    with pytest.raises(BadFile, match="'UCB': given_up must be a whole number from 0 to"):
        from_bytes(pack(tree))


@pytest.mark.parametrize("size", [2**40, 2**30, 2**20, 3000])
def test_a_table_far_larger_than_its_columns_is_refused(size):
    policy, _ = taught(*EVERY["records/recommended"])
    data = with_learner(policy, size=size, columns=2**40)
    assert peak(data) < 4 * len(data) + 2**20


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["places"].sort() or state["places"].__setitem__(0, state["places"][1]),
        lambda state: state["places"].__setitem__(-1, state["size"]),
        lambda state: state["counts"].__setitem__(0, 2**50),
        lambda state: state["table"].__setitem__((0, 0), -1.0),
        lambda state: state["variances"].__setitem__(-1, 0.0),
        lambda state: state["group_keys"].__setitem__(0, 0),
        lambda state: state["group_of"].__setitem__(0, 2**40),
    ],
    ids=["twice", "beyond", "count", "precision", "variance", "shared", "group"],
)
def test_a_table_whose_parts_do_not_fit_is_refused(change):
    policy, _ = taught(*EVERY["records/recommended"])
    tree = unpack(policy.to_bytes())
    change(tree["policy"]["learner"])
    with pytest.raises(BadFile, match="SparseLaplace"):
        from_bytes(pack(tree))


@pytest.mark.parametrize(
    "change",
    [
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
    ],
    ids=["sample", "norms", "twice", "widths", "many", "setting", "size", "logarithm"],
)
def test_a_schema_whose_parts_do_not_fit_is_refused(change):
    policy, _ = taught(*EVERY["records/recommended"])
    tree = unpack(policy.to_bytes())
    change(tree["policy"]["features"]["schema"]["sides"]["candidate"])
    with pytest.raises(BadFile, match="schema"):
        from_bytes(pack(tree))


def test_very_many_crosses_take_no_time():
    policy, _ = taught(*EVERY["records/declared"])
    tree = unpack(policy.to_bytes())
    tree["policy"]["features"]["schema"]["cross"] = [["id", "region"]] * 100_000
    found = from_bytes(pack(tree))
    with pytest.warns(UserWarning, match="cannot change the order"):
        assert found.schema.crosses() == [("id", "region")]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("PCG64", {"state": {"state": 1, "inc": 2}}),  # it would repeat itself forever
        ("PCG64", {"state": {"state": 2**128, "inc": 1}}),
        ("PCG64", {"bit_generator": "BitGenerator"}),
        ("PCG64", {"bit_generator": "RandomState"}),
        ("MT19937", {"state": {"key": np.zeros(624, np.uint32), "pos": 10**6}}),
        ("MT19937", {"state": {"key": np.zeros(623, np.uint32), "pos": 0}}),
        ("Philox", {"buffer_pos": -9}),
        ("SFC64", {"uinteger": 2**32}),
    ],
)
def test_a_generator_that_cannot_be_is_refused(kind, change):
    tree = unpack(Random(rng=np.random.Generator(getattr(np.random, kind)(1))).to_bytes())
    assert from_bytes(pack(tree)).to_bytes() == pack(tree)
    tree["policy"]["rng"] |= change
    with pytest.raises(BadFile, match=r"'Random': rng[. ]"):
        from_bytes(pack(tree))


def test_parts_of_different_policies_are_refused():
    small, large = recommended(dim=3), recommended(dim=4)
    tree = unpack(small.to_bytes())
    tree["policy"]["learner"] = unpack(large.to_bytes())["policy"]["learner"]
    with pytest.raises(BadFile, match="does not fit together"):
        from_bytes(pack(tree))
    policy, _ = taught(*EVERY["arrays/recommended"])
    tree = unpack(policy.to_bytes())
    other, _ = taught(*EVERY["arrays/ucb/ridge/matrix"])
    tree["policy"]["costs"] = unpack(other.to_bytes())["policy"]["costs"]
    with pytest.raises(BadFile, match="what it expects of costs do not fit together"):
        from_bytes(pack(tree))


def test_a_tree_that_could_not_be_read_is_not_written():
    with pytest.raises(InvalidInput, match="the tree must have at most"):
        pack({"x": "y" * MAX_HEADER})


def test_what_a_part_from_outside_adds_is_let_through():
    tree = unpack(PlackettLuce(Laplace(2), temperature=1.0, rng=1).to_bytes())
    tree["policy"]["more"] = {"of": "anything"}
    assert from_bytes(pack(tree)).temperature == 1.0
