"""Lives: running a policy through a stream, compiled if its parts allow."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.decision import Outcome
from longrank.errors import InvalidInput
from longrank.kernels import RecordRule, RecordSelection, RecordStep, Rule, Selection, Step
from longrank.links import LOGISTIC, Link
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.policies.learning import LearningPolicy
from longrank.schema.prices import PRICES
from longrank.simulation.stream import RecordStream, Stream


@dataclass(frozen=True)
class Life:
    """What a policy earned, committed to, tried and spent in every round.

    ``spent`` counts the costs of candidates. ``policy`` is the policy after the run; None after a
    compiled run through arrays.
    """

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]
    tried: NDArray[np.int64]
    spent: NDArray[np.float64]
    policy: Policy | None = None


def live(policy: Policy, stream: Stream | RecordStream, payoffs: Payoffs) -> Life:
    """Run a policy through a stream; the policy itself does not change.

    The result is the same, to the last bit, as :func:`simulate` in the world the stream was made
    from. If the policy, its features and its learner all support compilation (``compiled_rule``,
    ``compiled_selection``, ``compiled_step``), the whole run is compiled; otherwise each round is
    ranked and learned from as usual. For records, categories and numbers are compiled, starting
    with the round in which the policy knows all fields of the stream.

    Examples
    --------
    >>> from longrank import Payoffs, recommended
    >>> from longrank.simulation import CheckoutWorld, RecordStream
    >>> stream = RecordStream.of(CheckoutWorld(4, seed=1), rounds=50)
    >>> life = live(recommended(rng=1), stream, Payoffs.vanilla(2))
    >>> bool(life.policy.learner.updates == life.tried.sum())
    True
    """
    policy, count = copy.deepcopy(policy), stream.rounds
    lengths, tried = np.empty((2, count), np.int64)
    life = Life(np.empty(count), lengths, tried, np.zeros(count), policy)
    if isinstance(stream, RecordStream):
        _live_records(policy, stream, payoffs, life)
        return life
    first = 0
    while first < count and not _settled(policy):
        _play(policy, stream, payoffs, life, first)
        first += 1
    parts = _compiled_parts(policy, stream, payoffs)
    if parts is None:
        for t in range(first, count):
            _play(policy, stream, payoffs, life, t)
        return life
    rule, choice, step, link = parts
    weights, inverse = step.state[:2]
    if len(weights) not in (0, choice.items.shape[1]):
        columns = f"have {len(weights)} columns as the policy's features prepare it"
        raise InvalidInput("stream", columns, choice.items.shape[1])
    enough = kernels.enough_to_go_on(payoffs.rewards, payoffs.losses)
    start = stream.starts[first]
    kernels.compose_run(rule, choice, step)(
        (choice.items[start:], stream.starts[first:] - start, stream.wins[start:]),
        policy.chance(np.diff(stream.starts[first:]).tolist()),
        (payoffs.rewards, payoffs.losses, enough),
        (weights, inverse, link.code, link.ceiling),
        step.state,
        rule.settings,
        choice.longest,
        (life.rewards[first:], life.lengths[first:], life.tried[first:]),
    )
    return replace(life, policy=None)


def _settled(policy: Policy) -> bool:
    """Whether the rows of a policy stay as they are, so that all can be made at once."""
    return not isinstance(policy, LearningPolicy) or policy.features.settled


def _compiled_parts(
    policy: Policy, stream: Stream, payoffs: Payoffs
) -> tuple[Rule, Selection, Step, Link] | None:
    """What the parts of a policy say of how they are compiled; None unless all of them do."""
    rule = kernels.declared(policy, "compiled_rule")
    if not isinstance(rule, Rule) or payoffs.has_prices or payoffs.patience != 1.0:
        return None
    if stream.costs is not None:
        return None
    if isinstance(policy, LearningPolicy) and policy.uses_learned_costs:
        return None
    learner, features = getattr(policy, "learner", None), getattr(policy, "features", None)
    if learner is None or features is None:  # it believes nothing, and takes the items as they are
        plain = Selection(stream.items, kernels.greedy_plain, kernels.rows_along, 0.0)
        return rule, plain, Step(kernels.learn_nothing, (np.zeros(0), np.zeros((0, 0)))), LOGISTIC
    if learner.max_budget is not None and payoffs.budget > learner.max_budget:
        return None  # ranking says what is wrong
    choice = stream.choice or stream.seen_through(features).choice
    step = kernels.declared(learner, "compiled_step", len(stream.items))
    return (rule, choice, step, learner.link) if choice and step else None


def _live_records(policy: Policy, stream: RecordStream, payoffs: Payoffs, life: Life) -> None:
    """Play until the policy knows all fields of the stream, then run the rest compiled."""
    choice = None
    for t in range(stream.rounds):
        if t == 1:  # most fields are known by now, and need not be inferred
            choice = None if payoffs.has_prices else _record_choice(policy, stream)
        if (
            choice
            and isinstance(policy, LearningPolicy)
            and policy.schema.present() == choice.layout
        ):
            _run_records(policy, choice, stream, payoffs, life, t)
            return
        _play(policy, stream, payoffs, life, t)


def _record_choice(policy: Policy, stream: RecordStream) -> RecordSelection | None:
    """The records as the policy's features encode them; None unless all parts are compiled."""
    rule = kernels.declared(policy, "compiled_rule")
    if not (isinstance(policy, LearningPolicy) and isinstance(rule, RecordRule)):
        return None
    if not kernels.declared(policy.learner, "compiled_step", len(stream.items)):
        return None
    if policy.costs is not None or any(not PRICES.isdisjoint(each) for each in stream.items):
        return None
    try:
        return stream.choice or stream.seen_through(policy.features).choice
    except InvalidInput:  # ranking says in which round
        return None


def _run_records(
    policy: LearningPolicy,
    choice: RecordSelection,
    stream: RecordStream,
    payoffs: Payoffs,
    life: Life,
    first: int,
) -> None:
    """Run from round ``first`` on, compiled; the policy is then what it would have become."""
    rule, step = policy.compiled_rule(), policy.learner.compiled_step(len(stream.items))
    assert isinstance(rule, RecordRule)
    assert isinstance(step, RecordStep)
    start, link, given_up = stream.starts[first], policy.learner.link, np.array([policy.given_up])
    chance = policy.chance(np.diff(stream.starts[first:]).tolist())
    patience = policy.patience
    counts = np.array([] if patience is None else [patience.went_on, patience.stopped], np.int64)
    state = kernels.compose_record_run(step)(
        (stream.starts[first:] - start, stream.wins[start:], stream.ends[start:]),
        tuple(part[start:] for part in choice.own),
        tuple(part[first:] for part in choice.shared),
        policy.schema.coding(),
        policy.schema.plan(choice.layout)[:3],
        chance,
        (rule.bonus(chance[1]), rule.foresight),
        (payoffs.rewards, payoffs.losses),
        (link.code, link.ceiling),
        step.state,
        (policy.probing, given_up),
        (payoffs.patience, counts),
        (life.rewards[first:], life.lengths[first:], life.tried[first:]),
    )
    step.take_over(state, int(life.tried[first:].sum()))
    policy.given_up = int(given_up[0])
    if patience is not None:
        patience.went_on, patience.stopped = counts.tolist()


def _play(
    policy: Policy, stream: Stream | RecordStream, payoffs: Payoffs, life: Life, t: int
) -> None:
    """Rank, play and learn in round t, where it is not compiled."""
    part = slice(stream.starts[t], stream.starts[t + 1])
    given = payoffs if isinstance(stream, RecordStream) else stream.paid(payoffs, t)
    ranking = policy.rank(stream.items[part], given, **stream.given(t))
    hits = np.flatnonzero(stream.ends[part][ranking.order])
    tried = int(hits[0]) + 1 if hits.size else len(ranking)
    succeeded = bool(hits.size and stream.wins[part][ranking.order[tried - 1]])
    outcome = Outcome(tried, succeeded)
    policy.learn(ranking, outcome)
    paid = stream.paid(payoffs, t)
    life.rewards[t] = paid.along(ranking.order).reward(outcome)
    if paid.costs is not None:
        life.spent[t] = paid.costs[ranking.order[:tried]].sum()
    life.lengths[t], life.tried[t] = len(ranking), tried
