"""Bias and coverage of estimates on logs whose candidates have prices, 500 decisions each.

    python benchmarks/logs/priced.py [--runs 1000] [--jobs 1] [--market NAME]

Every candidate has a cost of an attempt and a value of a success of its own. Outcomes may say what
was really paid, and a cascade may end by itself after a failure. Rounds are drawn from 100, of
which all sequences and their probabilities are known: so the truth is exact, and a log is made
fast. In every run there is a new log, and the model of doubly robust is fitted to it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import permutations
from typing import Any, Self

import numpy as np
from setting import TRUTH, candidate, logger
from together import each, options

from longrank import Outcome, Payoffs, PlackettLuce
from longrank.logs import History, fit
from longrank.logs.batch import Batch
from longrank.logs.decision import Decision
from longrank.logs.evaluation.estimators import doubly_robust, doubly_robust_normalised
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.sample import Sample
from longrank.policies import Randomised
from longrank.simulation import LogisticWorld
from longrank.simulation.worlds import Round

DECISIONS, ROUNDS, ITEMS = 500, 100, 5
BASE = Payoffs.linear(3, attempt_cost=0.05, give_up=-0.1)
ORDERS = [order for n in range(BASE.budget + 1) for order in permutations(range(ITEMS), n)]


class InMemory(History):
    """Decisions in memory."""

    def __init__(self, sampled: list[Decision]) -> None:
        self.name, self.schema, self._sampled = "sample", None, sampled

    missing = 0

    def decisions(self) -> Iterator[Decision]:
        return iter(self._sampled)

    def batches(self) -> Iterator[Batch]:
        yield Batch.of(self._sampled)

    def __len__(self) -> int:
        return len(self._sampled)


class Remembered(Randomised):
    """A policy that does not learn, with all its choices computed once."""

    rng = None

    def __init__(self, policy: PlackettLuce) -> None:
        self.policy, self._known = policy, {}

    def choices(self, items: Any, payoffs: Payoffs, order: Any, *_: Any, **__: Any) -> np.ndarray:
        key = items.tobytes(), tuple(order)
        if key not in self._known:
            self._known[key] = self.policy.choices(items, payoffs, order)
        return self._known[key]

    def __deepcopy__(self, _: Any) -> Self:
        return self


@dataclass(frozen=True)
class Market:
    """A world with prices, logged and judged by Plackett-Luce policies."""

    name: str
    planned: bool = True  # costs are known beforehand
    real: bool = False  # outcomes say what was paid
    patience: float = 1.0

    def true(self, dealt: Round) -> Payoffs:
        """The payoffs of a round with expected costs."""
        return BASE.priced(0.1 + 0.09 * dealt.items[:, 0], 0.3 * dealt.items[:, 3])

    def offered(self, dealt: Round) -> Payoffs:
        """What a policy is told of them."""
        true = self.true(dealt)
        return true if self.planned else true.priced(None, true.success_values)

    @cache  # noqa: B019
    def world(self) -> tuple[list[Round], list[Decision], np.ndarray, Remembered, float]:
        """The rounds, a decision for each of their sequences and how likely it is to be logged."""
        dealer, log = LogisticWorld(TRUTH, items=ITEMS, seed=0), logger("Plackett-Luce", 0)
        judged, truth = Remembered(candidate("Plackett-Luce")), 0.0
        rounds, decisions, chances = [dealer.deal(t) for t in range(ROUNDS)], [], []
        for dealt in rounds:
            payoffs, true = self.offered(dealt), self.true(dealt).patient(self.patience)
            for order in ORDERS:
                played = np.array(order, np.int64)
                likely = log.propensities(dealt.items, payoffs, played)
                known = {"payoffs": payoffs, "budget": BASE.budget, "items": dealt.items}
                known |= {"prefix_propensities": likely[:-1], "propensity": float(likely[-1])}
                decisions.append(Decision(0, 0, played, Outcome(0, False), **known))
                chances.append(likely[-1] / ROUNDS)
                theirs = judged.propensities(dealt.items, payoffs, played)[-1]
                truth += theirs * dealt.value(played, true) / ROUNDS
        assert abs(sum(chances) - 1.0) < 1e-9
        return rounds, decisions, np.array(chances) / sum(chances), judged, truth

    def history(self, seed: int) -> History:
        """A log."""
        rounds, decisions, chances, _, _ = self.world()
        rng = np.random.default_rng(seed)
        return InMemory([
            replace(decisions[i], outcome=self.outcome(rounds[i // len(ORDERS)], decisions[i], rng))
            for i in rng.choice(len(decisions), DECISIONS, p=chances)
        ])  # fmt: skip

    def outcome(self, dealt: Round, decision: Decision, rng: np.random.Generator) -> Outcome:
        """Play a sequence until it succeeds or ends by itself."""
        order, tried, succeeded = decision.order, 0, False
        for chance in dealt.probabilities(order):
            if succeeded or (tried and rng.random() >= self.patience):
                break
            tried, succeeded = tried + 1, bool(rng.random() < chance)
        costs = self.true(dealt).costs
        assert costs is not None
        bills = costs[order[:tried]] * rng.exponential(size=tried)  # with a long tail
        return Outcome(tried, succeeded, tuple(bills.tolist()) if self.real else None)


MARKETS = [
    Market("costs known beforehand"),
    Market("a quarter of the failures final", patience=0.75),
    Market("costs known beforehand, bills differ", real=True),
    Market("costs known only afterwards", planned=False, real=True),
]


def judged(market: Market, seed: int) -> dict[str, tuple[float, float, float]]:
    """Value and interval of the candidate; importance sampling and the model without."""
    history, policy = market.history(seed), market.world()[3]
    found = gather(policy, history, fit(history), draws=0)
    plain = {
        "importance sampling": float((found.final_weights * found.rewards).mean()),
        "the model, not corrected": float(found.starts.mean()),
    }
    result = {name: (value, np.nan, np.nan) for name, value in plain.items()}
    for kind in (doubly_robust, doubly_robust_normalised):
        estimate = kind(Sample(found, IntervalSettings()))
        result[kind.__name__] = estimate.value, estimate.low, estimate.high
    return result


def main() -> None:
    parser = options(__doc__, runs=1000)
    parser.add_argument("--market", default="", help="only those with this in their name")
    chosen = parser.parse_args()
    for market in (one for one in MARKETS if chosen.market in one.name):
        truth = market.world()[4]
        runs = each(market.name, partial(judged, market), range(chosen.runs), chosen.jobs)
        print(f"  the truth is {truth:.4f}", flush=True)
        for name in runs[0]:
            values, lows, highs = np.array([run[name] for run in runs]).T
            error = values.std(ddof=1) / np.sqrt(len(values))
            text = f"  {name:26} bias {values.mean() - truth:+.4f} ({error:.4f})"
            if not np.isnan(lows).any():
                covered = (lows <= truth) & (truth <= highs)
                text += f", covers {covered.mean():.1%}, mean width {(highs - lows).mean():.3f}"
            print(text, flush=True)


if __name__ == "__main__":
    main()
