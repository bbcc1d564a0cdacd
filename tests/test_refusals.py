"""Arguments that cannot be: refused in one sentence that names parameter, rule and value.

A comment in a pattern, ``(?#...)``, tells apart refusals that are in the same words.
"""

import math
import re
import sys

import numpy as np
import pytest

from longrank import (
    LCB,
    UCB,
    Blocks,
    Coverage,
    EpsilonGreedy,
    Laplace,
    MaximumLikelihood,
    Mixture,
    OnlineNewton,
    Oracle,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Records,
    Ridge,
    Schema,
    named,
    recommended,
    theory,
    unit_rows,
)
from longrank.checks import SLACK, floats, generator, items, real, vector, whole
from longrank.errors import BadFile, InvalidInput, LongrankError, MissingExtra
from longrank.features import from_state as features_of
from longrank.learners import from_state as learner_of
from longrank.links import LINEAR, sigmoid

NAN, INF = math.nan, math.inf
EYES = np.tile(np.eye(2), (3, 1, 1))
VANILLA = Payoffs.vanilla(2)
PRICED = Payoffs.vanilla(3).priced(costs=[0.3, 0.05, 0.0, 0.1])
NEWTON = {"dim": 2, "max_budget": 1}
SUBSETS = Oracle(np.ones(2), features=Coverage(np.eye(2)), exact=True)
HALVES = np.full((100, 2), 0.5)
ALONG = PRICED.along([0])
MEANS = np.ones((3, 2))

NUMBERS = {
    r"n must be at least 0, got -1": lambda: whole("n", -1),
    r"n must be at least 1, got 0": lambda: whole("n", 0, minimum=1),
    r"n must be a whole number, got 2\.0": lambda: whole("n", 2.0),
    r"n must be a whole number, got True": lambda: whole("n", True),
    r"n must be a whole number, got \[1\]": lambda: whole("n", [1]),
    r"x must be finite, got nan": lambda: real("x", NAN),
    r"x must be finite, got inf": lambda: real("x", INF),
    r"y must be finite, got nan": lambda: real("y", NAN, infinite=True),
    r"x must be at least 0, got -0\.5": lambda: real("x", -0.5, minimum=0.0),
    r"x must be above 0, got 0\.0": lambda: real("x", 0.0, above=0.0),
    r"x must be at most 1, got 1\.5": lambda: real("x", 1.5, maximum=1.0),
    r"x must be a number, got 'a'": lambda: real("x", "a"),
    r"x must be a number, got \[1\.0, 2\.0\]": lambda: real("x", [1.0, 2.0]),
    r"rng must be at least 0, got -1": lambda: generator(-1),
    r"rng must be a whole number, got 1.5": lambda: generator(1.5),
    r"rng must be .*RandomState.*": lambda: generator(np.random.RandomState),
    r"link must be 'logistic' or 'probit', got 'linear'": lambda: sigmoid("link", "linear"),
    r"link must be 'logistic' or 'probit', got Link.*": lambda: sigmoid("link", LINEAR),
}
ARRAYS = {
    r"x must have rows of one length, got list": lambda: floats("x", [[1.0], [1.0, 2.0]], 2),
    r"x must hold numbers, got values of type <U1": lambda: floats("x", [["a"]], 2),
    r"x must hold numbers, got values of type complex128": lambda: floats("x", [[1j]], 2),
    r"x must hold numbers, got values of type object": lambda: floats("x", [[None]], 2),
    r"x must have 2 dimensions, got shape \(2,\)": lambda: floats("x", [1.0, 2.0], 2),
    r"x must have 2 dimensions, got shape \(1, 1, 1\)": lambda: floats("x", np.ones((1, 1, 1)), 2),
    r"x must be finite, got nan at index 1": lambda: vector("x", [0.0, NAN, NAN]),
    r"x must be finite, got -inf at index 1": lambda: vector("x", [0.0, -INF, INF]),
    r"items must have 2 columns, got 3": lambda: items([[0.1, 0.2, 0.3]], 2, unit=True),
    r"items must be finite, got nan in row 1, column 1": lambda: items(
        [[0.1, 0.2], [0.3, NAN]], 2, unit=True
    ),
    r"items must be finite, got inf in row 1, column 0": lambda: items(
        [[1e200, 0.0], [INF, 0.0]], 2, unit=False
    ),
    r"items must have rows of norm at most 1 .*, got norm 5 in row 1": lambda: items(
        [[0.6, 0.6], [3.0, 4.0]], 2, unit=True
    ),
    r"items must have rows of norm at most 1 .*, got norm 1 in row 0": lambda: items(
        [[1.0 + 2 * SLACK, 0.0]], 2, unit=True
    ),
    r"items must have rows .*, got norm 1.41421e\+30 in row 0": lambda: items(
        np.full((1, 2), 1e30, np.float32), 2, unit=True
    ),
    r"items must be finite, got inf in row 1": lambda: unit_rows([[1.0], [INF]]),
    r"items must have 2 columns, got 3(?#records)": lambda: Records(dim=2).encode([[0.0] * 3]),
}
PAYOFFS = {
    r"losses must have 3 numbers, one more than rewards, got 2": lambda: Payoffs([1, 1], [0, 0]),
    r"losses must have 1 number, one more than rewards, got 0": lambda: Payoffs([], []),
    r"rewards must be at least 0, got -0.5 at index 1": lambda: Payoffs([1, -0.5], [0, 0, 0]),
    r"losses must be at most 0, got 0.5 at index 0": lambda: Payoffs([1.0], [0.5, 0.0]),
    r"rewards must be non-increasing, got 1.0 before 2.0 at index 0": lambda: Payoffs(
        [1.0, 2.0], [0.0, 0.0, 0.0]
    ),
    r"losses must be non-increasing, got -1.0 before -0.5 at index 1": lambda: Payoffs(
        [1.0, 1.0], [0.0, -1.0, -0.5]
    ),
    r"rewards must be finite, got nan at index 0": lambda: Payoffs([NAN], [0.0, 0.0]),
    r"losses must be finite, got -inf at index 1": lambda: Payoffs([1.0], [0.0, -INF]),
    r"rewards must have 1 dimensions, got shape \(1, 2\)": lambda: Payoffs([[1, 1]], [0, 0, 0]),
    r"rewards must hold numbers, got 'a' at index 0": lambda: Payoffs(["a"], [0.0, 0.0]),
    r"rewards must have at most 1000000 numbers, got 1000001": lambda: Payoffs(
        np.zeros(1_000_001), np.zeros(1_000_002)
    ),
    r"budget must be at most 1000000, got 1000000000": lambda: Payoffs.linear(
        10**9, attempt_cost=0.0
    ),
    r"budget must be at most 1000000, got 1000001": lambda: Payoffs.vanilla(1_000_001),
    r"budget must be at most 1000000, got 9000000": lambda: Payoffs.exponential(9_000_000),
    r"budget must be at most 3 with attempt_cost 0.1 and success 0.3, so .*, got 4": lambda: (
        Payoffs.linear(4, success=0.3, attempt_cost=0.1)
    ),
    r"probabilities must have at most 2 numbers, got 3": lambda: VANILLA.values([0.5] * 3),
    r"probabilities must be between 0 and 1, got 1.5 at index 1": lambda: VANILLA.best_length(
        [0.5, 1.5]
    ),
    r"probabilities must be between 0 and 1, got -0.1 at index 0": lambda: VANILLA.values([-0.1]),
    r"probabilities must be finite, got nan at index 0": lambda: VANILLA.best_length([NAN]),
    r"costs must be at least 0, got -0.1 at index 1": lambda: VANILLA.priced([0.1, -0.1]),
    r"costs must be finite, got inf at index 1": lambda: VANILLA.priced([0.1, INF]),
    r"costs must hold numbers, got None at index 1": lambda: VANILLA.priced([0.1, None]),
    r"costs must have 1 dimensions, got shape \(\)": lambda: VANILLA.priced(0.1),
    r"values must have 1 number, as many as costs, got 2": lambda: VANILLA.priced([0.1], [0, 1]),
    r"values must be finite, got nan at index 0": lambda: VANILLA.priced(None, [NAN]),
    r"values must hold numbers, got None at index 1": lambda: VANILLA.priced(None, [0.1, None]),
    r"order must hold items from 0 to 3, got \[0, 4\]": lambda: PRICED.along([0, 4]),
    r"order must hold no item twice, got \[0, 0\]": lambda: PRICED.along([0, 0]),
    r"order must have at most 3 numbers, got 4": lambda: PRICED.along([0, 1, 2, 3]),
    r"payoffs must be by position: .*along\(order\).*, got costs of 4 cand.*": lambda: (
        PRICED.values([0.5])
    ),
    r"payoffs must be by position: .*best_sequence.*, got costs of 4 cand.*": lambda: (
        PRICED.best_length([0.5])
    ),
    r"payoffs must be by position: .*, got costs of 4 cand.*": lambda: PRICED.reward(
        Outcome(1, True)
    ),
    r"patience must be .*, got 0\.0": lambda: VANILLA.values([0.5], patience=0.0),
    r"patience must be .*, got 1\.5": lambda: VANILLA.best_length([0.5], patience=1.5),
    r"patience must be .*, got nan": lambda: VANILLA.best_sequence([0.5], patience=NAN),
    r"patience must be .*, got 'much'": lambda: VANILLA.values([0.5], patience="much"),
    r"probabilities must have 4 numbers, as many .* got 1": lambda: PRICED.best_sequence([0.5]),
    r"probabilities must be between 0 and 1, got 2.0 at.*": lambda: PRICED.best_sequence(
        [2.0, 0.0, 0.0, 0.0]
    ),
    r"budget must be at most the payoffs' 3, got 4": lambda: PRICED.best_sequence(
        [0.5] * 4, budget=4
    ),
    r"payoffs must not be those along a sequence, got.*": lambda: ALONG.best_sequence([0.5]),
    r"payoffs must not be those along a sequence, got .*": lambda: ALONG.priced([0.5]),
}
OUTCOMES = {
    r"tried must be at least 0, got -1": lambda: Outcome(-1, False),
    r"tried must be a whole number, got 1\.0": lambda: Outcome(1.0, False),
    r"tried must be a whole number, got True": lambda: Outcome(True, False),
    r"succeeded must be True or False, got 1": lambda: Outcome(1, 1),
    r"succeeded must be True or False, got None": lambda: Outcome(1, None),
    r"tried must be at least 1 if the last attempt succeeded, got 0": lambda: Outcome(0, True),
    r"costs must be at least 0, got -0.2 at index 1": lambda: Outcome(2, True, [0.1, -0.2]),
    r"costs must have 2 numbers, one for each try, got 1": lambda: Outcome(2, True, [0.1]),
    r"costs must hold numbers, got None at index 1": lambda: Outcome(2, True, [0.1, None]),
    r"outcome\.tried must be at most 2, the length of the ranking, got 3": lambda: Outcome(
        3, False
    ).signs(2),
    r"outcome.tried must be at most 2, got 3": lambda: VANILLA.reward(Outcome(3, False)),
}
LEARNERS = {
    r"dim must be at least 1, got 0": lambda: Ridge(0),
    r"dim must be a whole number, got 2\.0": lambda: Ridge(2.0),
    r"max_budget must be at least 1, got 0": lambda: OnlineNewton(2, max_budget=0),
    r"radius must be above 0, got 0\.0": lambda: OnlineNewton(**NEWTON, radius=0.0),
    r"rate must be above 0, got -1\.0": lambda: OnlineNewton(**NEWTON, rate=-1.0),
    r"rate must be at most 1e\+100.*": lambda: OnlineNewton(**NEWTON, rate=1e200),
    r"link must be .*, got 'linear'": lambda: OnlineNewton(**NEWTON, link="linear"),
    r"columns must be at least 256, got 255": lambda: Blocks(columns=255),
    r"columns must be a whole number, got 1000000\.0": lambda: Blocks(columns=1e6),
    r"max_budget must be at least 1, got 0(?#sparse)": lambda: Blocks(max_budget=0),
    r"penalty must be above 0, got 0\.0": lambda: MaximumLikelihood(2, penalty=0.0),
    r"penalty must be finite, got nan": lambda: MaximumLikelihood(2, penalty=NAN),
    r"penalty must be at least 1e-12.*": lambda: MaximumLikelihood(2, penalty=1e-20),
    r"penalty must be at least 1e-12.*(?#laplace)": lambda: Laplace(2, penalty=5e-324),
    r"link must be .*, got 'tanh'": lambda: MaximumLikelihood(2, link="tanh"),
}
FEATURES = {
    r"topics must be finite, got .*": lambda: Coverage([[NAN]]),
    r"topics must have 2 dimensions, got shape \(1,\)": lambda: Coverage([1.0]),
    r"gain must be a function of .*, got 3": lambda: Coverage(np.eye(2), gain=3),
    r"items must have 2 columns, as many as topics has.*": lambda: Coverage(np.ones((2, 3))).encode(
        [[0.5] * 3], 3
    ),
    r"weights must be 3 numbers above 0, got \(2,\)": lambda: Mixture([0.5, 0.5], MEANS, EYES),
    r"weights must be 3 numbers above 0, got .*": lambda: Mixture([1, 1, 0], MEANS, EYES),
    r"factors must have shape \(3, 2, 2\), got \(2, 2, 2\)": lambda: Mixture(
        [1] * 3, MEANS, EYES[1:]
    ),
    r"means must have 2 dimensions, got shape \(3,\)": lambda: Mixture([1] * 3, np.ones(3), EYES),
    r".*none of them singular.*": lambda: Mixture([1.0], [[0.0, 0.0]], [np.zeros((2, 2))]),
    r"items must have 2 columns, got 3": lambda: Coverage(Mixture([1] * 3, MEANS, EYES)).encode(
        np.zeros((1, 3)), 3
    ),
    r"items must have at least 3 rows, got 2": lambda: Mixture.fit(np.eye(2), 3, 0),
    r"dim must be.*": lambda: Records(dim=0),
}
SCHEMAS = {
    r"fields must be a dictionary of kinds by name, got.*": lambda: Schema(["amount"]),
    r"fields\['a'\] must be one of category, .*, got 'numeric'": lambda: Schema({"a": "numeric"}),
    r"fields\['a'\] must be one of category, .*, got 3": lambda: Schema({"a": 3}),
    r"fields\['id'\] must be a category, .*, got Number.*": lambda: Schema({"id": "number"}),
    r"field names must be text, got 3": lambda: Schema({3: "number"}),
    r"field names must be text, got 1": lambda: Schema().encode([{1: 2}], {}),
    r"field names must be text, got None": lambda: Schema(cross=[("a", None)]),
    r"cross must hold pairs of names, got 'ab'": lambda: Schema(cross=["ab"]),
    r"cross must hold pairs of names, got \('a',\)": lambda: Schema(cross=[("a",)]),
    r"ignore must be a list of names, got 'trace'": lambda: Schema(ignore="trace"),
    r"schema must be a longrank\.Schema, got dict": lambda: recommended(schema={}),
    r"schema must be None with dim, .*": lambda: recommended(dim=3, schema=Schema()),
    r"forgetting must be 0 without dim: .*, got 0\.1": lambda: recommended(forgetting=0.1),
    r"candidates must be an array of .*, got ndarray": lambda: recommended().rank(
        np.array(list("ab")), VANILLA
    ),
    r"candidates must be an array .*, got dict": lambda: recommended().rank({"id": "a"}, VANILLA),
    r"candidates must be an array of .*, got list": lambda: recommended().rank([{}, 3], VANILLA),
    r"candidates must have unique ids, got 'a' twice": lambda: recommended().rank(
        ["b", "a", {"id": "a"}, {}], VANILLA
    ),
    r"candidates must have unique ids, got 7 twice": lambda: Random(rng=0).rank(
        [{"id": 7}, {"id": 7, "fee": 0.1}], VANILLA
    ),
    r"context must be a dictionary, got str": lambda: recommended().rank(
        ["a"], VANILLA, context="a"
    ),
    r"context must be None for .*, got dict": lambda: named("c-ucb1", dim=2).rank(
        np.eye(2), VANILLA, context={}
    ),
    r"items must be an array of numbers, .*, got a list of dict": lambda: named(
        "c-ucb1", dim=2
    ).rank([{"id": "a"}], VANILLA),
    r"candidates must be an array of 2 numbers for .*, got records": lambda: recommended(
        dim=2
    ).rank([{"id": "a"}], VANILLA),
    r"items must have 3 columns, got 4": lambda: recommended(dim=3).rank(np.zeros((2, 4)), VANILLA),
}
POLICIES = {
    r"exploration must be at least 0, got -1\.0": lambda: UCB(Ridge(2), exploration=-1.0),
    r"exploration must be finite, got inf": lambda: UCB(Ridge(2), exploration=INF),
    r"caution must be at least 0.*": lambda: LCB(Laplace(2), caution=-0.1),
    r"epsilon must be at most 1, got 1.5": lambda: EpsilonGreedy(Ridge(2), epsilon=1.5, rng=0),
    r"temperature must be above 0.*": lambda: PlackettLuce(Ridge(2), temperature=0.0, rng=1),
    r"rng must be a whole number, got 'seed'": lambda: Random(rng="seed"),
    r"weights must be finite, got nan at index 0": lambda: Oracle([NAN]),
    r"dim must be at least 1, got 0": lambda: Oracle([]),
    r".*at most 1,000,000 subsets .* got 79,375,496 .*": lambda: SUBSETS.rank(
        HALVES, Payoffs.vanilla(5)
    ),
    r".*at most 1,000,000 subsets .* got 1,048,576 .*": lambda: SUBSETS.rank(
        HALVES[:20], Payoffs.vanilla(20)
    ),
    r"foresight must be at least 0, got -1": lambda: UCB(Laplace(3), exploration=0.1, foresight=-1),
    r"features must be Records, to foresee failures, got Plain.*": lambda: UCB(
        Ridge(2), exploration=0.1, foresight=3
    ),
    r"features must be Records, to foresee .*(?#lcb)": lambda: LCB(
        OnlineNewton(**NEWTON), caution=1.0, foresight=2
    ),
    r"learner must be new, or have a dense block of 4 columns, .*, got 3": lambda: UCB(
        Blocks.from_state(Blocks().state() | {"dim": 3}), features=Records(dim=3), exploration=0.1
    ),
    r"learner must be Blocks for Records, got Laplace.*": lambda: UCB(
        Laplace(3), features=Records(), exploration=0.1
    ),
    r"features must be Records for a learner in blocks.*": lambda: UCB(
        Blocks(), features=Coverage(np.eye(2)), exploration=0.1
    ),
    r"features must be Records, to foresee failures, got Cov.*": lambda: UCB(
        Laplace(2), features=Coverage(np.eye(2)), exploration=0.1, foresight=3
    ),
    r"features must not let a row depend on the items above it, for lower bounds.*": lambda: LCB(
        OnlineNewton(**NEWTON), features=Coverage(np.eye(2)), caution=1.0
    ),
    r"name must be one of recommended, .*, rand, eps, .*, oracle, got 'best'": lambda: named(
        "best"
    ),
    r"settings must include 'max_budget' for 'ind', got \['dim'\]": lambda: named("ind", dim=3),
    r"unknown setting for 'rand', which takes rng: 'dim'": lambda: named("rand", rng=1, dim=3),
    r"budget must be at most the learner's max_budget 2, got 5": lambda: named(
        "ind", dim=4, max_budget=2
    ).rank(np.zeros((1, 4)), Payoffs.vanilla(5)),
    r"budget must be at most the learner's max_budget 2, got 3": lambda: recommended(
        max_budget=2
    ).rank(["a", "b", "c"], Payoffs.vanilla(3)),
    r"order must have at most 1 number, got 2": lambda: UCB(Ridge(2), exploration=0.1).receipt(
        np.eye(2), Payoffs.vanilla(1), [0, 1]
    ),
}
THEORY = {
    r"radius must be above 0.*": lambda: theory.c_sigma(0.0),
    r"radius must be finite.*": lambda: theory.c_sigma_prime(NAN),
    r"radius must be above 0.*(?#alpha)": lambda: theory.exploration(1, 1, 1, 0.1, -1.0),
    r"budget must be at least 1.*": lambda: theory.exploration(0, 1, 1, 0.1),
    r"dim must be at least 1.*": lambda: theory.exploration(1, 0, 1, 0.1),
    r"horizon must be a whole number.*": lambda: theory.exploration(1, 1, 0.5, 0.1),
    r"delta must be above 0.*": lambda: theory.exploration(1, 1, 1, 0.0),
    r"delta must be below 1/e.*": lambda: theory.exploration(1, 1, 1, 0.4),
    r"slope must be above 0.*": lambda: theory.regret_bound(1, 1, 1, 0.1, slope=0.0),
    r"budget must be at least 1.*(?#remark)": lambda: theory.remark_budget(0, 1, 1, 0.1),
    r"delta must be at most 1.*": lambda: theory.remark_budget(1, 1, 1, 2.0),
    r"length must be at most the payoffs' budget 3, got 4": lambda: theory.approximation_ratio(
        4, Payoffs.vanilla(3), [1.0]
    ),
    r"weights must be finite.*": lambda: theory.approximation_ratio(2, VANILLA, [INF]),
    r"radius must be small enough for a finite bound.*": lambda: theory.exploration(
        10, 10, 500, 0.05, 400.0
    ),
    r"radius must be small enough for a finite bound.*(?#regret)": lambda: theory.regret_bound(
        10, 10, 500, 0.05, 800.0
    ),
    r"radius must be small enough for a finite bound.*(?#remark)": lambda: theory.remark_budget(
        10, 10, 500, 0.05, 1e300
    ),
}
EVERY = (NUMBERS, ARRAYS, PAYOFFS, OUTCOMES, LEARNERS, FEATURES, SCHEMAS, POLICIES, THEORY)


@pytest.mark.parametrize(
    ("message", "call"),
    [pytest.param(*case, id=case[0]) for refused in EVERY for case in refused.items()],
)
def test_what_cannot_be_is_refused_in_one_sentence(message, call):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        call()


BAD_TOPICS = {
    r"have shape \(9, 4\), got \(8, 4\)": lambda items: items[1:],
    r"have shape \(9, 4\), got \(9, 3\)": lambda items: items[:, 1:],
    r"have 2 dimensions, got shape \(9,\)": lambda items: items[:, 0],
    r"lie between 0 and 1, got nan in .*": lambda items: items * np.nan,
    r"lie between 0 and 1, got -.* in row .*": lambda items: -items,
}
BAD_GAINS = {
    r"lie between 0 and what remains of the topic, got 1.5": lambda r, c: c + 0.5 + 0.0 * r,
    r"lie between 0 and what remains of the topic, got -1.0": lambda r, c: -c * r,
    r"lie between 0 and what remains of the topic, got nan": lambda r, c: c * np.nan * r,
    r"have shape \(3, 3\), got \(3, 2\)": lambda r, c: (c * r)[:, 1:],
}


def test_topics_and_gains_that_are_no_coverage_are_refused():
    for message, topics in BAD_TOPICS.items():
        with pytest.raises(InvalidInput, match=rf"^topics\(items\) must {message}$"):
            Coverage(topics).encode(np.full((9, 4), 0.5), 4)
    for message, gain in BAD_GAINS.items():
        features = Coverage(np.eye(3), gain=gain)
        with pytest.raises(InvalidInput, match=rf"^gain\(\.\.\.\) must {message}$"):
            features.next_rows(features.encode(np.eye(3), 3), [])


@pytest.mark.parametrize("kind", [None, "Truth", "Plain", "none"])
def test_an_unknown_learner_or_feature_map_is_refused(kind):
    state = {} if kind is None else {"kind": kind}
    with pytest.raises(
        BadFile, match=r"^unknown learner .*: known are \['Blocks', 'Laplace', 'Max"
    ):
        learner_of(state)
    known = re.escape("known are ['coverage', 'plain', 'records'], and")
    with pytest.raises(BadFile, match=f"^unknown feature map .*: {known}"):
        features_of(state)


def test_every_error_is_ours_and_a_builtin_one_and_says_what_to_do():
    ours = (InvalidInput, ValueError), (BadFile, ValueError), (MissingExtra, ImportError)
    for error, builtin in ours:
        assert issubclass(error, LongrankError)
        assert issubclass(error, builtin)
    error = InvalidInput("budget", "be at least 0", -1)
    assert str(error) == "budget must be at least 0, got -1"
    assert (error.parameter, error.rule, error.value) == ("budget", "be at least 0", -1)
    message = "Mixture.fit needs more packages: pip install '.[experiments]' in longrank's checkout"
    assert str(MissingExtra("Mixture.fit", "experiments")) == message


def test_what_needs_an_extra_says_so_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.mixture", None)
    with pytest.raises(MissingExtra, match=r"^Mixture.fit needs more packages: .*experiments"):
        Mixture.fit([[0.0], [1.0]], 1, 0)
