"""The recommended policy."""

import numpy as np

from longrank.errors import InvalidInput
from longrank.features import Records
from longrank.learners import Blocks
from longrank.policies.lcb import LCB
from longrank.policies.ucb import UCB
from longrank.schema import Schema

# How these were chosen, and on what: see benchmarks/quality/README.md.
EXPLORATION = 0.04
FORESIGHT = 10
PENALTY = 0.5
CAUTION = 0.5  # of lower bounds: see docs/choosing.md
DRAWS = 0.15  # deviations of the sparse part: see docs/how-it-learns.md


def belief(
    dim: int | None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    schema: Schema | None = None,
) -> tuple[Blocks, Records]:
    """Make the learner and the features, which other policies can use too."""
    if dim is None and forgetting:
        rule = "be 0 without dim: the sparse part of the belief does not forget"
        raise InvalidInput("forgetting", rule, forgetting)
    if dim is not None and schema is not None:
        rule = "be None with dim, which is for arrays of numbers"
        raise InvalidInput("schema", rule, repr(schema))
    learner = Blocks(penalty=PENALTY, forgetting=forgetting, max_budget=max_budget)
    return learner, Records(schema, dim)


def recommended(
    *,
    dim: int | None = None,
    schema: Schema | None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    rng: np.random.Generator | int = 0,
) -> UCB:
    """Make a policy that needs no tuning: the default for most applications.

    Candidates are names, records, frames or arrays of numbers in any units, with or without a
    context. It is a :class:`~longrank.UCB` over a belief in :class:`~longrank.Blocks`: the numbers
    of the candidates make a dense block, names, categories, tags and crosses sparse columns. The
    bonus of the sparse part is drawn; candidates about which little is known get looks; foresight
    tells an attempt from those that must have failed before it; and probing keeps testing what it
    has given up.

    It plans with the costs and values of candidates, learns actual costs if outcomes report them,
    and learns the patience of cascades from early stops.

    Parameters
    ----------
    dim
        If given, candidates must be arrays of so many numbers.
    schema
        How records become rows; by default everything is inferred.
    max_budget
        If given, larger budgets are rejected.
    forgetting
        For arrays in worlds that drift: 0.0003 is a good value; see :class:`~longrank.Laplace`.
    rng
        The random generator, or its seed.

    Examples
    --------
    >>> from longrank import Payoffs
    >>> policy = recommended()
    >>> payoffs = Payoffs.linear(2, attempt_cost=0.05)
    >>> policy.rank(["adyen", "stripe"], payoffs, context={"brand": "visa"}).ids
    ['stripe', 'adyen']
    >>> recommended(dim=2).rank([[120.0, 0.3], [80.0, 0.9]], payoffs).order.tolist()
    [0, 1]
    """
    learner, features = belief(dim, max_budget, forgetting, schema)
    return UCB(
        learner,
        features=features,
        exploration=EXPLORATION,
        probing=True,
        foresight=FORESIGHT,
        patient=True,
        draws=DRAWS,
        rng=rng,
    )


def cautious(
    *,
    dim: int | None = None,
    schema: Schema | None = None,
    max_budget: int | None = None,
    caution: float = CAUTION,
    forgetting: float = 0.0,
) -> LCB:
    """Make a policy that learns from a log and is deployed unchanged: see :class:`~longrank.LCB`.

    It has the belief of :func:`recommended` and ranks by lower confidence bounds.

    Parameters
    ----------
    dim, schema, max_budget, forgetting
        As for :func:`recommended`.
    caution
        How many standard deviations are subtracted from a mean; 0 is greedy.

    Examples
    --------
    >>> from longrank import Payoffs
    >>> policy = cautious()
    >>> payoffs = Payoffs.vanilla(2)
    >>> policy.rank(["adyen", "stripe"], payoffs, context={"brand": "visa"}).ids
    ['adyen', 'stripe']
    """
    learner, features = belief(dim, max_budget, forgetting, schema)
    return LCB(learner, features=features, caution=caution, foresight=FORESIGHT, patient=True)
