"""The verdict on a policy: what it would earn, with what confidence, and what to do about it."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from longrank import notebook
from longrank.document.numbers import plain_number, rounded
from longrank.logs.evaluation.estimators import Estimate

LOGGED = "the log itself"
PLAYED = "what was played"
_ENORMOUS = 10.0  # a gain so large as a share that the share says nothing


@dataclass(frozen=True)
class Difference:
    """How much more one policy would earn per decision than another, or than the log did.

    Attributes
    ----------
    policy, other
        The names; ``other`` may be "the log itself".
    value, low, high
        The difference with its confidence interval, paired by decision if both estimates are
        doubly robust; NaN if it is unknown.
    method
        How the interval was computed: "normal", or "betting", which is valid for any sample size.
    """

    policy: str
    other: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    method: str = ""

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.policy} against {self.other}: not known"
        return f"{self.policy} would earn {self.compared(self.other)}"

    def compared(self, other: str, per: str = "", currency: str = "") -> str:
        """Return the interval in words, such as "0.10 to 0.20 more than the log itself"."""
        if self.low == self.high == 0.0:
            return f"exactly as much{per} as {other}"
        return f"{_more(self.low, self.high, _unit(currency))}{per} than {other}"


@dataclass(frozen=True)
class Verdict:
    """What a policy would earn per decision, by the best estimator that the log's design supports.

    Attributes
    ----------
    policy
        Its name.
    value
        The estimate; NaN if it is refused, or if there are only bounds.
    low, high
        The confidence interval. If the verdict is refused, bounds that are valid whatever the log
        does not show.
    estimator, method
        "doubly robust", "importance sampling" or "bounds", and how the interval was computed:
        "normal", or "betting", which is valid for any number of decisions.
    effective
        How many decisions of the policy itself would be as informative as the log, by the weights
        up to the outcome, (sum w)^2 / sum w^2; NaN if the log has no weights.
    rounds, missing
        The number of decisions with an outcome, and of those without.
    refused
        Why there is no estimate; empty if there is one.
    gain
        The difference from what was played.
    advice
        What to do: "promote", "try", "keep" or "not enough data". *Promote* if the whole interval
        of the gain is above 0, and so is that of betting, valid for any number of decisions.
        *Keep* what is played if the whole interval is below 0. *Try* it on a ``share`` of the
        traffic if it looks better, where the share is so small that even at the lower end at most
        1 % of what a decision can earn is lost per decision. Otherwise, or if the verdict is
        refused, there is *not enough data*.
    share
        The share of the traffic to try it on: 1 to promote, 0 to keep.
    played
        What was played earned per decision; NaN if it is unknown.
    confidence
        The confidence level of the intervals.
    notes
        What to know before trusting it.
    """

    policy: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    estimator: str = ""
    method: str = ""
    effective: float = 0.0
    rounds: int = 0
    missing: int = 0
    refused: str = ""
    gain: Difference = Difference("", LOGGED)
    advice: str = "not enough data"
    share: float = 0.0
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    played: float = math.nan

    def __str__(self) -> str:
        return self.sentence()

    @property
    def uplift(self) -> float:
        """The estimated gain as a share of what was played; NaN if that earned next to nothing."""
        share = self.gain.value / self.played if self.played > 0.0 else math.nan
        return share if abs(share) < _ENORMOUS else math.nan

    def sentence(self, currency: str = "") -> str:
        """Return the verdict as a sentence, with amounts in a currency if there is one."""
        finding = self.finding(currency)
        lost = f"; {self.missing} decisions have no outcome" if self.missing else ""
        if self.refused:
            return finding + (lost if "no outcome" not in finding else "")
        what = {
            "promote": "safe to switch to it",
            "try": "it looks better, but the log does not prove it: try it on "
            f"{100.0 * self.share:.4g} % of the traffic",
            "keep": "keep what is played",
            "not enough data": "not enough data to switch",
        }[self.advice]
        return f"{finding}; {self.effective:.0f} effective decisions{lost}; {what}"

    def finding(self, currency: str = "", name: str = "") -> str:
        """Return how much more it would earn, or that the log cannot tell, without advice."""
        name, level = name or f"`{self.policy}`", f"{100.0 * self.confidence:.4g} %"
        earned = _span(self.low, self.high) + _unit(currency)
        if self.refused:
            text = f"this log cannot tell what {name} would earn: {self.refused}"
            bounded = "" if math.isnan(self.low) else f"; all it shows: {earned} per decision"
            return text + (f"{bounded} ({level})" if bounded else "")
        if math.isnan(self.gain.low):
            return f"{name} would earn {earned} per decision ({level})"
        gain = self.gain.compared(PLAYED, " per decision", currency)
        return f"{name} would earn {gain} ({level}){self._best(currency)}"

    def _best(self, currency: str) -> str:
        """Return the point estimate of the gain as a clause."""
        gain = self.gain
        if math.isnan(gain.value) or gain.low == gain.high:
            return ""
        best = rounded(gain.value, gain.high - gain.low, sign=True) + _unit(currency)
        share = plain_number(100.0 * self.uplift, 0, sign=True)
        return f", best estimate {best}" + ("" if math.isnan(self.uplift) else f" or {share} %")

    def _repr_html_(self) -> str:
        """Show the verdict in a notebook: the sentence, and the numbers behind it."""
        gain = self.gain
        rows = [
            ("earns per decision", *_shown(self.value, self.low, self.high)),
            ("more than what was played", *_shown(gain.value, gain.low, gain.high)),
        ]
        by = f"{self.estimator} ({self.method})" if self.method else self.estimator
        notes = [str(self), *([f"estimated by {by}"] if by else []), *self.notes]
        head = ["", "estimate", "low", "high"]
        return notebook.table(f"Verdict on {self.policy}: {self.advice}", head, rows, notes)


def _shown(*numbers: float) -> tuple[str, ...]:
    return tuple("" if math.isnan(number) else plain_number(number, 4) for number in numbers)


class Evaluation(list[Estimate]):
    """The individual estimates of an evaluation, and the verdicts drawn from them.

    Attributes
    ----------
    verdicts
        One :class:`Verdict` per policy, by name.
    differences
        Each policy against the log itself, and the policies against each other.
    missing
        The number of decisions without an outcome.
    """

    verdicts: dict[str, Verdict]
    differences: list[Difference]
    missing: int

    def __init__(
        self,
        estimates: Iterable[Estimate],
        verdicts: dict[str, Verdict],
        differences: list[Difference],
        missing: int,
    ) -> None:
        super().__init__(estimates)
        self.verdicts, self.differences, self.missing = verdicts, differences, missing

    def __repr__(self) -> str:
        lines = [f"<Evaluation of {', '.join(self.verdicts)}: {len(self)} estimates>"]
        return "\n".join([*lines, *map(str, self.verdicts.values())])

    def _repr_html_(self) -> str:
        """Show the verdicts in a notebook, then the estimates."""
        rows = [(name, str(verdict)) for name, verdict in self.verdicts.items()]
        head = ["policy", "estimator", "value", "low", "high", "effective decisions", "refused"]
        estimates = []
        for each in self:
            effective = "" if math.isnan(each.effective) else f"{each.effective:.0f}"
            numbers = _shown(each.value, each.low, each.high)
            estimates.append((each.policy, each.estimator, *numbers, effective, each.refused))
        verdicts = notebook.table("Verdicts", ["policy", "verdict"], rows)
        return verdicts + notebook.table("Estimates per decision", head, estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, ready for JSON; unknown values are None."""
        verdicts = {
            name: asdict(each) | {"sentence": str(each)} for name, each in self.verdicts.items()
        }
        parts = {
            "missing": self.missing,
            "verdicts": verdicts,
            "differences": [asdict(each) for each in self.differences],
            "estimates": [asdict(each) for each in self],
        }
        return dict(plain(parts))


def _more(low: float, high: float, unit: str) -> str:
    if high <= 0.0:
        return f"{_span(-high, -low)}{unit} less"
    if low >= 0.0:
        return f"{_span(low, high)}{unit} more"
    less, more = (rounded(end, high - low) for end in (-low, high))
    return f"between {less}{unit} less and {more}{unit} more"


def _unit(currency: str) -> str:
    return f" {currency}" if currency else ""


def _span(low: float, high: float) -> str:
    ends = [rounded(end, high - low) for end in (low, high)]
    return ends[0] if low == high else " to ".join(ends)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that are not finite become None."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
