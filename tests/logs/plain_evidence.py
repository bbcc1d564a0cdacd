"""The evidence of a log, decision by decision in plain Python: what the fast one must equal."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import Outcome
from longrank.logs.decision import Decision
from longrank.logs.evaluation.outcome_model import OutcomeModel
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Randomised
from longrank.policies.randomised import certain_choices, prefix_propensities

Array = NDArray[np.float64]
_CERTAIN = 1.0 - 1e-9


def plain_evidence(policy: Policy, decision: Decision, model: OutcomeModel, known: Any) -> dict:
    """What a decision says about a policy; without the model's estimate of a randomised one.

    ``known`` is the id by which the model knows when it was: its own, or if it has no outcome that
    of the next one that has.
    """
    target, payoffs = aim(policy, decision), priced(model, decision)
    steps, until = weigh(target, decision), min(last_step(decision) + 1, max_tries(decision))
    told = earned_for_sure(decision, target, payoffs)
    masses, earned, unsupported = (np.zeros(len(steps)), 0.0, 0.0) if told is None else told
    observed = decision.outcome is not None
    ended = decision if observed else replace(decision, outcome=Outcome(len(decision.order), False))
    correction = correct(replace(ended, id=known), target, model, steps)
    modelled = math.nan
    if target.sequence is not None:
        order, chances = target.sequence, later(model, decision)[target.sequence]
        ends = payoffs.along(order) if payoffs.has_prices else payoffs
        modelled = float(values_along(chances, early_by(model.stops[-1], len(order)), ends)[0])
    return {
        "rewards": replace(decision, payoffs=payoffs).reward if observed else math.nan,
        "bounds": bound(decision, target, payoffs),
        "last": last_step(decision),
        "matches": target.reached[-1],
        "unsupported": unsupported,
        "starts": correction.start,
        "expected": (correction.square, correction.fourth),
        "modelled": modelled,
        # the policy chooses to stop inside the sequence of the log
        "stops": target.reached[:-1][:until] @ target.choices[:until, -1],
        "short": len(decision.order) < max_tries(decision),
        "observed": observed,
        "masses": masses,
        "earned": earned,
        "earnable": earnable(decision, payoffs),
        "weights": steps,
        "deltas": correction.deltas if observed else 0.0 * correction.deltas,
    }


def later(model: OutcomeModel, decision: Decision) -> Array:
    """What the model expects by the whole log."""
    return model.predict(replace(decision, id="a decision that no model has seen"))


def priced(model: OutcomeModel, decision: Decision, block: int = -1) -> Payoffs:
    """The payoffs of a decision; costs that it does not have are those that a block expects."""
    payoffs = decision.payoffs
    if model.costs is None or (payoffs.costs is not None and payoffs.costs.any()):
        return payoffs
    return payoffs.priced(model.costs.expect(decision, block), payoffs.success_values)


def max_tries(decision: Decision) -> int:
    """The maximum number of attempts, by the budget and by the candidates."""
    limit = decision.payoffs.budget if decision.budget is None else decision.budget
    return min(limit, decision.size)


def early_by(stops: Array, count: int) -> Array:
    """The probability of an early stop after 0, ..., count failures."""
    found = np.zeros(count + 1)
    found[: len(stops)] = stops[: count + 1]
    return found


def values_along(chances: Array, early: Array, payoffs: Payoffs) -> Array:
    """The expected reward from each point of a sequence on; ``payoffs`` are by position."""
    rewards, losses = payoffs.rewards, payoffs.losses
    values = [losses[len(chances)]]
    for i in range(len(chances) - 1, -1, -1):
        further = chances[i] * rewards[i] + (1.0 - chances[i]) * values[-1]
        values.append(early[i] * losses[i] + (1.0 - early[i]) * further)
    return np.array(values[::-1])


@dataclass(frozen=True)
class Target:
    """What a policy would do along the sequence of the log.

    ``choices[i]`` are its probabilities of the next action after the first i items of the log,
    STOP last; ``reached[i]`` is the probability that its first i actions are those of the log;
    ``sequence`` is what it plays, if that is certain; ``reach`` is its maximum number of attempts.
    """

    choices: Array
    reached: Array
    sequence: NDArray[np.int64] | None
    reach: int


def aim(policy: Policy, decision: Decision) -> Target:
    """Ask a policy what it would do in place of a decision of the log."""
    items, payoffs, given = decision.offer(policy)
    played, reach = None, max_tries(decision)
    if isinstance(policy, Randomised):
        choices = policy.choices(items, payoffs, decision.order, decision.budget, **given)
    else:
        played = policy.rank(items, payoffs, decision.budget, **given).order
        choices, reach = certain_choices(played, len(items), decision.order), len(played)
    reached = np.ones(len(decision.order) + 2)
    reached[1:] = prefix_propensities(choices, decision.order)
    return Target(choices, reached, played, reach)


def last_step(decision: Decision) -> int:
    """Return the index of the action that led to the outcome.

    That is the item that succeeded; STOP after the last one; or, after an early stop, the item
    that would have come next: it was committed to, but not tried. Without an outcome it is STOP.
    """
    if decision.outcome is None:
        return len(decision.order)
    return decision.outcome.tried - decision.outcome.succeeded


def weigh(target: Target, decision: Decision) -> Array:
    """w_j = P(first j actions, policy) / P(first j actions, log); 0 without a propensity."""
    propensity, theirs = decision.propensity, target.reached
    if propensity is None:
        return np.zeros(len(theirs) - 1)
    if decision.prefix_propensities is None:  # only that of the whole sequence is known
        return np.full(len(theirs) - 1, theirs[-1] / propensity)
    return theirs[1:] / np.append(decision.prefix_propensities, propensity)


def bound(decision: Decision, target: Target, payoffs: Payoffs) -> tuple[float, float, float]:
    """Bound what the policy can have earned; return low, high, and the probability of exactness.

    Exact where both share the prefix up to the outcome, or the policy stops inside it.
    """
    outcome = decision.outcome
    tried = 0 if outcome is None else outcome.tried
    losses, spent = payoffs.losses, np.append(0.0, np.cumsum(decision.paid(payoffs)))
    low = high = exact = 0.0
    here = 1.0  # the probability that the policy has played the same so far
    for i in range(tried + 1):
        choices = target.choices[i]
        loss = losses[i] - spent[i]
        # an early stop ends both sequences
        if outcome is not None and i == tried and i < len(decision.order):
            return low + here * loss, high + here * loss, exact + here
        stop, same = float(choices[-1]), 0.0
        if i < tried:
            same = float(choices[decision.order[i]])
        other = 1.0 - stop - same
        low, high = low + here * stop * loss, high + here * stop * loss
        if other > 1e-12:
            worst, best = _extremes(decision, target, payoffs, i)
            low += here * other * (worst - spent[i])
            high += here * other * (best - spent[i])
        exact += here * stop
        here *= same
        if here == 0.0:
            break
        if outcome is not None and outcome.succeeded and i + 1 == tried:
            reward = replace(decision, payoffs=payoffs).reward
            return low + here * reward, high + here * reward, exact + here
    return low, high, exact


def _extremes(decision: Decision, target: Target, payoffs: Payoffs, i: int) -> tuple[float, float]:
    """Return the least and the most that can follow a choice that differs from the log's i-th.

    What was spent before is not counted. Of a randomised policy it is not known what would follow
    the choice: any of the other candidates.
    """
    order, tried = decision.order, 0 if decision.outcome is None else decision.outcome.tried
    costs, gains, rewards, losses, _ = payoffs.prices(target.choices.shape[1] - 1)
    if not payoffs.has_prices:
        return float(losses[target.reach]), float(rewards[i])
    give_up = losses[i] if i == tried else -np.inf  # whether it ended by itself here is not known
    if target.sequence is not None:
        before, rest = costs[target.sequence[:i]].sum(), payoffs.along(target.sequence)
        worst = min(rest.rewards[i:].min(), rest.losses[-1])
        best = max(rest.rewards[i:].max(), rest.losses[i + 1])
        return float(worst + before), float(max(best + before, give_up))
    free = np.ones(len(costs), np.bool_)
    free[order[:i]] = False
    chances = np.where(free, target.choices[i, :-1], 0.0)
    if i < tried:
        chances[order[i]] = 0.0
    more = target.reach - i - 1
    success = rewards[i] + gains
    worst = np.minimum(success, losses[target.reach])
    best = np.maximum(success, losses[i + 1])
    if more > 0:
        spent = np.sort(costs[free])[::-1][:more].sum()
        least = min(losses[target.reach], rewards[target.reach - 1] + gains[free].min())
        worst = np.minimum(worst, least - spent)
        best = np.maximum(best, (rewards[i + 1] + gains[free] - costs[free]).max())
    worst, best = worst - costs, np.maximum(best - costs, give_up)
    total = chances.sum()
    return float(chances @ worst / total), float(chances @ best / total)


class Correction(NamedTuple):
    """V(start), and delta_j = r_j + V(after action j) - Q(action j) for every action of the log.

    ``square`` and ``fourth`` are the moments of sum_j w_j delta_j that the model expects.
    """

    start: float
    deltas: Array
    square: float
    fourth: float


def correct(decision: Decision, target: Target, model: OutcomeModel, weights: Array) -> Correction:
    """Compute the correction by what the model knew before; ``weights`` are per action."""
    block, tries = int(model.seen.blocks([decision.id])[0]), max_tries(decision)
    payoffs, chances = priced(model, decision, block), model.predict(decision)
    early = early_by(model.stops[block], tries)
    count = len(decision.order)
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    told = priced(model, decision)
    paid, reward = decision.paid(told), replace(decision, payoffs=told).reward
    after = _continuations(decision, target, chances, early, payoffs)
    # values and actions do not count what was spent before
    values, actions = np.zeros(count + 2), np.zeros(count + 1)
    for i in range(count + 1):
        loss, choices = losses[i], target.choices[i]
        if i == tries:  # the budget is used up: STOP is certain
            values[i] = actions[i] = loss
            continue
        going = early[i] * loss + (1.0 - early[i]) * (
            chances * (rewards[i] + gains) - costs + (1.0 - chances) * after[i]
        )
        values[i] = choices[:-1] @ going + choices[-1] * loss
        actions[i] = going[decision.order[i]] if i < count else loss
    last = last_step(decision)
    deltas = values[1 : last + 2] - actions[: last + 1]
    deltas[:last] -= paid[:last]
    # nothing follows the end of the cascade
    deltas[last] = reward + paid[:last].sum() - actions[last]
    further = weights[:-1] * (values[1:-1] - costs[decision.order] - actions[:-1])
    outcomes = _outcomes(decision, payoffs, chances, early, further, weights, actions)
    likely, sums, tries_made = np.array(outcomes).T
    noise = np.zeros(count + 1)  # variance that real costs add, by the number of attempts
    if model.costs is not None and decision.ended.costs is not None:
        np.cumsum(model.costs.noise * weights[:-1] ** 2, out=noise[1:])
    noise, squares = noise[tries_made.astype(np.int64)], sums**2
    square = float(likely @ (squares + noise))
    fourth = float(likely @ (squares**2 + 6.0 * squares * noise + 3.0 * noise**2))
    return Correction(float(values[0]), deltas, square, fourth)


def _outcomes(
    decision: Decision,
    payoffs: Payoffs,
    chances: Array,
    early: Array,
    further: Array,
    weights: Array,
    actions: Array,
) -> list[tuple[float, float, int]]:
    """List every possible outcome of what was played: its probability, sum_j w_j delta_j, attempts.

    ``further`` is what each failure adds to the sum.
    """
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    found, total, here = [], 0.0, 1.0
    for i, item in enumerate(decision.order):
        stop = here * early[i]
        success = (here - stop) * chances[item]
        earned = rewards[i] + gains[item] - costs[item]
        found.append((stop, total + weights[i] * (losses[i] - actions[i]), i))
        found.append((success, total + weights[i] * (earned - actions[i]), i + 1))
        total += further[i]
        here -= stop + success
    n = len(decision.order)
    return [*found, (here, total + weights[n] * (losses[n] - actions[n]), n)]


def _continuations(
    decision: Decision, target: Target, chances: Array, early: Array, payoffs: Payoffs
) -> Array:
    """Return the value left after one more failure, from each prefix of the log on.

    Later choices of a randomised policy are taken to be those that it has now.
    """
    tries, after = max_tries(decision), np.zeros(len(decision.order) + 1)
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    if target.sequence is not None:
        n = min(len(after), len(target.sequence))
        ends = payoffs.along(target.sequence) if payoffs.has_prices else payoffs
        ahead = values_along(chances[target.sequence], early, ends)[1 : n + 1]
        after[:n] = ahead + np.cumsum(costs[target.sequence])[:n]
        return after
    for i in range(min(len(after), tries)):
        choices = target.choices[i]
        stop, p, gain = choices[-1], 0.0, 0.0
        if stop < 1.0:
            p = choices[:-1] @ chances / (1.0 - stop)
            gain = choices[:-1] @ (chances * gains - costs) / (1.0 - stop)
        value = losses[tries]
        for j in range(tries - 1, i, -1):
            on = p * rewards[j] + gain + (1.0 - p) * value
            on = early[j] * losses[j] + (1.0 - early[j]) * on
            value = stop * losses[j] + (1.0 - stop) * on
        after[i] = value
    return after


def earned_for_sure(
    decision: Decision, target: Target, payoffs: Payoffs
) -> tuple[Array, float, float] | None:
    """Return the masses, what they earned, and what the log could not have done: see `Evidence`.

    Where only the propensity of the whole sequence is known, only the whole sequence tells; None
    without any.
    """
    if decision.propensity is None:
        return None
    count, last = len(decision.order), last_step(decision)
    reward = np.nan if decision.outcome is None else replace(decision, payoffs=payoffs).reward
    if decision.prefix_propensities is None:
        weight = float(target.reached[-1]) / decision.propensity
        lost = 1.0 - float(target.reached[-1]) if decision.propensity >= _CERTAIN else 0.0
        return np.full(count + 1, weight), weight * reward, lost
    weights = target.reached[:-1] / np.append(1.0, decision.prefix_propensities)
    stopping = weights * target.choices[: count + 1, -1]
    masses = np.cumsum(stopping)
    masses[:-1] += weights[1:]
    ours = np.concatenate([[1.0], decision.prefix_propensities, [decision.propensity]])
    alone = ours[1:] >= ours[:-1] * _CERTAIN  # the log had no alternative here
    alone[last + 1 :] = False
    going = target.reached[:-1] * (1.0 - target.choices[: count + 1, -1])
    going[:-1] -= target.reached[1:-1]  # with an item other than the log's
    lost = max(float(going[alone].sum()), 0.0)
    if decision.outcome is None:
        return masses, np.nan, lost
    spent = np.append(0.0, np.cumsum(decision.paid(payoffs)))
    ends = payoffs.losses[: last + 1] - spent[: last + 1]
    earned = float(stopping[: last + 1] @ ends)
    if last < count:  # a success, or an early stop, at an item that the policy may have played
        earned += float(weights[last + 1]) * reward
    return masses, earned, lost


def earnable(decision: Decision, payoffs: Payoffs) -> tuple[float, float]:
    """Return the least and the most that a decision can earn, by its payoffs."""
    tries, size = max_tries(decision), decision.size
    rewards, losses = payoffs.rewards[:tries], payoffs.losses[: tries + 1]
    least, most = float(losses.min()), float(losses.max())
    if not tries:
        return least, most
    if not payoffs.has_prices or not size:
        return min(least, float(rewards.min())), max(most, float(rewards.max()))
    costs, gains, _, _, _ = payoffs.prices(size)
    spent = float(np.sort(costs)[::-1][:tries].sum())
    worst = float(rewards.min() + gains.min())
    best = float(rewards.max() + (gains - costs).max())
    return min(least, worst) - spent, max(most, best)
