"""The paper's claims about its results, checked on ours."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import NamedTuple, TypeVar

from longrank.document.numbers import counted
from longrank.experiments.latent import PANELS, SIGNIFICANT, few_topics, latent
from longrank.experiments.results import ResultRow
from longrank.experiments.scores import Key, Score, Scores, mean
from longrank.experiments.settings import BUDGETS
from longrank.experiments.tables import MNIST, PAPER_TASKS, SIX, label, published

TOLERANCE = 0.02  # ours may be this much lower: the published numbers have two decimals
ENOUGH = 0.95  # share of the numbers
ERRORS = 4.0  # standard errors that chance alone hardly exceeds
LARGE, SMALL = (50, 100), (1, 5)  # budgets
FAR = 5.0  # times slower counts as far slower
FEW = 10  # components of a mixture at most count as few
T = TypeVar("T")
NOTHING = "no results"  # the figure of a claim about what was not run


@dataclass(frozen=True)
class Check:
    """A claim, the numbers for or against it, and whether it holds.

    ``holds`` is None if there are not enough results to decide. ``coarse`` says that a coarser
    grid than the paper's was searched, so that better settings may not have been tried.
    """

    sentence: str
    figure: str
    holds: bool | None
    coarse: bool = False

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.coarse and self.holds is False:
            return "not with the quick grid, which is coarser than the paper's"
        return {True: "holds", False: "does not hold", None: "not enough results"}[self.holds]


def checks(rows: Sequence[ResultRow], scores: Scores) -> list[Check]:
    """Check all claims."""
    few = few_topics(rows, FEW)
    other = held_out(scores)
    return [
        *map(reached, agreements(scores)),
        random_orders(scores),
        large_budgets(scores),
        small_budgets(scores),
        dep_leads(scores),
        dep_trails(scores),
        *(
            replace(check, sentence=f"Held out: {check.sentence[0].lower()}{check.sentence[1:]}")
            for check in (small_budgets(other), dep_leads(other), dep_trails(other))
        ),
        slower(scores),
        *(correlated(scores, *panel) for panel in PANELS),
        *(correlated(few, *panel, max_topics=FEW) for panel in PANELS),
    ]


def held_out(scores: Scores) -> Scores:
    """Return the scores that have held-out shuffles, with their mean as ``ncr_published``."""
    return {
        key: replace(score, ncr_published=ncr)
        for key, score in scores.items()
        if (ncr := mean(score.held_out, "ncr_published")) is not None
    }


@dataclass(frozen=True)
class Shortfall:
    """A score below the published number by more than the tolerance."""

    score: Score
    published: float

    @property
    def difference(self) -> float:
        """Ours minus the published value."""
        return self.score.ncr_published - self.published

    @property
    def reason(self) -> str:
        """What the numbers say about the cause; otherwise the missing reward."""
        score, needed = self.score, self.published - TOLERANCE
        if score.perfect and self.published < 1.0:
            theirs = score.cr_max - self.published / (1.0 - self.published)
            return (
                "no policy can earn more here; the paper's number implies a CR_rand of "
                f"{theirs:.1f}, ours is {score.cr_rand:.1f}"
            )
        missing = (needed - score.ncr_published) * (score.cr_max - score.cr_rand + 1.0)
        return f"CR is {missing:.1f} of {score.cr_max:.0f} too low"


class Closeness(NamedTuple):
    """A policy's scores against the published numbers, at the two decimals of the tables.

    ``settings`` is the size of its grid: the best of more settings scores higher by luck alone.
    ``cells`` is the number of scores that were compared.
    """

    policy: str
    settings: int
    cells: int
    within: int
    above: int
    below: int


@dataclass(frozen=True)
class Agreement:
    """A comparison of some tasks, policies and scenarios with the paper."""

    policies: tuple[str, ...]
    scores: tuple[Score, ...]
    shortfalls: tuple[Shortfall, ...]
    total: int  # published numbers, including those without a score of ours

    @property
    def reached(self) -> int:
        """The number of published values that are reached."""
        return len(self.scores) - len(self.shortfalls)

    @property
    def holds(self) -> bool | None:
        """Whether enough numbers are reached; None if missing results could still decide."""
        if self.reached >= ENOUGH * self.total:
            return True
        return False if self.total - len(self.shortfalls) < ENOUGH * self.total else None

    def by_policy(self) -> list[str]:
        """Describe the count of each policy."""
        lines = []
        for policy in self.policies:
            ours = sum(score.key.policy == policy for score in self.scores)
            short = sum(each.score.key.policy == policy for each in self.shortfalls)
            lines.append(f"{label(policy)}: {ours - short} of {ours}")
        return lines

    def closeness(self) -> list[Closeness]:
        """Count the scores of each policy within the tolerance, and those above and below it."""
        counts = []
        for policy in self.policies:
            ours = [score for score in self.scores if score.key.policy == policy]
            apart = [round(round(s.ncr_published, 2) - published()[s.key], 2) for s in ours]
            above, below = sum(x > TOLERANCE for x in apart), sum(x < -TOLERANCE for x in apart)
            settings = max((score.tried for score in ours), default=0)
            within = len(apart) - above - below
            counts.append(Closeness(policy, settings, len(apart), within, above, below))
        return counts


def agreement(
    scores: Scores, tasks: Sequence[str], policies: Sequence[str], scenarios: Sequence[str]
) -> Agreement:
    """Compare ``ncr_published`` of the best settings with the published numbers."""
    numbers = {
        key: number
        for key, number in published().items()
        if key.task in tasks and key.policy in policies and key.scenario in scenarios
    }
    ours = [scores[key] for key in numbers if key in scores]
    short = [
        Shortfall(score, numbers[score.key])
        for score in ours
        if score.ncr_published < numbers[score.key] - TOLERANCE - 1e-9
    ]
    return Agreement(tuple(policies), tuple(ours), tuple(short), len(numbers))


def agreements(scores: Scores) -> list[Agreement]:
    """Compare on MNIST: the paper's algorithms in both scenarios, its baselines in vanilla."""
    return [
        agreement(scores, MNIST, ("ind", "dep"), ("vanilla", "exponential")),
        agreement(scores, MNIST, ("rand", "eps", "c-ucb1", "gl-cdcm"), ("vanilla",)),
    ]


def reached(agreed: Agreement) -> Check:
    """Check how many of the published numbers are reached."""
    names = ", ".join(label(policy) for policy in agreed.policies)
    where = "vanilla and exponential" if "dep" in agreed.policies else "vanilla"
    sentence = (
        f"{names} on MNIST, {where}: `ncr_published` is at least the paper's number minus "
        f"{TOLERANCE} in {ENOUGH:.0%} of the {agreed.total} cells"
    )
    missing = agreed.total - len(agreed.scores)
    cells = counted(len(agreed.scores), "cell")
    figure = f"{agreed.reached} of {cells} ({'; '.join(agreed.by_policy())})"
    bound = sum(short.score.perfect for short in agreed.shortfalls)
    if bound:
        figure += f"; in {bound} of the other {len(agreed.shortfalls)}, no policy can earn more"
    figure = figure + (f"; {missing} not run" if missing else "") if agreed.scores else NOTHING
    return Check(sentence, figure, agreed.holds, _coarse(agreed.scores))


def random_orders(scores: Scores) -> Check:
    """Check one run of Rand against the mean of all: its NCR is 0 by construction."""
    errors = []
    for key, score in scores.items():
        if key.policy == "rand" and score.rewards is not None and score.rewards.std() > 0:
            error = float(score.rewards.std()) * math.sqrt(score.rounds / score.seeds)
            errors.append(abs(score.cumulative_reward - score.cr_rand) / error)
    largest = max(errors, default=0.0)
    return Check(
        "Rand earns the mean of random orders, up to sampling error (CR within "
        f"{ERRORS:.0f} standard errors of CR_rand); its NCR is 0 by construction, as in the paper",
        f"largest distance in {counted(len(errors), 'cell')}: {largest:.1f} standard errors"
        if errors
        else NOTHING,
        largest < ERRORS if errors else None,
    )


def large_budgets(scores: Scores) -> Check:
    """Check that large budgets make all policies equal in the vanilla scenario."""
    spreads: dict[int, float] = {}
    for task, budget in itertools.product(PAPER_TASKS, BUDGETS):
        ours = _row(scores, task, "vanilla", budget, SIX)
        if len(ours) > 1:
            means = [score.cumulative_reward / score.rounds for score in ours.values()]
            spreads[budget] = max(spreads.get(budget, 0.0), max(means) - min(means))
    large = [spread for budget, spread in spreads.items() if budget in LARGE]
    listed = ", ".join(f"{x:.3f} at b = {b}" for b, x in sorted(spreads.items()))
    return Check(
        "In the vanilla scenario large budgets make all policies equal, including Rand "
        f"(CR / T within {TOLERANCE} at b = {LARGE[0]} and {LARGE[1]})",
        f"largest difference of CR / T on any task: {listed}" if listed else NOTHING,
        max(large) < TOLERANCE if len(large) == len(LARGE) else None,
    )


def small_budgets(scores: Scores) -> Check:
    """Check that the baselines seldom win in the vanilla scenario."""
    ours = theirs = cells = 0
    numbers = _decimals(scores)
    for task, budget in itertools.product(PAPER_TASKS, SMALL):
        here = _row(numbers, task, "vanilla", budget, SIX)
        if len(here) == len(SIX):
            cells += 1
            ours += _wins(here)
            theirs += _wins(_row(published(), task, "vanilla", budget, SIX))
    return Check(
        f"In the vanilla scenario with small budgets (b = {SMALL[0]}, {SMALL[1]}) the winner is "
        "mostly Ind or Dep",
        f"best in {ours} of {counted(cells, 'cell')} (in the paper {theirs})" if cells else NOTHING,
        ours > cells / 2 if cells else None,
        _coarse(scores.values()),
    )


def dep_leads(scores: Scores) -> Check:
    """Check Dep against Ind, cell by cell."""
    numbers = _decimals(scores)
    leads = [(_leads(numbers, task), _leads(published(), task)) for task in PAPER_TASKS]
    ours = [lead >= 0 for mine, _ in leads for lead in mine.values()]
    theirs = sum(paper[budget] >= 0 for mine, paper in leads for budget in mine)
    return Check(
        "In the exponential scenario Dep is generally at least as good as Ind",
        f"in {sum(ours)} of {counted(len(ours), 'cell')} (in the paper {theirs})"
        if ours
        else NOTHING,
        sum(ours) > len(ours) / 2 if ours else None,
        _coarse(scores.values()),
    )


def dep_trails(scores: Scores) -> Check:
    """Check on which pivot classes Dep is worse than Ind, on average over the budgets."""
    numbers = _decimals(scores)
    leads = {task: _leads(numbers, task) for task in MNIST}
    whole = [task for task, lead in leads.items() if len(lead) == len(BUDGETS)]
    ours = [task[-1] for task in whole if fmean(leads[task].values()) < -TOLERANCE]
    theirs = [t[-1] for t in MNIST if fmean(_leads(published(), t).values()) < -TOLERANCE]
    return Check(
        f"In the exponential scenario Dep is behind Ind on MNIST classes {', '.join(theirs)} "
        f"and no others (by more than {TOLERANCE}, mean over the budgets)",
        f"ours: {', '.join(ours) or 'none'} (of {len(whole)} classes)" if whole else NOTHING,
        ours == theirs if len(whole) == len(MNIST) else None,
        _coarse(scores.values()),
    )


def slower(scores: Scores) -> Check:
    """Check running times per round, as medians over the tasks."""
    ratios = {}
    for budget in BUDGETS:
        rows = [_row(scores, t, "vanilla", budget, ("ind", "gl-cdcm")) for t in PAPER_TASKS]
        both = [row for row in rows if len(row) == 2]
        if both:
            ratios[budget] = median(row["gl-cdcm"].seconds / row["ind"].seconds for row in both)
    return Check(
        f"GL-CDCM is far slower than Ind (at least {FAR:.0f} times at every budget, vanilla)",
        ", ".join(f"{x:.0f} times at b = {b}" for b, x in ratios.items()) or NOTHING,
        min(ratios.values()) >= FAR if ratios else None,
    )


def correlated(scores: Scores, scenario: str, budget: int, max_topics: int | None = None) -> Check:
    """Check Figure 3, with any number of components or only with few."""
    panel = latent(scores, scenario, budget)
    few = "" if max_topics is None else f" with mixtures of at most {max_topics} components"
    pairs = zip(panel.classes, panel.lead, panel.difference, strict=True)
    both = ", ".join(str(pivot) for pivot, lead, x in pairs if lead < 0 and x < 0) or "none"
    size = "none" if math.isnan(panel.correlation) else f"{panel.correlation:.2f}"
    figure = (
        f"correlation {size}, classes with results: {len(panel.classes)}; Dep, and Ind in the "
        f"latent space, both earn less than Ind on classes: {both}"
    )
    return Check(
        f"Figure 3, {scenario}, b = {budget}{few}: across MNIST classes, Dep's CR correlates "
        f"with what Ind loses in Dep's latent space (above {SIGNIFICANT})",
        figure if panel.classes else NOTHING,
        panel.correlation > SIGNIFICANT if panel.complete else None,
        _coarse(scores.values()),
    )


def _coarse(scores: Iterable[Score]) -> bool:
    """Return whether some of the paper's cells were searched with the quick grid."""
    return any(
        score.grid == "quick" and score.key.policy != "rand" and score.key.task in PAPER_TASKS
        for score in scores
    )


def _row(
    values: Mapping[Key, T], task: str, scenario: str, budget: int, policies: Sequence[str]
) -> dict[str, T]:
    keys = [Key(task, scenario, budget, policy) for policy in policies]
    return {key.policy: values[key] for key in keys if key in values}


def _decimals(scores: Scores) -> dict[Key, float]:
    """Return our numbers at two decimals, as in the tables."""
    return {key: round(score.ncr_published, 2) for key, score in scores.items()}


def _wins(values: dict[str, float]) -> bool:
    return max(values["ind"], values["dep"]) >= max(values.values())


def _leads(numbers: Mapping[Key, float], task: str) -> dict[int, float]:
    """Return Dep minus Ind for each budget that has both."""
    rows = {b: _row(numbers, task, "exponential", b, ("ind", "dep")) for b in BUDGETS}
    return {b: round(row["dep"] - row["ind"], 2) for b, row in rows.items() if len(row) == 2}
