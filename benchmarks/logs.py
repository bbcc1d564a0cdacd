"""What `longrank.logs` must show, on worlds whose truth is known: `python benchmarks/logs.py`.

1. The reward that a policy would have had lies in the assumption-free bounds, in 500 runs.
2. The 95% intervals of importance sampling and doubly robust cover the truth, in 1,000 runs.
3. Doubly robust has at most the variance of importance sampling, in 24 settings.
4. The cascade formulas of Open Bandit Pipeline give the same values, on the same data.
5. A warm start learns at least 200,000 cascades a minute, and gives the same state.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from longrank import UCB, OnlineNewton, Outcome, Payoffs, PlackettLuce, Policy, Random, unit_rows
from longrank.logs import History, fit, learn_from, record, write
from longrank.logs.evaluate import Evidence, gather
from longrank.logs.importance import importance, self_normalised
from longrank.logs.robust import doubly_robust
from longrank.logs.value import Settings
from longrank.simulation import LogisticWorld

TRUTH = np.array([2.0, -1.0, 1.0, 0.5])
PAYOFFS = Payoffs.linear(3, attempt_cost=0.15, give_up=-0.1)
FREE = Payoffs([1.0, 0.7, 0.4], [-0.2] * 4)  # tries are free: all sequences have full length


def believing(weights: list[float], budget: int = 3) -> OnlineNewton:
    learner = OnlineNewton(len(weights), max_budget=budget)
    learner.weights[:] = weights
    return learner


def logger(kind: str, seed: int) -> PlackettLuce | Random:
    if kind == "random":
        return Random(rng=seed)
    return PlackettLuce(believing([0.5, 0.0, 0.5, 0.0]), temperature=float(kind), rng=seed)


def candidate(kind: str) -> Policy:
    learner = believing([2.0, -1.0, 1.0, 0.0])
    if kind == "greedy":
        return UCB(learner, exploration=0.0)
    return PlackettLuce(learner, temperature=float(kind), rng=1)


@dataclass(frozen=True)
class Setting:
    """A log of ``rounds`` decisions by one policy, and another one to judge."""

    log: str = "1.0"
    judged: str = "0.5"
    items: int = 5
    rounds: int = 1000
    payoffs: Payoffs = field(default_factory=lambda: PAYOFFS)

    def history(self, seed: int) -> History:
        world, policy = LogisticWorld(TRUTH, items=self.items, seed=seed), logger(self.log, seed)
        rows = []
        for t in range(self.rounds):
            dealt = world.deal(t)
            ranking = policy.rank(dealt.items, self.payoffs)
            chances = policy.propensities(dealt.items, self.payoffs, ranking.order)
            outcome = dealt.play(ranking.order)
            rows.append(
                record(t, ranking, outcome, self.payoffs, items=dealt.items, propensities=chances)
            )
        return History(rows)

    def evidence(self, seed: int) -> Evidence:
        history = self.history(seed)
        return gather(candidate(self.judged), history, fit(history), draws=0)

    def truth(self, rounds: int = 40_000) -> float:
        """The true value of the policy, by its true success probabilities in many rounds."""
        world, policy = LogisticWorld(TRUTH, items=self.items, seed=10**9), candidate(self.judged)
        total = 0.0
        for t in range(rounds):
            dealt = world.deal(t)
            total += dealt.value(policy.rank(dealt.items, self.payoffs).order, self.payoffs)
        return total / rounds


# -- 1. bounds ------------------------------------------------------------------------------------


def within_bounds(seed: int) -> tuple[bool, float, float]:
    """A log by a deterministic policy; another deterministic one, on the very same rounds."""
    rng = np.random.default_rng(seed)
    costs = Payoffs.linear(4, attempt_cost=float(rng.uniform(0.02, 0.2)), give_up=-0.1)
    payoffs = (costs, Payoffs.exponential(4), Payoffs.vanilla(4))[seed % 3]
    world = LogisticWorld(2.0 * rng.normal(size=4), items=int(rng.integers(2, 9)), seed=seed)
    logs = UCB(believing(rng.normal(size=4).tolist(), 4), exploration=0.0)
    judged = UCB(believing(rng.normal(size=4).tolist(), 4), exploration=0.0)
    rows, earned = [], []
    for t in range(100):
        dealt = world.deal(t)
        ranking = logs.rank(dealt.items, payoffs)
        outcome = dealt.play(ranking.order)
        rows.append(record(t, ranking, outcome, payoffs, items=dealt.items))
        earned.append(payoffs.reward(dealt.play(judged.rank(dealt.items, payoffs).order)))
    history = History(rows)
    low, high, exact = gather(judged, history, fit(history)).bounds.T
    rewards = np.array(earned)
    inside = bool(((low <= rewards + 1e-12) & (rewards <= high + 1e-12)).all())
    return inside, float(exact.mean()), float((high - low).mean())


# -- 2. and 3. intervals and variance -------------------------------------------------------------


def covered(setting: Setting, truth: float, seed: int) -> list[float]:
    found = setting.evidence(seed)
    settings = Settings(resamples=500, seed=seed)
    args = found.starts, found.deltas, found.weights, 0.0, settings
    weighted = importance("", found.rewards, found.weights, found.last, settings)
    out: list[float] = []
    for estimate in (weighted, doubly_robust("", *args)):
        out += [estimate.value, estimate.low <= truth <= estimate.high]
    return [*out, weighted.effective]


def estimates(setting: Setting, seed: int) -> tuple[float, float]:
    found = setting.evidence(seed)
    final = found.weights[np.arange(len(found.last)), found.last]
    doubly = found.starts + (found.weights * found.deltas).sum(axis=1)
    return float((final * found.rewards).mean()), float(doubly.mean())


VARIANCE_SETTINGS = [
    Setting(log, judged, items, 200, payoffs)
    for (log, payoffs), judged, items in itertools.product(
        (
            ("random", FREE),
            ("random", Payoffs.vanilla(3)),
            ("1.0", PAYOFFS),
            ("1.0", Payoffs.exponential(3)),
        ),
        ("greedy", "0.5"),
        (3, 5, 8),
    )
]


# -- 4. Open Bandit Pipeline ----------------------------------------------------------------------


def pipeline(setting: Setting, seed: int) -> dict[str, tuple[float, float]]:
    """RIPS, SNRIPS and Cascade-DR as Open Bandit Pipeline computes them, beside ours.

    Sequences have one length there, and every position a reward: that of the success, and at the
    last position what giving up costs.
    """
    history = setting.history(seed)
    model, policy = fit(history), candidate(setting.judged)
    found = gather(policy, history, model)
    assert isinstance(policy, PlackettLuce)
    length, size = setting.payoffs.budget, setting.items
    n = len(found.rewards)
    reward, theirs, ours = (np.zeros((n, length)) for _ in range(3))
    q_hat, dist = np.zeros((n, length, size)), np.zeros((n, length, size))
    action = np.zeros((n, length), np.int64)
    for i, decision in enumerate(history.decisions()):
        assert decision.items is not None
        assert decision.prefix is not None
        tried, action[i] = decision.outcome.tried, decision.order
        reward[i, tried - 1] = decision.reward
        choices = policy.choices(decision.items, setting.payoffs, decision.order)
        theirs[i] = policy.propensities(decision.items, setting.payoffs, decision.order)[:-1]
        ours[i] = decision.prefix
        dist[i] = choices[:length, :size]
        chances = model.chances(decision.items, i)
        rewards, losses = setting.payoffs.rewards, setting.payoffs.losses
        for j in range(tried):  # 0 after the cascade has ended
            mean = dist[i, j] @ chances
            after = losses[length]
            for further in range(length - 1, j, -1):
                after = mean * rewards[further] + (1.0 - mean) * after
            q_hat[i, j] = chances * rewards[j] + (1.0 - chances) * after
    iw = theirs / ours
    rips = (reward * iw).sum() / n
    snrips = sum((reward[:, j] * iw[:, j] / iw[:, j].mean()).sum() for j in range(length)) / n
    taken = np.take_along_axis(q_hat, action[:, :, None], axis=2)[:, :, 0]
    before = np.concatenate([np.ones((n, 1)), iw[:, :-1]], axis=1)
    cascade_dr = (iw * (reward - taken) + before * (dist * q_hat).sum(axis=2)).sum() / n
    settings = Settings(resamples=1)
    args = found.rewards, found.weights, found.last, settings
    robust = doubly_robust("", found.starts, found.deltas, found.weights, 0.0, settings)
    return {
        "RIPS": (rips, importance("", *args).value),
        "SNRIPS": (snrips, self_normalised("", *args).value),
        "Cascade-DR": (cascade_dr, robust.value),
    }


# -- 5. warm start --------------------------------------------------------------------------------


def warm_start(count: int, candidates: bool) -> dict[str, tuple[float, bool]]:
    """Cascades a minute, checking included, and whether the state is that of learning online."""
    rng = np.random.default_rng(0)

    def fresh() -> UCB:
        return UCB(OnlineNewton(10, max_budget=5), exploration=0.1)

    online, payoffs, rows = fresh(), Payoffs.exponential(5), []
    for t in range(count):
        items = unit_rows(rng.normal(size=(20, 10)))
        ranking = online.rank(items, payoffs)
        tried = int(rng.integers(1, len(ranking) + 1))
        outcome = Outcome(tried, bool(rng.random() < 0.5))
        online.learn(ranking, outcome)
        rows.append(record(t, ranking, outcome, payoffs, items=items if candidates else None))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "csv", "jsonl"):
            path = Path(folder) / f"log.{ending}"
            write(path, rows)
            policy = fresh()
            start = time.perf_counter()
            learn_from(policy, History(path))
            minutes = (time.perf_counter() - start) / 60.0
            found[ending] = count / minutes, policy.to_bytes() == online.to_bytes()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="for the intervals")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run = Parallel(options.jobs)

    for candidates in (False, True):
        what = "and all 20 candidates" if candidates else "only"
        print(f"warm start, d = 10, checking included; the log has what was played {what}")
        for ending, (speed, equal) in warm_start(20_000, candidates).items():
            print(f"  {ending:8} {speed:10,.0f} cascades a minute, the same state: {equal}")

    print("Open Bandit Pipeline's formulas, fixed length, 300 decisions")
    fixed = Setting("1.0", "0.5", 5, 300, FREE)
    for name, (theirs, ours) in pipeline(fixed, 1).items():
        print(f"  {name:10} {theirs:.12f} and {ours:.12f}: {abs(theirs - ours):.1e} apart")

    found = run(delayed(within_bounds)(seed) for seed in range(options.runs // 2))
    inside = sum(one[0] for one in found)
    exact, width = np.mean([one[1:] for one in found], axis=0)
    print(f"bounds: {inside} of {len(found)} runs inside in every decision", end="")
    print(f" (exact share {exact:.2f}, mean width {width:.2f})")

    fewer = 0
    for setting in VARIANCE_SETTINGS:
        values = np.array(run(delayed(estimates)(setting, s) for s in range(options.runs // 20)))
        variance = values.var(axis=0, ddof=1)
        fewer += bool(variance[1] <= variance[0])
        print(
            f"  log {setting.log:6} judged {setting.judged:6} k = {setting.items} losses to "
            f"{setting.payoffs.losses[-1]:.2f}: DR / IS variance {variance[1] / variance[0]:.2f}"
        )
    print(f"doubly robust has at most the variance in {fewer} of {len(VARIANCE_SETTINGS)} settings")

    for setting in (Setting("1.0", "0.5"), Setting("random", "0.5", payoffs=FREE)):
        truth = setting.truth()
        table = np.array(run(delayed(covered)(setting, truth, s) for s in range(options.runs)))
        print(
            f"intervals, log {setting.log}, judged {setting.judged}, k = {setting.items}: truth "
            f"{truth:.4f}; importance sampling {table[:, 0].mean():.4f}, covers "
            f"{table[:, 1].mean():.1%}; doubly robust {table[:, 2].mean():.4f}, covers "
            f"{table[:, 3].mean():.1%}; {options.runs} runs, {table[:, 4].mean():.0f} effective"
        )


if __name__ == "__main__":
    main()
