"""What the paper says of its results, as checks on ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from longrank.experiments.agreement import TOLERANCE, agreements, chance, reached
from longrank.experiments.check import Check
from longrank.experiments.latent import PANELS, SIGNIFICANT, few_topics, latent
from longrank.experiments.results import Row
from longrank.experiments.scores import Key, Score, Scores
from longrank.experiments.settings import BUDGETS
from longrank.experiments.tables import MNIST, PAPER_TASKS, SIX, published

LARGE, SMALL = (50, 100), (1, 5)  # budgets
FAR = 5.0  # times slower is far slower
FEW = 10  # components of a mixture are few up to here


def checks(rows: Sequence[Row], found: Scores) -> list[Check]:
    """All of them."""
    few = few_topics(rows, FEW)
    return [
        *(reached(one) for one in agreements(found)),
        chance(found),
        large_budgets(found),
        small_budgets(found),
        dep_leads(found),
        dep_trails(found),
        slower(found),
        *(correlated(found, *panel) for panel in PANELS),
        *(correlated(few, *panel, most=FEW) for panel in PANELS),
    ]


def large_budgets(found: Scores) -> Check:
    """The vanilla scenario does not tell policies apart once the budget is large."""
    spreads: dict[int, float] = {}
    for task in PAPER_TASKS:
        for budget in BUDGETS:
            ours = _row(found, task, "vanilla", budget, SIX)
            if len(ours) > 1:
                means = [score.cumulative_reward / score.rounds for score in ours.values()]
                spreads[budget] = max(spreads.get(budget, 0.0), max(means) - min(means))
    large = [spread for budget, spread in spreads.items() if budget in LARGE]
    listed = ", ".join(f"{x:.3f} at b = {b}" for b, x in sorted(spreads.items()))
    return Check(
        "In the vanilla scenario large budgets make all policies equal, Rand among them "
        f"(CR / T within {TOLERANCE} at b = {LARGE[0]} and {LARGE[1]})",
        f"largest difference of CR / T on any task: {listed}" if listed else "no results",
        max(large) < TOLERANCE if len(large) == len(LARGE) else None,
    )


def small_budgets(found: Scores) -> Check:
    """The baselines seldom win in the vanilla scenario."""
    ours = theirs = cells = 0
    for task in PAPER_TASKS:
        for budget in SMALL:
            here = _row(found, task, "vanilla", budget, SIX)
            if len(here) == len(SIX):
                paper = {p: published()[score.key].ncr for p, score in here.items()}
                cells += 1
                ours += _wins({p: round(s.ncr_published, 2) for p, s in here.items()})
                theirs += _wins(paper)
    return Check(
        f"In the vanilla scenario with small budgets (b = {SMALL[0]}, {SMALL[1]}) the winner is "
        "mostly Ind or Dep",
        f"best in {ours} of {cells} cells (in the paper {theirs})" if cells else "no results",
        ours > cells / 2 if cells else None,
    )


def dep_leads(found: Scores) -> Check:
    """Dep against Ind, cell by cell."""
    leads = [(_leads(found, task), _published_leads(task)) for task in PAPER_TASKS]
    ours = [lead >= 0 for mine, _ in leads for lead in mine.values()]
    theirs = sum(paper[budget] >= 0 for mine, paper in leads for budget in mine)
    return Check(
        "In the exponential scenario Dep is generally at least as good as Ind",
        f"in {sum(ours)} of {len(ours)} cells (in the paper {theirs})" if ours else "no results",
        sum(ours) > len(ours) / 2 if ours else None,
    )


def dep_trails(found: Scores) -> Check:
    """The pivot classes on which Dep is worse than Ind, on average over the budgets."""
    leads = {task: _leads(found, task) for task in MNIST}
    whole = [task for task, lead in leads.items() if len(lead) == len(BUDGETS)]
    ours = [task[-1] for task in whole if fmean(leads[task].values()) < -TOLERANCE]
    theirs = [t[-1] for t in MNIST if fmean(_published_leads(t).values()) < -TOLERANCE]
    return Check(
        f"In the exponential scenario Dep is behind Ind on the classes {', '.join(theirs)} of "
        f"MNIST and on no others (by more than {TOLERANCE}, mean over the budgets)",
        f"ours: {', '.join(ours) or 'none'}, of {len(whole)} classes" if whole else "no results",
        ours == theirs if len(whole) == len(MNIST) else None,
    )


def slower(found: Scores) -> Check:
    """Running times of a round, as medians over the tasks."""
    ratios = {}
    for budget in BUDGETS:
        rows = [_row(found, t, "vanilla", budget, ("ind", "gl-cdcm")) for t in PAPER_TASKS]
        both = [row for row in rows if len(row) == 2]
        if both:
            ratios[budget] = median(row["gl-cdcm"].seconds / row["ind"].seconds for row in both)
    return Check(
        f"GL-CDCM is far slower than Ind (at least {FAR:.0f} times at every budget, vanilla)",
        ", ".join(f"{x:.0f} times at b = {b}" for b, x in ratios.items()) or "no results",
        min(ratios.values()) >= FAR if ratios else None,
    )


def correlated(found: Scores, scenario: str, budget: int, most: int | None = None) -> Check:
    """Figure 3, with all numbers of components or only with few."""
    one = latent(found, scenario, budget)
    few = "" if most is None else f" when mixtures have at most {most} components"
    pairs = zip(one.classes, one.lead, one.difference, strict=True)
    both = ", ".join(str(pivot) for pivot, lead, x in pairs if lead < 0 and x < 0) or "none"
    size = "none" if math.isnan(one.correlation) else f"{one.correlation:.2f}"
    figure = (
        f"correlation {size} over {len(one.classes)} classes; Dep and Ind in the "
        f"latent space both earn less than Ind on the classes: {both}"
    )
    return Check(
        f"Figure 3, {scenario}, b = {budget}{few}: over the classes of MNIST, Dep's CR goes with "
        f"what Ind loses in Dep's latent space (correlation above {SIGNIFICANT})",
        figure if one.classes else "no results",
        one.correlation > SIGNIFICANT if one.complete else None,
    )


def _row(
    found: Scores, task: str, scenario: str, budget: int, policies: Sequence[str]
) -> dict[str, Score]:
    keys = [Key(task, scenario, budget, policy) for policy in policies]
    return {key.policy: found[key] for key in keys if key in found}


def _wins(values: dict[str, float]) -> bool:
    return max(values["ind"], values["dep"]) >= max(values.values())


def _leads(found: Scores, task: str) -> dict[int, float]:
    """Dep minus Ind at two decimals, as in the tables, for each budget that has both."""
    rows = {b: _row(found, task, "exponential", b, ("ind", "dep")) for b in BUDGETS}
    return {
        budget: round(round(row["dep"].ncr_published, 2) - round(row["ind"].ncr_published, 2), 2)
        for budget, row in rows.items()
        if len(row) == 2
    }


def _published_leads(task: str) -> dict[int, float]:
    number = published()
    keys = {b: [Key(task, "exponential", b, policy) for policy in ("dep", "ind")] for b in BUDGETS}
    return {b: round(number[dep].ncr - number[ind].ncr, 2) for b, (dep, ind) in keys.items()}
