"""How many of the published numbers we reach, which ones not, and what is known of why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longrank.experiments.check import Check
from longrank.experiments.scores import Score, Scores
from longrank.experiments.tables import LABELS, MNIST, published

TOLERANCE = 0.02  # ours may be this much lower: the published numbers have two decimals
ENOUGH = 0.95  # of the numbers
ERRORS = 4.0  # standard errors that chance alone hardly exceeds


@dataclass(frozen=True)
class Shortfall:
    """A score below the published number by more than the tolerance."""

    score: Score
    published: float

    @property
    def difference(self) -> float:
        return self.score.ncr_published - self.published

    @property
    def reason(self) -> str:
        """What the numbers themselves say of why; the missing reward where they say nothing."""
        score, needed = self.score, self.published - TOLERANCE
        if score.perfect and self.published < 1.0:
            theirs = score.cr_max - self.published / (1.0 - self.published)
            return (
                "no policy can earn more here; the paper's number means that its CR_rand was "
                f"{theirs:.1f}, ours is {score.cr_rand:.1f}"
            )
        missing = (needed - score.ncr_published) * (score.cr_max - score.cr_rand + 1.0)
        return f"CR is {missing:.1f} of {score.cr_max:.0f} too low"


@dataclass(frozen=True)
class Agreement:
    """The comparison of some tasks, policies and scenarios with the paper."""

    policies: tuple[str, ...]
    scores: tuple[Score, ...]
    shortfalls: tuple[Shortfall, ...]
    total: int  # published numbers, of which there may be some that we have no score for

    @property
    def reached(self) -> int:
        return len(self.scores) - len(self.shortfalls)

    @property
    def holds(self) -> bool | None:
        """Whether enough numbers are reached; None while missing results could still decide."""
        if self.reached >= ENOUGH * self.total:
            return True
        return False if self.total - len(self.shortfalls) < ENOUGH * self.total else None

    def by_policy(self) -> list[str]:
        """The count of each policy in words."""
        lines = []
        for policy in self.policies:
            ours = sum(score.key.policy == policy for score in self.scores)
            short = sum(one.score.key.policy == policy for one in self.shortfalls)
            lines.append(f"{LABELS[policy]}: {ours - short} of {ours}")
        return lines


def agreement(
    found: Scores, tasks: Sequence[str], policies: Sequence[str], scenarios: Sequence[str]
) -> Agreement:
    """Compare ``ncr_published`` of the best settings with the published numbers."""
    numbers = {
        key: number.ncr
        for key, number in published().items()
        if key.task in tasks and key.policy in policies and key.scenario in scenarios
    }
    ours = [found[key] for key in numbers if key in found]
    short = [
        Shortfall(score, numbers[score.key])
        for score in ours
        if score.ncr_published < numbers[score.key] - TOLERANCE - 1e-9
    ]
    return Agreement(tuple(policies), tuple(ours), tuple(short), len(numbers))


def agreements(found: Scores) -> list[Agreement]:
    """MNIST: the paper's own algorithms in both scenarios, its baselines in the one they have."""
    return [
        agreement(found, MNIST, ("ind", "dep"), ("vanilla", "exponential")),
        agreement(found, MNIST, ("rand", "eps", "c-ucb1", "gl-cdcm"), ("vanilla",)),
    ]


def reached(one: Agreement) -> Check:
    """How many of the published numbers we reach."""
    names = ", ".join(LABELS[policy] for policy in one.policies)
    where = "vanilla and exponential" if "dep" in one.policies else "vanilla"
    sentence = (
        f"{names} on MNIST, {where}: `ncr_published` is at least the paper's number minus "
        f"{TOLERANCE} in {ENOUGH:.0%} of the {one.total} cells"
    )
    missing = one.total - len(one.scores)
    figure = f"{one.reached} of {len(one.scores)} cells ({'; '.join(one.by_policy())})"
    bound = sum(short.score.perfect for short in one.shortfalls)
    if bound:
        figure += f"; in {bound} of the other {len(one.shortfalls)} no policy can earn more"
    return Check(sentence, figure + (f"; {missing} not run" if missing else ""), one.holds)


def chance(found: Scores) -> Check:
    """Rand's NCR is 0 by construction; here its one run is held against the mean of all."""
    errors = []
    for key, score in found.items():
        if key.policy == "rand" and score.rewards is not None and score.rewards.std() > 0:
            error = float(score.rewards.std()) * math.sqrt(score.rounds / score.seeds)
            errors.append(abs(score.cumulative_reward - score.cr_rand) / error)
    largest = max(errors, default=0.0)
    return Check(
        "Rand earns what random orders earn on average, up to chance (CR within "
        f"{ERRORS:.0f} standard errors of CR_rand): its NCR is 0 by construction, as in the paper",
        f"largest distance {largest:.1f}, of {len(errors)} cells" if errors else "no results",
        largest < ERRORS if errors else None,
    )
