"""The recommended policy."""

from typing import overload

import numpy as np

from longrank.errors import InvalidInput
from longrank.features import Features, Records, Tabular
from longrank.learners import Laplace, Learner, SparseLaplace
from longrank.policies.lcb import LCB
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB
from longrank.schema import Schema

# How these were chosen, and on what: see benchmarks/quality/README.md.
EXPLORATION = 0.04
FORESIGHT = 10
PENALTY = 0.5
CAUTION = 0.5  # of lower bounds: see docs/choosing.md
SCALE = 0.15  # of the draws for records: see docs/how-it-learns.md


def belief(
    dim: int | None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    schema: Schema | None = None,
) -> tuple[Learner, Features]:
    """Make the learner and the features, which other policies can use too."""
    if dim is None:
        if forgetting:
            rule = "be 0 for records, whose learner does not forget"
            raise InvalidInput("forgetting", rule, forgetting)
        return SparseLaplace(max_budget=max_budget), Records(schema)
    if schema is not None:
        rule = "be None with dim, which is for arrays of numbers"
        raise InvalidInput("schema", rule, repr(schema))
    features = Tabular(dim)
    learner = Laplace(
        features.length, penalty=PENALTY, forgetting=forgetting, max_budget=max_budget
    )
    return learner, features


@overload
def recommended(
    *,
    dim: int,
    schema: None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    rng: np.random.Generator | int = 0,
) -> UCB: ...


@overload
def recommended(
    *,
    dim: None = None,
    schema: Schema | None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    rng: np.random.Generator | int = 0,
) -> Thompson: ...


def recommended(
    *,
    dim: int | None = None,
    schema: Schema | None = None,
    max_budget: int | None = None,
    forgetting: float = 0.0,
    rng: np.random.Generator | int = 0,
) -> UCB | Thompson:
    """Make a policy that needs no tuning: the default for most applications.

    Without ``dim``, candidates are records with a context: optimistic :class:`~longrank.Thompson`
    draws on a :class:`~longrank.SparseLaplace` learner, with probing, so that it keeps
    testing what it has given up.

    With ``dim``, candidates are arrays of ``dim`` numbers, in any units: a :class:`~longrank.UCB`
    over a :class:`~longrank.Laplace` learner with :class:`~longrank.Tabular` features, with
    looks at candidates about which little is known, with probing, and with foresight, so that an
    attempt differs from those that must have failed before it.

    Both plan with the costs and values of candidates, learn actual costs if outcomes report them,
    and learn the patience of cascades from early stops.

    Parameters
    ----------
    dim
        The length of an item, if candidates are arrays.
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
    if dim is None:
        return Thompson(
            learner,
            features=features,
            scale=SCALE,
            rng=rng,
            optimistic=True,
            probing=True,
            patient=True,
        )
    return UCB(
        learner,
        features=features,
        exploration=EXPLORATION,
        probing=True,
        foresight=FORESIGHT,
        patient=True,
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
    foresight = 0 if dim is None else FORESIGHT
    return LCB(learner, features=features, caution=caution, foresight=foresight, patient=True)
