"""The recommended policy."""

from __future__ import annotations

from longrank import checks
from longrank.features import Polynomial
from longrank.learners import Laplace
from longrank.policies.ucb import UCB

# Chosen on synthetic worlds and on scikit-learn's digits, never on MNIST: see docs/choosing.md.
EXPLORATION = 0.2
FORESIGHT = 10
MAX_FOR_PRODUCTS = 16  # numbers per item up to which their products are used
PENALTY = 0.5


def belief(dim: int, max_budget: int | None, forgetting: float) -> tuple[Laplace, Polynomial]:
    """Make the learner and the features, which other policies can use too."""
    size = checks.whole("dim", dim, minimum=1)
    features = Polynomial(2 if size <= MAX_FOR_PRODUCTS else 1)
    learner = Laplace(
        features.length(size), penalty=PENALTY, forgetting=forgetting, max_budget=max_budget
    )
    return learner, features


def recommended(*, dim: int, max_budget: int | None = None, forgetting: float = 0.0) -> UCB:
    """Make a policy that needs no tuning: start with it, and for most jobs stay with it.

    A :class:`~longrank.UCB` over a :class:`~longrank.Laplace` learner, with the products of an
    item's numbers as further features (only a constant for items of more than 16 numbers), with
    probing, so that it never gives up permanently, and with foresight, so that a try differs from
    those that must have failed before it.

    Parameters
    ----------
    dim
        The length of an item.
    max_budget
        Budgets above it are refused, where it is given.
    forgetting
        For worlds that drift: 0.0003 is a good value; see :class:`~longrank.Laplace`.

    Examples
    --------
    >>> recommended(dim=10).learner.dim
    66
    """
    learner, features = belief(dim, max_budget, forgetting)
    return UCB(
        learner,
        features=features,
        exploration=EXPLORATION,
        probing=True,
        foresight=FORESIGHT,
    )
