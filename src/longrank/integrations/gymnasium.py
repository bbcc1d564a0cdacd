"""gymnasium environments of the worlds: an episode is a round, a step is an attempt.

Importing this registers ``longrank/Logistic-v0``, ``longrank/Coverage-v0``,
``longrank/Payments-v0`` and ``longrank/Checkout-v0``. Needs ``pip install '.[gym]'``.

>>> import gymnasium
>>> env = gymnasium.make("longrank/Payments-v0", routes=4, budget=2)
>>> seen, info = env.reset(seed=0)
>>> seen["items"].shape, seen["tried"].tolist(), seen["tries"]
((4, 8), [0, 0, 0, 0], 0)
>>> seen, reward, terminated, truncated, info = env.step(2)  # try route 2; 4 would be to stop
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.decision import Outcome
from longrank.errors import InvalidInput, needs_extra
from longrank.payoffs import Payoffs
from longrank.schema import priced
from longrank.simulation import CheckoutWorld, CoverageWorld, LogisticWorld, PaymentWorld
from longrank.simulation.checkout import ACQUIRERS, BRANDS, COUNTRIES, REGIONS, TYPICAL_AMOUNT
from longrank.simulation.worlds import Round, World

with needs_extra("the gymnasium environments", "gym"):
    import gymnasium
    from gymnasium import spaces

Observation = dict[str, Any]
Encode = Callable[[Round], NDArray[np.float64]]
START = 100_000  # a seed of `reset` begins at one of so many rounds


class CascadeEnv(gymnasium.Env[Observation, int]):
    """A world as an environment: try candidates until one succeeds, or stop.

    An episode is a round of the world. Action i tries candidate i, and action k stops. Trying a
    candidate twice fails again and wastes an attempt; ``info["action_mask"]`` and
    :meth:`action_masks` mark the useful actions. The episode ends with a success, with the budget,
    with a final decline, or with the stop action. The rewards of its steps add up to what the
    outcome is worth under the payoffs.

    An observation has the ``items`` of the round, shape (k, d); ``tried``, 1 for each candidate
    already tried; and ``tries``, their number. ``dealt`` is the round itself, for ranking policies:
    ``policy.rank(env.unwrapped.dealt.items, env.unwrapped.payoffs)``.

    Parameters
    ----------
    world
        The hidden truth, which stays the same: ``reset(seed=...)`` only selects the round to
        continue from. All rounds must have the same number of candidates.
    payoffs
        What successes, attempts and giving up are worth.
    encode
        Turns a round into numbers, shape (k, d), if its candidates are records.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - gymnasium's declaration

    def __init__(self, world: World, payoffs: Payoffs, encode: Encode | None = None) -> None:
        self.world, self.payoffs = world, payoffs
        self._encode: Encode = encode or _as_they_are
        self._next, self._earned = 0, 0.0
        self._order: list[int] = []
        self._succeeded = self._over = False
        self._deal()
        k, d = self._items.shape
        self._tries = min(payoffs.budget, k)
        self.action_space: spaces.Space[Any] = spaces.Discrete(k + 1)
        self.observation_space = spaces.Dict(
            {
                "items": spaces.Box(-np.inf, np.inf, (k, d), np.float64),
                "tried": spaces.MultiBinary(k),
                "tries": spaces.Discrete(payoffs.budget + 1),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the next round; with a seed, the round it determines."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._next = int(self.np_random.integers(START))
        self._deal()
        return self._observed(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Try a candidate, or stop."""
        chosen = checks.whole("action", int(action))
        if chosen > len(self._items):
            raise InvalidInput("action", f"be at most {len(self._items)}", chosen)
        if self._over:
            raise InvalidInput("action", "come after reset, as the round is over", chosen)
        if chosen == len(self._items):
            self._over = True
        else:
            wasted = chosen in self._order
            self._order.append(chosen)
            self._succeeded = not wasted and self._play().succeeded
            self._over = self._succeeded or len(self._order) == self._tries or self._final()
        worth = self._worth()
        reward, self._earned = worth - self._earned, worth
        return self._observed(), reward, self._over, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are useful: candidates not yet tried, and stopping."""
        return np.append(self._tried == 0, True)

    def _deal(self) -> None:
        rounds = self.world.rounds
        self.dealt = self.world.deal(self._next if rounds is None else self._next % rounds)
        self._next += 1
        self._items = np.asarray(self._encode(self.dealt), np.float64)
        self._paid = priced(self.payoffs, self.dealt.items)
        self._order, self._earned = [], 0.0
        self._succeeded = self._over = False

    def _play(self, *more: int) -> Outcome:
        """Return the outcome of what was tried so far, and of more."""
        order = dict.fromkeys([*self._order, *more])
        return self.dealt.play(np.array(list(order), np.int64))

    def _final(self) -> bool:
        """Whether the last failure was final: then no other candidate is tried after it."""
        left = np.flatnonzero(self._tried == 0)[:1].tolist()
        return self._play(*left).tried == len(set(self._order))

    def _worth(self) -> float:
        """Return what the round has earned if it ends here."""
        costs, values, rewards, losses, _ = self._paid.prices(len(self._items))
        tries, spent = len(self._order), float(costs[self._order].sum())
        if self._succeeded:
            return float(rewards[tries - 1] + values[self._order[-1]]) - spent
        return float(losses[tries]) - spent

    @property
    def _tried(self) -> NDArray[np.int8]:
        tried = np.zeros(len(self._items), np.int8)
        tried[self._order] = 1
        return tried

    def _observed(self) -> Observation:
        return {"items": self._items.copy(), "tried": self._tried, "tries": len(self._order)}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "succeeded": self._succeeded}


def _as_they_are(dealt: Round) -> NDArray[np.float64]:
    if not isinstance(dealt.items, np.ndarray):
        raise InvalidInput("encode", "be given for a world of records", None)
    return dealt.items


def encode_checkout(dealt: Round) -> NDArray[np.float64]:
    """Turn a payment of :class:`~longrank.simulation.CheckoutWorld` into numbers.

    One row per route: the route, its region, acquirer, load, whether it is known to be down, and
    its fee; then brand, country, whether the payment recurs, and the logarithm of the amount.
    """
    paid = dealt.context or {}
    shared = [
        *_one_hot(paid["brand"], BRANDS),
        *_one_hot(paid["country"], COUNTRIES),
        float(paid["recurring"]),
        math.log(paid["amount"] / TYPICAL_AMOUNT),
    ]
    return np.array(
        [
            [
                *np.eye(len(dealt.items))[i],
                *_one_hot(route["region"], REGIONS),
                *_one_hot(route["acquirer"], ACQUIRERS),
                route["load"],
                float(route["status"] == "down"),
                route.get("cost", 0.0),
                *shared,
            ]
            for i, route in enumerate(dealt.items)
        ]
    )


def _one_hot(value: str, known: Any) -> list[float]:
    return [float(value == one) for one in known]


def logistic(
    dim: int = 5, items: int = 10, budget: int = 4, attempt_cost: float = 0.05, seed: int = 0
) -> CascadeEnv:
    """Make an environment with independent outcomes: ``longrank/Logistic-v0``."""
    weights = 3.0 * np.random.default_rng([seed]).standard_normal(dim) / math.sqrt(dim)
    world = LogisticWorld(weights, items=items, seed=seed)
    return CascadeEnv(world, Payoffs.linear(budget, attempt_cost=attempt_cost))


def coverage(
    dim: int = 5, items: int = 10, budget: int = 4, attempt_cost: float = 0.05, seed: int = 0
) -> CascadeEnv:
    """Make an environment in which similar candidates succeed or fail together.

    It is ``longrank/Coverage-v0``: success comes from topics not covered by earlier attempts.
    """
    weights = 4.0 * np.abs(np.random.default_rng([seed]).standard_normal(dim))
    world = CoverageWorld(weights, topics=np.square, dim=dim, items=items, seed=seed)
    return CascadeEnv(world, Payoffs.linear(budget, attempt_cost=attempt_cost))


def payments(
    routes: int = 8, budget: int = 4, attempt_cost: float = 0.05, seed: int = 0
) -> CascadeEnv:
    """Make an environment of simulated payments as arrays: ``longrank/Payments-v0``."""
    world = PaymentWorld(routes, seed=seed)
    return CascadeEnv(world, Payoffs.linear(budget, attempt_cost=attempt_cost))


def checkout(routes: int = 7, budget: int = 3, fees: bool = True, seed: int = 0) -> CascadeEnv:
    """Make an environment of simulated payments with fees, outages and final declines.

    It is ``longrank/Checkout-v0``. Candidates are records, which :func:`encode_checkout` encodes.
    """
    world = CheckoutWorld(routes, seed=seed, fees=fees)
    return CascadeEnv(world, Payoffs.linear(budget, attempt_cost=0.0), encode_checkout)


ENVIRONMENTS: dict[str, Callable[..., CascadeEnv]] = {
    "longrank/Logistic-v0": logistic,
    "longrank/Coverage-v0": coverage,
    "longrank/Payments-v0": payments,
    "longrank/Checkout-v0": checkout,
}
for _name, _make in ENVIRONMENTS.items():
    gymnasium.register(_name, _make)
