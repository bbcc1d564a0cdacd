"""What a log can be used for, and why not for the rest."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from longrank.logs.batch import Batch
from longrank.logs.columns import PAID, is_known
from longrank.logs.history import History
from longrank.logs.violations import Violation, empty, keep

_ROUNDING = 1e-9
CERTAIN = 1.0 - _ROUNDING  # a propensity above this is 1

_PAYOFFS = (
    " (add the columns rewards and losses, or give the same payoffs to all decisions with "
    "--payoffs budget=3,attempt_cost=0.05 or History(payoffs=...))"
)

_NO_PROPENSITY = (
    ": either a deterministic policy made the log, or its probabilities were not recorded"
)
_CERTAIN_LOG = "every propensity is 1: a deterministic log shows only what it played"
_UNEQUAL = (
    "the log's sequences were not equally likely (propensities from {least:.3g} to {most:.3g}): "
    "use importance sampling, which corrects for that"
)

#: What each estimate needs of a log; :meth:`Checked.lacks` says why the log does not have it.
NEEDS = {
    "bounds": ("items", "payoffs"),
    "model": ("items", "payoffs"),
    "replay": ("items", "payoffs", "propensity", "chance", "equal propensities"),
    "importance sampling": ("items", "payoffs", "propensity", "chance"),
    "doubly robust": ("items", "payoffs", "propensity", "chance", "prefix_propensities"),
}


@dataclass(frozen=True)
class Ability:
    """A use of a log; ``reason`` says why it is possible or not."""

    name: str
    possible: bool
    reason: str


@dataclass
class Checked:
    """The result of :func:`check`."""

    name: str
    decisions: int = 0
    problems: list[Violation] = field(default_factory=list)
    more: int = 0  # problems beyond those kept
    with_items: int = 0  # or records
    with_payoffs: int = 0
    with_propensity: int = 0
    with_prefix: int = 0
    randomised: int = 0  # decisions that could have been different
    min_propensity: float = 1.0
    max_propensity: float = 0.0
    tries: int = 0
    missing: int = 0  # further decisions, without an outcome
    left_out: int = 0  # decisions that must not be learned from
    with_prices: int = 0  # decisions whose candidates have costs or values of their own
    with_outcome_costs: int = 0  # decisions whose outcome says what was really paid
    without_costs: int = 0  # decisions with attempts of which neither is known
    ignored: tuple[str, ...] = ()  # columns that are not part of the format
    fields: tuple[str, ...] = ()  # such columns that are fields of records or of their context

    def add(self, batch: Batch) -> None:
        """Count the decisions of a batch."""
        observed = batch.observed
        chances = batch.propensity[observed & ~np.isnan(batch.propensity)]
        prices = [payoffs.has_prices for payoffs in batch.payoffs]
        priced = np.array([*prices, False])[batch.pay]  # the last is that of no payoffs
        billed = batch.has(PAID)
        counted = {
            "decisions": observed,
            "missing": ~observed,
            "with_items": observed & (batch.has("items") | batch.has("candidates")),
            "with_payoffs": observed & (batch.pay >= 0),
            "with_prices": observed & priced,
            "with_outcome_costs": observed & billed,
            "without_costs": (batch.tried > 0) & ~priced & ~billed,
            "with_prefix": observed & batch.has("prefix_propensities"),
            "left_out": observed & ~np.array(batch.more.get("learned", True)),
        }
        for name, which in counted.items():
            setattr(self, name, getattr(self, name) + int(which.sum()))
        self.tries += int(batch.tried[observed].sum())
        self.with_propensity += len(chances)
        self.randomised += int((chances < CERTAIN).sum())
        self.min_propensity = float(chances.min(initial=self.min_propensity))
        self.max_propensity = float(chances.max(initial=self.max_propensity))

    def lacks(self, *needs: str) -> str:
        """Return why the log does not meet one of these needs; empty if it meets them all."""
        n, least, most = self.decisions, self.min_propensity, self.max_propensity

        def without(have: int, what: str, more: str = "") -> str:
            return f"{n - have} of {n} decisions have no {what}{more}" if have < n else ""

        equal = most <= least * (1.0 + _ROUNDING)
        reasons = {
            "items": without(self.with_items, "items"),
            "payoffs": without(self.with_payoffs, "payoffs", _PAYOFFS),
            "propensity": without(self.with_propensity, "propensity", _NO_PROPENSITY),
            "chance": "" if self.randomised else _CERTAIN_LOG,
            "equal propensities": "" if equal else _UNEQUAL.format(least=least, most=most),
            "prefix_propensities": without(self.with_prefix, "prefix_propensities"),
        }
        lacking = {need: why for need, why in reasons.items() if need in needs and why}
        together = [lacking[need] for need in ("items", "payoffs") if need in lacking]
        return "; ".join(together or [*lacking.values()][:1])

    @property
    def prices(self) -> str:
        """What the log says of prices; empty if nothing."""
        n = self.decisions
        counted = {
            "the candidates have prices": self.with_prices,
            "the outcome has actual costs": self.with_outcome_costs,
        }
        return "; ".join(f"{what} in {m} of {n} decisions" for what, m in counted.items() if m)

    @property
    def abilities(self) -> list[Ability]:
        """Warm start and the estimates, each with the reason why it is possible or not."""
        if self.problems:
            total = len(self.problems) + self.more
            problems = "1 problem" if total == 1 else f"{total} problems"
            reason = f"{problems}: nothing is learned from a log that breaks a rule"
            return [Ability(name, False, reason) for name in ("warm start", *NEEDS)]
        teaches = f"{self.decisions} decisions with {self.tries} attempts"
        if self.left_out:
            teaches += f"; {self.left_out} of them excluded from learning"
        if self.missing:
            teaches += f"; {self.missing} more without an outcome"
        uses = [Ability("warm start", self.left_out < self.decisions, teaches)]
        for name, needs in NEEDS.items():
            reason = self.lacks(*needs)
            able = "all candidates and payoffs are known"
            if "chance" in needs:
                able = f"{self.randomised} randomised decisions"
            uses.append(Ability(name, not reason, reason or able))
        return uses


def check(source: Any) -> Checked:
    """Read a log once, in batches; report its problems and what it can be used for.

    ``source`` is a :class:`History` or anything it accepts: a file, a frame, a list of
    dictionaries.
    """
    history = History.of(source)
    own = [name for name in history.table_columns if not is_known(name)]
    ignored = tuple(name for name in own if name not in history.fields)
    checked = Checked(history.name, ignored=ignored, fields=history.fields)
    for part in history.read():
        if isinstance(part, Batch):
            checked.add(part)
            continue
        checked.more += keep(checked.problems, part)
        checked.decisions += part[0].row > 0
    if checked.decisions == 0 and not checked.problems:
        checked.problems.append(empty(history.name))
    return checked
