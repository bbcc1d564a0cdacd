"""Policies of records: names in, names out, reasons, and what they learn."""

import json
import math
import pickle
import re
import warnings

import numpy as np
import pytest

from longrank import (
    UCB,
    BadFile,
    Blocks,
    EpsilonGreedy,
    InvalidInput,
    Laplace,
    Number,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Ranking,
    Records,
    Ridge,
    Schema,
    Thompson,
    recommended,
)
from longrank.policies import from_bytes

VANILLA = Payoffs.vanilla(3)
BRANDS = ["visa", "amex", "jcb", "diners"]
ROUTES = [f"route-{i}" for i in range(14)]


def play(policy, rounds, best, *, cost=0.1, tries=2, seed=0, number=None):
    """Which share of the last third tries the right route first: 0.9 against 0.25."""
    rng, payoffs, right = np.random.default_rng(seed), Payoffs.linear(tries, attempt_cost=cost), []
    for _ in range(rounds):
        brand = int(rng.integers(len(BRANDS)))
        context = {"brand": BRANDS[brand]} | ({} if number is None else {"amount": number(rng)})
        ranking = policy.rank(ROUTES, payoffs, context=context)
        chances = np.where(ranking.order == best[brand], 0.9, 0.25)
        wins = np.flatnonzero(rng.random(len(ranking)) < chances)
        tried = int(wins[0]) + 1 if wins.size else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(wins.size)))
        right.append(len(ranking) > 0 and ranking.order[0] == best[brand])
    return float(np.mean(right[-rounds // 3 :]))


# -- what is learned ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_route_of_each_brand_is_found(seed):
    best = np.random.default_rng([5, seed]).choice(14, 4, replace=False)
    assert play(recommended(rng=seed), 1500, best, seed=seed) >= 0.95


def test_heavy_tails_and_units_of_amounts_do_no_harm():
    best = [3, 9, 1, 6]
    shares = [
        play(recommended(rng=1), 1500, best, number=lambda r, u=unit: u * r.lognormal(3.0, 2.5))
        for unit in (1.0, 1e12)
    ]
    assert shares[0] == shares[1] >= 0.9


def test_an_amount_larger_than_all_before_is_answered():
    for schema in (None, Schema({"amount": Number(log=True)})):
        policy = recommended(schema=schema)
        for amount in [1.0, 5.0, 3.0] * 15 + [1e12, 1e-12, 1.7e308]:
            ranking = policy.rank(["a", "b"], VANILLA, context={"amount": amount})
            policy.learn(ranking, Outcome(1, True))
            assert np.isfinite(ranking.values).all()


def test_an_effect_that_reverses_with_the_amount_is_learned():
    policy, rng, right = recommended(), np.random.default_rng(3), []
    for _ in range(600):
        amount = float(rng.lognormal(4.0, 1.5))
        good = "large" if amount > math.exp(4.0) else "small"
        ranking = policy.rank(["small", "large"], Payoffs.vanilla(1), context={"amount": amount})
        chance = 0.9 if ranking.ids[0] == good else 0.1
        policy.learn(ranking, Outcome(1, bool(rng.random() < chance)))
        right.append(ranking.ids[0] == good)
    assert np.mean(right[-200:]) > 0.9


def test_a_new_value_borrows_from_what_it_shares_and_what_does_not_matter_is_believed_not_to():
    policy, rng = UCB(Blocks(), exploration=0.0), np.random.default_rng(4)
    for t in range(600):
        region = "eu" if t % 2 else "us"
        record = {"id": f"r{t}", "region": region, "noise": f"n{rng.integers(40)}"}
        policy.learn(policy.rank([record], Payoffs.vanilla(1)), Outcome(1, bool(t % 2)))
    new = [{"id": "new", "region": "us"}, {"id": "newer", "region": "eu"}, {"id": "newest"}]
    ranking = policy.rank(new, VANILLA)
    assert ranking.ids == ["newer", "newest", "new"]
    assert ranking.estimates[0] > 0.75
    assert ranking.estimates[-1] < 0.25
    rows = policy.rank([record], VANILLA).features
    variances = [policy.learner.variance(int(group)) for group in rows.plan.groups]
    by_name = dict(zip(rows.plan.names, variances, strict=True))
    assert by_name["region", None] > 5.0 * by_name["noise", None]


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_any_number_of_ids_takes_the_memory_of_as_many_columns_as_allowed():
    policy, payoffs = UCB(Blocks(columns=1 << 12), exploration=0.1), Payoffs.vanilla(100)
    for start in range(0, 200_000, 100):
        ranking = policy.rank([str(start + i) for i in range(100)], payoffs, context={"b": "x"})
        policy.learn(ranking, Outcome(100, False))
        if start % 20_000 == 0:
            assert len(policy.to_bytes()) < 300_000
    learner = policy.learner
    assert learner.updates == 200_000
    assert 4000 < learner.used <= 1 << 12
    assert learner.replaced >= 2 * 200_000 - learner.used  # an id, and its cross
    again = from_bytes(policy.to_bytes())
    assert (again.learner.used, again.learner.replaced) == (learner.used, learner.replaced)


# -- names and reasons ----------------------------------------------------------------------------


def taught():
    policy = UCB(Blocks(), exploration=0.0)
    for t in range(40):
        brand = BRANDS[t % 2]
        records = [{"id": "adyen", "region": "eu", "tags": ["x"]}, {"id": "stripe", "region": "us"}]
        receipt = policy.receipt(records, VANILLA, [t % 4 // 2], context={"brand": brand})
        policy.learn(receipt, Outcome(1, (t % 2) == (t % 4 // 2)))
    return policy


def ranked(policy=None):
    records = [{"id": "adyen", "region": "eu"}, {"id": "stripe", "region": "us"}, {"fee": 1.5}]
    return (policy or taught()).rank(records, VANILLA, context={"brand": "visa"})


def test_ids_are_those_of_the_candidates_in_order():
    ranking = ranked()
    assert ranking.order.tolist() == [0, 2, 1]
    assert ranking.ids == ["adyen", 2, "stripe"]
    assert repr(ranking).startswith("Ranking(ids=['adyen', 2, 'stripe'], value=")
    drawn = Random(rng=0).rank(["x", {"id": 7}, {}], VANILLA)
    assert drawn.ids == [{0: "x", 1: 7, 2: 2}[i] for i in drawn.order]
    plain = UCB(Ridge(2), exploration=0.1).rank(np.eye(2), VANILLA)
    assert (plain.ids, plain.reasons) == ([0, 1], [[], []])
    assert "for:" not in plain.explain()
    for given, named in (("a", "a"), (7, 7), (True, True), (2.5, 2.5), (np.int64(7), 7)):
        for policy in (recommended(), Random(rng=1)):
            [name] = policy.rank([{"id": given}], VANILLA).ids
            assert (name, type(name)) == (named, type(named))
    for missing in (None, math.nan):
        assert recommended().rank([{"id": missing}], VANILLA).ids == [0]


def test_reasons_say_what_spoke_for_and_against():
    ranking = ranked()
    best, _, worst = ranking.reasons
    assert {label for label, _ in best} <= {
        "id=adyen", "region=eu", "tags=missing", "fee=missing",
        "brand=visa", "region=eu x brand=visa", "tags=missing x brand=visa",
    }  # fmt: skip
    assert max(best, key=lambda each: each[1])[0] in ("brand=visa", "region=eu x brand=visa")
    assert dict(worst)["brand=visa"] < 0.0 < dict(best)["brand=visa"]
    for reasons in ranking.reasons:
        sizes = [abs(size) for _, size in reasons]
        assert sizes == sorted(sizes, reverse=True)
        assert len(sizes) <= 6
    said = ranking.explain()
    assert re.search(r"^  1 +adyen +0\.\d{4} ", said, re.MULTILINE)
    assert "for: " in said
    assert "against: " in said
    assert "region=us x brand=visa -" in said


def test_reasons_are_in_words_a_reader_can_read():
    policy = UCB(Blocks(), exploration=0.0)
    record = {"id": "a", "n": 1234567.891, "long": "x" * 99, "tags": ["p", "q"], "none": None}
    for _ in range(40):  # until the block has a column for what is missing
        others = {"none": "y", "n": math.nan}
        policy.learn(policy.rank([record, others], VANILLA), Outcome(2, False))
    labels = [
        {label for label, _ in policy.rank([each], VANILLA).reasons[0]} for each in (record, others)
    ]
    certain = {"tags=['p', 'q']", f"long={'x' * 27}..."}
    assert certain <= labels[0] <= {"id=a", "n=1.23457e+06", "none=missing"} | certain
    missing = {"id=missing", "n=missing", "tags=missing", "long=missing"}
    assert "n=missing" in labels[1] <= {"none=y"} | missing


def test_a_name_on_both_sides_says_which_is_the_context():
    policy = UCB(Blocks(), exploration=0.0)
    context = {"country": "DE", "brand": "visa"}
    for name, country, paid in (("a", "DE", True), ("b", "FR", False)) * 20:
        ranking = policy.rank([{"id": name, "country": country}], VANILLA, context=context)
        policy.learn(ranking, Outcome(1, paid))
    ranking = policy.rank([{"id": "a", "country": "FR"}], VANILLA, context=context)
    found = {label for label, _ in ranking.reasons[0]}
    assert found == {
        "id=a", "brand=visa", "context country=DE",
        "country=FR", "country=FR x brand=visa", "country=FR x context country=DE",
    }  # fmt: skip
    assert "context country=DE" in ranking.explain()
    crossed = "id x context country, id x brand, country x context country, country x brand"
    assert f"  crossed: {crossed}" in str(policy.schema)


def test_receipts_keep_names_rows_and_reasons_in_every_form():
    ranking = ranked()
    text = json.dumps(ranking.to_dict())
    for again in (
        Ranking.from_bytes(ranking.to_bytes()),
        Ranking.from_dict(ranking.to_dict()),
        Ranking.from_dict(json.loads(text)),
        Ranking.from_dict(json.loads(text, parse_int=lambda digits: int(float(digits)))),  # as js
        pickle.loads(pickle.dumps(ranking)),
    ):
        assert again == ranking
        assert (again.ids, again.reasons) == (ranking.ids, ranking.reasons)
        assert again.explain() == ranking.explain()
        assert again.features == ranking.features
        turned = again.subset([2, 0])
        assert turned == ranking.subset([2, 0])
        assert turned.ids == ["stripe", "adyen"]
        for part in ("order", "probabilities", "estimates"):
            assert getattr(turned, part).tolist() == getattr(ranking, part)[[2, 0]].tolist()


def spoiled(change):
    tree = ranked().to_dict()
    change(tree)
    return tree


BAD_RECEIPTS = {
    "ids": lambda tree: tree["ids"].pop(),
    "reasons": lambda tree: tree["reasons"].pop(),
    "reason": lambda tree: tree["reasons"].__setitem__(0, [["only a label"]]),
    "rows": lambda tree: tree["rows"].pop("keys"),
    "shape": lambda tree: tree["rows"]["keys"].pop(),
    "width": lambda tree: tree["rows"]["candidate"][0].__setitem__(2, 5),
    "kind": lambda tree: tree["rows"]["candidate"][0].__setitem__(1, "odd"),
    "twice": lambda tree: tree["rows"]["candidate"][1].__setitem__(0, "id"),
    "widths": lambda tree: tree["rows"]["candidate"].extend(
        [["long", "tags", 5000], ["short", "tags", -5000]]
    ),
    "large": lambda tree: tree["rows"]["numbers"][0].__setitem__(0, 1e200),
    "number": lambda tree: tree["rows"]["numbers"][0].__setitem__(0, math.inf),
    "raw": lambda tree: tree["rows"]["raw"][0].__setitem__(0, math.inf),
    "key": lambda tree: tree["rows"]["keys"][0].__setitem__(0, -1),
    "layout": lambda tree: tree["rows"].update(context=[3]),
}


def test_a_receipt_that_is_none_is_refused_and_one_of_other_rows_changes_nothing():
    for change in BAD_RECEIPTS.values():
        with pytest.raises(BadFile, match=r"^not (a ranking|the rows of a ranking): "):
            Ranking.from_dict(spoiled(change))
    policy, arrays = taught(), UCB(Ridge(2), exploration=0.1)
    before = policy.to_bytes()
    for learner, receipt, rule in (
        (policy, Random(rng=1).rank(["a", "b"], VANILLA), "have rows to learn from"),
        (policy, arrays.rank(np.eye(2), VANILLA), "be of records, .* got one of arrays$"),
        (arrays, ranked(), "be of arrays of numbers, which .*, got one of records$"),
    ):
        with pytest.raises(InvalidInput, match=f"^ranking must {rule}"):
            learner.learn(receipt, Outcome(1, True))
    assert policy.to_bytes() == before


def test_a_receipt_of_another_policy_teaches_the_same_in_memory_and_as_bytes():
    other = recommended(schema=Schema(cross=[("id", "brand")]))
    given = {"context": {"brand": "visa", "country": "DE"}}
    ranking = recommended().rank([{"id": "a", "fee": 1.0}, {"id": "b"}], VANILLA, **given)
    again = from_bytes(other.to_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of country, which other does not cross
        other.learn(ranking, Outcome(1, True))
        again.learn(Ranking.from_bytes(ranking.to_bytes()), Outcome(1, True))
    assert other.to_bytes() == again.to_bytes()


def test_the_key_of_a_free_place_is_not_learned():
    policy, tree = recommended(), ranked().to_dict()
    tree["rows"]["keys"] = [[0] * len(row) for row in tree["rows"]["keys"]]
    policy.learn(Ranking.from_dict(tree), Outcome(1, True))
    assert from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()  # its table is sound


# -- policies -------------------------------------------------------------------------------------


def test_recommended_without_dim_is_what_its_documentation_says():
    schema = Schema({"amount": Number(log=True)}, ignore=["trace"])
    policy = recommended(max_budget=3, schema=schema)
    assert isinstance(policy, UCB)
    assert isinstance(policy.learner, Blocks)
    assert isinstance(policy.features, Records)
    assert (policy.exploration, policy.draws, policy.foresight, policy.probing) == (
        *(0.04, 0.15, 10),
        True,
    )
    assert policy.schema is policy.features.schema
    context = {"amount": 3.0, "trace": object()}
    policy.learn(policy.rank(["a"], VANILLA, context=context), Outcome(1, True))
    assert "context amount: number (log), declared" in str(policy.schema)
    assert repr(schema) in repr(policy)
    assert "Blocks(columns=262144" in repr(policy)
    with pytest.raises(AttributeError, match="this policy has no schema"):
        _ = UCB(Laplace(2), exploration=0.1).schema
    assert UCB(Blocks(), exploration=0.1).features.sparse


def test_draws_of_a_ucb_are_never_below_the_estimate_and_those_of_thompson_are():
    for policy in (
        UCB(Blocks(), exploration=0.0, draws=1.0, rng=1),
        Thompson(Laplace(3), rng=1),
        Thompson(Blocks(), rng=1),
    ):
        items = np.eye(3) if policy.learner.dim else ["a", "b", "c"]
        gaps = [
            ranking.probabilities - ranking.estimates
            for ranking in (policy.rank(items, VANILLA) for _ in range(200))
        ]
        below = np.mean(np.concatenate(gaps) < 0.0)
        assert (below == 0.0) if isinstance(policy, UCB) else (0.4 < below < 0.6)


def test_draws_have_the_width_of_the_belief():
    policy = UCB(Blocks(), exploration=0.0, draws=0.5, rng=2)
    [width] = policy.learner.score(policy.rank(["a"], VANILLA).features)[1]
    odds = []
    for _ in range(2000):
        p = policy.rank(["a"], VANILLA).probabilities[0]
        odds.append(math.log(p / (1.0 - p)))
    mean, square = 0.9 + 0.1 * 6.0, 0.9 + 0.1 * 6.0**2  # one in ten is six times as wide
    assert np.mean(odds) == pytest.approx(mean * 0.5 * width * math.sqrt(2.0 / math.pi), rel=0.06)
    assert np.mean(np.square(odds)) == pytest.approx(square * (0.5 * width) ** 2, rel=0.12)


def test_probing_finds_out_where_draws_would_give_up_permanently():
    costly, tries = Payoffs.linear(1, attempt_cost=0.6), {}
    for probing in (True, False):
        policy = UCB(Blocks(), exploration=0.0, draws=0.01, rng=1, probing=probing)
        for _ in range(60):
            policy.learn(policy.receipt(["a"], costly, [0]), Outcome(1, False))
        lengths = []
        for _ in range(600):
            ranking = policy.rank(["a"], costly)
            lengths.append(len(ranking))
            policy.learn(ranking, Outcome(len(ranking), len(ranking) == 1))
        tries[probing] = sum(lengths), lengths[-1]
        assert (policy.given_up > 0) == probing
    assert tries[False] == (0, 0)
    assert tries[True][1] == 1


def test_an_order_may_name_candidates():
    items, context = [{"id": "a"}, {"id": "b"}, {"id": "c"}], {"brand": "visa"}
    policies = (
        PlackettLuce(Blocks(), temperature=1.0, rng=1),
        EpsilonGreedy(Blocks(), epsilon=0.5, rng=1),
        Random(rng=1),
    )
    for policy in policies:
        by_name = policy.propensities(items, VANILLA, ["c", "a"], context=context)
        by_place = policy.propensities(items, VANILLA, [2, 0], context=context)
        assert by_name.tolist() == by_place.tolist()
        assert policy.receipt(items, VANILLA, ["c", 0], context=context).ids == ["c", "a"]
    for order in (["d"], ["a", "a"]):
        with pytest.raises(InvalidInput, match=r"^order must "):
            policies[0].receipt(items, VANILLA, order)


def test_only_candidates_without_an_id_may_be_alike():
    alike = [{"fee": 0.1}, {"fee": 0.1}, {"id": None}, {"id": None}, {"id": math.nan}]
    for policy in (recommended(), Random(rng=1)):
        assert sorted(policy.rank(alike, Payoffs.vanilla(5)).ids) == [0, 1, 2, 3, 4]
        with pytest.raises(InvalidInput, match=r"^candidates must have unique ids, got 'a' twice$"):
            policy.receipt([*alike, "a", "a"], VANILLA, [0])
