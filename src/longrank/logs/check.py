"""What is wrong with a log, what can be done with it, and why not the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from longrank.logs.columns import CANDIDATE, COLUMNS, FEATURE_PREFIX, POSITION
from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.logs.problems import Problem, empty, keep

_ROUNDING = 1e-9
CERTAIN = 1.0 - _ROUNDING  # a propensity above this is 1


@dataclass(frozen=True)
class Ability:
    """One thing to do with a log; ``reason`` says why it can or cannot be done."""

    name: str
    possible: bool
    reason: str


@dataclass
class Checked:
    """What :func:`check` found."""

    name: str
    decisions: int = 0
    problems: list[Problem] = field(default_factory=list)
    more: int = 0  # problems beyond those kept
    with_items: int = 0
    with_payoffs: int = 0
    with_propensity: int = 0
    with_prefix: int = 0
    randomised: int = 0  # decisions that could have been others
    least: float = 1.0  # propensity
    most: float = 0.0
    tries: int = 0
    left_out: int = 0  # decisions that are not to be learned from
    ignored: tuple[str, ...] = ()  # columns that are none of ours

    def add(self, decision: Decision) -> None:
        """Count a decision that keeps all rules."""
        self.decisions += 1
        self.tries += decision.outcome.tried
        self.left_out += not decision.learned
        self.with_items += decision.items is not None
        self.with_payoffs += decision.payoffs is not None
        self.with_propensity += decision.propensity is not None
        self.with_prefix += decision.prefix is not None
        if decision.propensity is not None:
            self.randomised += decision.propensity < CERTAIN
            self.least = min(self.least, decision.propensity)
            self.most = max(self.most, decision.propensity)

    @property
    def abilities(self) -> list[Ability]:
        """Warm start, bounds, replay and the estimates, with the reasons."""
        if self.problems:
            total = len(self.problems) + self.more
            reason = f"{total} problems: nothing is learned from a log that breaks a rule"
            names = ("warm start", "bounds", "model", *_RANDOMISED)
            return [Ability(name, False, reason) for name in names]
        n = self.decisions
        missing = [
            f"{n - have} of {n} decisions have no {what}"
            for have, what in ((self.with_items, "items"), (self.with_payoffs, "payoffs"))
            if have < n
        ]
        sees = "; ".join(missing)
        teaches = f"{n} decisions with {self.tries} tries"
        if self.left_out:
            teaches += f"; {self.left_out} of them are not to be learned from"
        found = [Ability("warm start", self.left_out < n, teaches)]
        known = sees or "all candidates and payoffs are known"
        found += [Ability(name, not sees, known) for name in ("bounds", "model")]
        for name in _RANDOMISED:
            reason = sees or self._chance(name)
            found.append(
                Ability(name, not reason, reason or f"{self.randomised} decisions by chance")
            )
        return found

    def _chance(self, name: str) -> str:
        """Why the log has no support for an estimate; empty where it has."""
        n = self.decisions
        if self.with_propensity < n:
            return (
                f"{n - self.with_propensity} of {n} decisions have no propensity: either a "
                "deterministic policy made the log, or its chances were not kept"
            )
        if self.randomised == 0:
            return "every propensity is 1: a deterministic log shows only what it played"
        if name == "replay" and self.most > self.least * (1.0 + _ROUNDING):
            return (
                "the log's sequences were not equally likely (propensities from "
                f"{self.least:.3g} to {self.most:.3g}): use importance sampling, which corrects "
                "for that"
            )
        if name == "doubly robust" and self.with_prefix < n:
            return f"{n - self.with_prefix} of {n} decisions have no prefix_propensities"
        return ""


_RANDOMISED = ("replay", "importance sampling", "doubly robust")


def check(history: History) -> Checked:
    """Read the whole log once, in batches."""
    long = (POSITION, CANDIDATE)
    ignored = tuple(
        name
        for name in history.table_columns
        if name not in COLUMNS and name not in long and not name.startswith(FEATURE_PREFIX)
    )
    found = Checked(history.name, ignored=ignored)
    for one in history.read():
        if isinstance(one, Decision):
            found.add(one)
            continue
        found.more += keep(found.problems, one)
        found.decisions += one[0].row > 0
    if found.decisions == 0 and not found.problems:
        found.problems.append(empty(history.name))
    return found
