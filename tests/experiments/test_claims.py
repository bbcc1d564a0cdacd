"""The paper's claims as checks: on its own numbers, and on rows with known answers."""

import math

import pytest
from made_up import ROUNDS, as_published, row

from longrank.experiments import claims
from longrank.experiments.claims import agreement, agreements, random_orders, reached
from longrank.experiments.latent import few_topics, latent
from longrank.experiments.scores import Scores, score_cells
from longrank.experiments.tables import MNIST


def ours(short: int = 0, missing: int = 0, gap: float = 0.021, **more: str) -> Scores:
    """The paper's numbers of Ind and Dep on MNIST: some lower, some not there."""
    rows = [one | more for one in as_published("ind", "dep", tasks=MNIST)]
    for one in rows[:short]:
        one["ncr_published"] -= gap
    return score_cells(rows[: len(rows) - missing])


def test_ten_of_two_hundred_numbers_may_be_missed():
    for short, missing, holds in [
        (0, 0, True),
        (10, 0, True),
        (11, 0, False),
        (0, 10, True),
        (0, 11, None),
        (11, 50, False),
    ]:
        one = agreements(ours(short, missing))[0]
        assert (one.total, one.reached) == (200, 200 - short - missing)
        assert one.holds is holds
        assert reached(one).holds is holds
    assert agreements(ours(200, gap=0.02))[0].shortfalls == ()  # lower by exactly the tolerance


def test_a_verdict_that_a_coarse_grid_cannot_reach_says_so():
    found = ours(11)
    assert {score.grid for score in found.values()} == {"quick"}
    check = reached(agreements(found)[0])
    assert check.verdict == "not with the quick grid, which is coarser than the paper's"
    assert reached(agreements(ours(11, grid="paper"))[0]).verdict == "does not hold"
    trailing = [row(p, x, scenario="exponential") for p, x in (("ind", 90.0), ("dep", 80.0))]
    assert "quick grid" in claims.dep_leads(score_cells(trailing)).verdict
    assert reached(agreements(ours())[0]).verdict == "holds"


def test_numbers_are_counted_by_policy_and_the_missed_ones_listed_with_the_reason():
    found = score_cells([*as_published("eps", "c-ucb1", tasks=MNIST), row("gl-cdcm", 60.0)])
    one = agreements(found)[1]
    counts = ["Rand: 0 of 0", "Eps: 50 of 50", "C-UCB1: 50 of 50", "GL-CDCM: 0 of 1"]
    assert one.by_policy() == counts
    [short] = one.shortfalls
    assert (short.score.key.policy, short.published) == ("gl-cdcm", 0.98)
    assert short.difference == pytest.approx(50 / 91 - 0.98)
    for made, reason in [
        (row("ind", 60.45), "CR is 36.0 of 100 too low"),
        (row("ind", 100.0, budget=50, cr_rand=99.0), "a CR_rand of 97.7, ours is 99.0"),
    ]:
        [short] = agreement(score_cells([made]), MNIST, ["ind", "rand"], ["vanilla"]).shortfalls
        assert reason in short.reason
    rows = as_published("ind", tasks=MNIST)
    rows = [one for one in rows if (one["task"], one["budget"]) != ("mnist-0", 50)]
    check = reached(agreements(score_cells([*rows, made]))[0])  # nobody could earn more
    assert "in 1 of the other 1, no policy can earn more" in check.figure


def test_numbers_are_counted_both_ways_at_the_two_decimals_of_the_tables():
    rows = as_published("ind", "dep", tasks=("mnist-0",))
    off = (0.0, 0.024, -0.024, 0.026, -0.026, 0.5, -0.3, 0.0, 0.0, 0.0)
    for policy in ("ind", "dep"):
        mine = [one for one in rows if one["policy"] == policy]
        for one, step in zip(mine, off, strict=True):
            one["ncr_published"] += step if policy == "ind" else abs(step)
    rows.append(row("ind", 1.0, settings={"rate": 2}))  # a second, worse setting
    ind, dep = agreements(score_cells(rows))[0].closeness()
    assert (ind.policy, ind.settings, ind.within, ind.above, ind.below) == ("ind", 2, 6, 2, 2)
    assert (dep.policy, dep.settings, dep.within, dep.above, dep.below) == ("dep", 1, 6, 4, 0)
    assert ind.cells == dep.cells == 10


def test_rand_is_zero_next_to_the_papers_numbers_and_may_be_off_by_chance_only():
    for reward, holds in [(70.0, True), (35.0, False)]:
        made = row("rand", reward, cr_rand=60.0, curve=[0.0, 1.0] * (ROUNDS // 2))
        check = random_orders(score_cells([made]))  # the standard error is 5
        assert check.holds is holds
    [score] = score_cells([made]).values()
    assert (score.ncr_published, score.cumulative_reward) == (0.0, 35.0)
    assert score.ncr == pytest.approx(-25 / 40)  # elsewhere it is what was measured
    assert random_orders({}).holds is None


def test_large_budgets_make_policies_equal():
    for worst, holds in [(99.0, True), (97.0, False)]:
        rows = [row("ind", 100.0, budget=budget) for budget in (1, 50, 100)]
        rows += [row("rand", x, budget=b) for b, x in ((1, 10.0), (50, worst), (100, 100.0))]
        check = claims.large_budgets(score_cells(rows))
        assert check.holds is holds
        assert "0.900 at b = 1" in check.figure
        assert claims.large_budgets(score_cells(rows[:2])).holds is None


def test_the_papers_own_numbers_agree_with_its_trends_and_a_world_that_does_not_is_noticed():
    found = score_cells(as_published())
    assert claims.small_budgets(found).holds
    assert claims.dep_leads(found).holds
    assert claims.dep_trails(found).holds
    assert claims.dep_trails(found).figure == "ours: 3, 4, 5, 8, 9 (of 10 classes)"
    policies = ("rand", "eps", "c-ucb1", "gl-cdcm", "ind", "dep")
    rows = [row(policy, 50.0 + i) for i, policy in enumerate(reversed(policies))]
    rows += [row("ind", 90.0, scenario="exponential"), row("dep", 80.0, scenario="exponential")]
    found = score_cells(rows)
    assert claims.small_budgets(found).holds is False
    assert claims.small_budgets(found).figure.startswith("best in 0 of 1 cell (")
    assert claims.dep_leads(found).holds is False
    assert claims.dep_trails(found).holds is None  # one class and one budget only


def test_trends_are_checked_held_out_too():
    def with_held_out(policy, on_the_grid, elsewhere):
        kept = row(policy, elsewhere, scenario="exponential", seed=1, protocol="held-out")
        return [row(policy, on_the_grid, scenario="exponential"), kept]

    rows = [*with_held_out("ind", 80.0, 80.0), *with_held_out("dep", 90.0, 70.0)]
    by_sentence = {check.sentence: check for check in claims.checks(rows, score_cells(rows))}
    said = "n the exponential scenario Dep is generally at least as good as Ind"
    assert by_sentence[f"I{said}"].holds is True
    assert by_sentence[f"Held out: i{said}"].holds is False
    assert claims.held_out(score_cells([row("ind", 80.0)])) == {}


def test_the_slower_policy_is_found():
    for times, holds in [(20.0, True), (2.0, False)]:
        rows = [row("ind", seconds=1e-3), row("gl-cdcm", seconds=1e-3 * times)]
        check = claims.slower(score_cells(rows))
        assert check.holds is holds
        assert check.figure == f"{times:.0f} times at b = 1"


def classes(gmm, dep, topics: int = 30, pivots: int = 10):
    """Ind earns 80 on every class; Dep and Ind on the latent space what the functions say."""
    rows = []
    for pivot in range(pivots):
        task = f"mnist-{pivot}"
        rows.append(row("ind", 80.0, task=task))
        rows.append(row("ind-gmm", gmm(pivot), task=task, settings={"topics": topics}))
        rows.append(row("dep", dep(pivot), task=task, settings={"topics": topics}))
    return rows


def test_the_correlation_of_figure_3_is_that_of_dep_and_of_what_ind_loses():
    rows = classes(lambda pivot: 75.0 + pivot, lambda pivot: 60.0 + 3 * pivot)
    one = latent(score_cells(rows), "vanilla", 1)
    assert one.complete
    assert one.dep == tuple(60.0 + 3 * pivot for pivot in range(10))
    assert one.difference == tuple(pivot - 5.0 for pivot in range(10))
    assert one.lead == tuple(3.0 * pivot - 20.0 for pivot in range(10))
    assert one.correlation == pytest.approx(1.0)
    check = claims.correlated(score_cells(rows), "vanilla", 1)
    assert check.holds is True
    assert check.figure.endswith("on classes: 0, 1, 2, 3, 4")


def test_no_correlation_is_told_as_such_and_few_classes_decide_nothing():
    falling = classes(lambda pivot: 75.0 + pivot, lambda pivot: 90.0 - pivot)
    assert claims.correlated(score_cells(falling), "vanilla", 1).holds is False
    assert claims.correlated(score_cells(falling[:-1]), "vanilla", 1).holds is None
    assert claims.correlated({}, "vanilla", 1).figure == "no results"
    flat = latent(score_cells(classes(lambda _: 75.0, lambda _: 70.0)), "vanilla", 1)
    assert math.isnan(flat.correlation)


def test_mixtures_with_few_components_are_looked_at_by_themselves():
    good = classes(lambda _: 90.0, lambda _: 95.0)
    few = classes(lambda pivot: 75.0 + pivot, lambda pivot: 60.0 + pivot, topics=5)
    found = few_topics([*good, *few], 10)
    assert latent(score_cells([*good, *few]), "vanilla", 1).dep == (95.0,) * 10
    assert latent(found, "vanilla", 1).dep[:2] == (60.0, 61.0)


def test_every_check_has_a_sentence_a_figure_and_a_verdict():
    for rows in ([], as_published()):
        found = claims.checks(rows, score_cells(rows))
        assert len({check.sentence for check in found}) == len(found) == 15
        for check in found:
            assert check.figure
            assert check.verdict in ("holds", "does not hold", "not enough results")
    assert all(check.holds is None for check in claims.checks([], {}))
