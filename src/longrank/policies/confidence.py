"""Confidence bounds: what the policies that rank by them have in common."""

from __future__ import annotations

from longrank import checks
from longrank.decision import Ranking
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.payoffs import Payoffs
from longrank.policies.learning import LearningPolicy


class ConfidenceBound(LearningPolicy):
    """Rank by means plus ``bonus`` standard deviations, with or without foresight."""

    def __init__(
        self, learner: Learner, features: Features | None, foresight: int, patient: bool
    ) -> None:
        super().__init__(learner, features, patient)
        self.foresight = checks.whole("foresight", foresight)
        if self.foresight and not learner.foresees:
            rule = "be one that foresees failures (Laplace does), or foresight 0"
            raise InvalidInput("learner", rule, repr(learner))
        if self.foresight and not self.features.independent:
            rule = "not let a row depend on the items above it, to foresee failures"
            raise InvalidInput("features", rule, repr(self.features))

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs, minimum: int) -> Ranking:
        if not self.foresight or payoffs.has_prices:
            best = self._best(prepared, count, payoffs, minimum)
            return best.planned(payoffs.patience)
        rows = self.features.rows(prepared)
        greedy = self.learner.belief(self.bonus).foresee(rows, count, self.foresight)
        return self._decide(prepared, greedy, payoffs, minimum)
