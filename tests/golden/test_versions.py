"""Old layouts are migrated; files of newer code than this one are refused by name."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from playing import content, ranked, unpack, view_of
from test_golden import EARLY, HERE, check_store, files, knows, named, read, same

from longrank import BadFile, Outcome, Ranking, load
from longrank.packing import pack
from longrank.packing import unpack as unpack_tree
from longrank.policies import from_bytes
from longrank.service import Engine, open_store
from longrank.service.errors import StoreDamaged

OLD = [p for p in files("policies/*.longrank", list(EARLY)) if ".after." not in p.name]
NEWER = 99


@pytest.mark.parametrize("path", OLD, ids=named)
def test_a_policy_of_an_early_layout_knows_what_it_knew_and_learns_as_it_did(path):
    base = path.parents[1]
    expected = read(base / "expected" / f"{path.stem}.json")
    policy, after = load(path), load(path.with_suffix(".after.longrank"))
    assert knows(policy, expected["before"])
    assert knows(after, expected["after"])
    assert getattr(policy, "foresight", 0) == 0  # there was none: it ranks as it did
    probes = getattr(policy, "probing", False)
    played = read(base / "receipts" / f"{path.stem}.json")
    for dealt, then in zip(read(base / "rounds.json"), played, strict=True):
        now = ranked(policy, dealt, view_of(expected))
        if not probes:  # when a probe is due has changed since
            assert now.order.tolist() == then["ranking"]["order"]
        policy.learn(Ranking.from_dict(then["ranking"]), Outcome(*then["outcome"]))
    if probes:
        policy.given_up = after.given_up
    same(content(after), content(policy))  # a kernel's last bits have changed since


@pytest.mark.parametrize("path", files("stores/closed", list(EARLY)), ids=named)
def test_a_store_with_snapshots_of_an_early_layout_is_opened(path, folder):
    check_store(str(unpack(path, folder)), path, continued=False)


# -- newer than the code --------------------------------------------------------------------------

PARTS = {
    "UCB": ("ucb-newton-plain", ()),
    "EpsilonGreedy": ("epsilon-greedy", ()),
    "Thompson": ("thompson", ()),
    "PlackettLuce": ("plackett-luce", ()),
    "Random": ("random", ()),
    "Oracle": ("oracle", ()),
    "OnlineNewton": ("ucb-newton-plain", ("learner",)),
    "Ridge": ("ucb-ridge-plain", ("learner",)),
    "MaximumLikelihood": ("ucb-likelihood-plain", ("learner",)),
    "Laplace": ("recommended", ("learner",)),
    "Truth": ("oracle", ("learner",)),
    "plain": ("ucb-newton-plain", ("features",)),
    "coverage": ("ucb-newton-matrix", ("features",)),
    "polynomial": ("recommended", ("features",)),
    "tabular": ("tabular", ("features",)),
    "mixture": ("ucb-newton-mixture", ("features", "topics")),
    "SparseLaplace": ("records-recommended", ("learner",)),
    "records": ("records-recommended", ("features",)),
    "schema": ("records-recommended", ("features", "schema")),
}


def first(name: str) -> Path:
    """The policy of this name in the first version that had it."""
    return files(f"policies/{name}.longrank")[0]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_policy_says_its_version(part):
    name, place = PARTS[part]
    tree = unpack_tree(load(first(name)).to_bytes())["policy"]
    for step in place:
        tree = tree[step]
    assert tree["version"] >= 1


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_newer_than_the_code_is_refused_by_name(part):
    name, place = PARTS[part]
    tree = unpack_tree(first(name).read_bytes())
    state = tree["policy"]
    for step in place:
        state = state[step]
    state["version"] = NEWER
    with pytest.raises(BadFile, match=rf"(?i){part}.*\b{NEWER}\b"):
        from_bytes(pack(tree))


@pytest.mark.parametrize("version", [b"0", b"2", b"99"])
def test_a_file_of_another_container_format_is_refused(version):
    data = first("recommended").read_bytes()
    other = data.replace(b"longrank 1\n", b"longrank " + version + b"\n", 1)
    with pytest.raises(BadFile, match=rf"version '{version.decode()}'"):
        from_bytes(other)
    with pytest.raises(BadFile, match=rf"version '{version.decode()}'"):
        Ranking.from_bytes(other)


def test_a_store_that_is_newer_than_the_code_is_refused_and_left_alone(folder):
    path = unpack(HERE / "0.1.0" / "stores" / "closed", folder)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE format SET version = {NEWER}")
    connection.close()
    before = shutil.copy(path, folder / "before.db")
    with pytest.raises(StoreDamaged, match=rf"format version {NEWER}"):
        Engine(open_store(str(path))).start()
    with sqlite3.connect(path) as now, sqlite3.connect(before) as then:
        assert list(now.iterdump()) == list(then.iterdump())
    now.close()
    then.close()


def test_content_is_all_that_a_policy_can_be_set_to():
    """So that a new setting of a policy or learner is compared too: add it to playing.py."""
    known = set()
    for path in files("policies/*.longrank"):
        state = unpack_tree(load(path).to_bytes())["policy"]
        known |= set(state) | set(state.get("learner", {}))
    held = {"kind", "version", "features", "learner"}
    private = {"curvature", "rows", "successes"}  # shown by how it goes on
    private |= {  # of a table of columns: shown by the scores that it gives as well
        "size", "counts", "places", "keys", "table", "group_of", "groups", "group_keys",
        "variances", "sums",
    }  # fmt: skip
    shown = set().union(*(content(load(path)) for path in files("policies/*.longrank")))
    assert known - held - private <= shown
