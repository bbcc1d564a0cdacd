"""gymnasium: a policy from elsewhere in longrank's worlds, beside longrank's own.

The policy from elsewhere is scikit-learn's logistic regression: it learns online what succeeds,
tries the most likely route first, explores one payment in ten, and stops where a try costs more
than it brings. It sees a simulated payment desk only through `reset` and `step`, as any library of
reinforcement learning would. Run it: python examples/reinforcement.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import numpy as np
from sklearn.linear_model import SGDClassifier

from longrank import Outcome, recommended

NAME, COST = "longrank.integrations.gymnasium:longrank/Payments-v0", 0.15  # module:id


class Elsewhere:
    """An online logistic regression that knows nothing of longrank."""

    def __init__(self, seed: int) -> None:
        self.model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1, alpha=1e-4)
        self.rng = np.random.default_rng(seed)
        self.known = False

    def act(self, seen: dict, mask: np.ndarray) -> int:
        """Choose a route that was not tried, or stop."""
        items, stop = seen["items"], len(mask) - 1
        if not self.known or self.rng.random() < 0.1:
            return int(self.rng.choice(np.flatnonzero(mask)))
        chances = np.where(mask[:-1], self.model.predict_proba(items)[:, 1], -1.0)
        best = int(chances.argmax())
        return best if chances[best] > COST else stop

    def learn(self, seen: dict, action: int, succeeded: bool) -> None:
        """Learn from a try."""
        self.model.partial_fit(seen["items"][[action]], [int(succeeded)], classes=[0, 1])
        self.known = True


def elsewhere(env: gymnasium.Env, rounds: int) -> np.ndarray:
    """What the policy from elsewhere earns in each round."""
    policy, earned = Elsewhere(0), np.zeros(rounds)
    for t in range(rounds):
        seen, info = env.reset(seed=0 if t == 0 else None)
        over = False
        while not over:
            action = policy.act(seen, info["action_mask"])
            after, reward, over, _, info = env.step(action)
            earned[t] += reward
            if action < len(info["action_mask"]) - 1:
                policy.learn(seen, action, info["succeeded"])
            seen = after
    return earned


def ours(env: gymnasium.Env, rounds: int) -> np.ndarray:
    """What longrank's recommended policy earns: it ranks first, and then plays its sequence."""
    desk = env.unwrapped
    stop, earned = env.action_space.n - 1, np.zeros(rounds)
    policy = None
    for t in range(rounds):
        seen, info = env.reset(seed=0 if t == 0 else None)
        policy = policy or recommended(dim=seen["items"].shape[1], rng=0)
        ranking = policy.rank(seen["items"], desk.payoffs)
        tried = 0
        for action in [*ranking.order.tolist(), stop]:
            _, reward, over, _, info = env.step(action)
            earned[t] += reward
            tried += action != stop
            if over:
                break
        policy.learn(ranking, Outcome(tried, info["succeeded"]))
    return earned


def chance(env: gymnasium.Env, rounds: int) -> np.ndarray:
    """What random actions earn."""
    rng, earned = np.random.default_rng(0), np.zeros(rounds)
    for t in range(rounds):
        _, info = env.reset(seed=0 if t == 0 else None)
        over = False
        while not over:
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, reward, over, _, info = env.step(action)
            earned[t] += reward
    return earned


def main(rounds: int = 3_000, picture: Path | None = None) -> dict[str, float]:
    """Play all of them; print what they earned, and draw it."""
    env = gymnasium.make(NAME, attempt_cost=COST)
    policies = {"longrank": ours, "logistic regression": elsewhere, "random": chance}
    runs = {name: run(env, rounds) for name, run in policies.items()}
    found = {name: float(earned.mean()) for name, earned in runs.items()}
    print(*(f"  {name}: {mean:.3f} a payment" for name, mean in found.items()), sep="\n")
    if picture is not None:
        draw(runs, picture)
    return found


def draw(runs: dict[str, np.ndarray], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    axis = figure.subplots()
    for (name, earned), look in zip(runs.items(), ("-", "--", ":"), strict=True):
        axis.plot(np.cumsum(earned) / np.arange(1, len(earned) + 1), look, label=name)
    axis.set(xlabel="payment", ylabel="mean reward so far", ylim=(0.0, 1.0))
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
