"""How often the gate promotes a policy that earns no more than what is played, with daily looks.

    python benchmarks/logs/gate.py [--runs 1000] [--jobs 1] [--days 30] [--daily 50]
                                   [--log Plackett-Luce]

Each stream grows by some decisions a day, and an answer counts if the gate gave it at any time.
Beside it: how often a z-test (5 %, one-sided) would promote that looks only once, at the end, by
the same weighted rewards, and by doubly robust terms, which need a known least propensity.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from pathlib import Path
from statistics import NormalDist

import numpy as np
from together import each, options

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "logs"))
from exact_world import LOGS, World, logged_by, true_value
from small_world import believing

from longrank import PlackettLuce
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.intervals import IntervalSettings, mixture
from longrank.logs.evaluation.sample import Sample


def asked(world: World, found: Evidence, rounds: int, seed: int) -> tuple[str, bool, bool]:
    """What the gate would have answered about one stream on any day, and the two z-tests.

    It promotes as soon as the capital that is bet on the policy has grown twentyfold, and keeps
    what is played as soon as that against it has. (On some days it may refuse to answer.)
    """
    here = found.take(world.sample(rounds, np.random.default_rng(seed)))
    sample = Sample(here, IntervalSettings())
    bets = sample.against_log()[:2]
    grown = [bool(mixture(each, 1.0).max() >= math.log(20.0)) for each in bets]
    answers = {(True, False): "promote", (False, True): "keep", (True, True): "both"}
    earned = here.earned - here.earnable[:, 0] * (here.final_masses - 1.0) - here.rewards
    tests = (_significant(terms) for terms in (earned, sample.terms - here.rewards))
    return answers.get((grown[0], grown[1]), "not enough data"), *tests


def _significant(terms: np.ndarray) -> bool:
    error = float(terms.std()) / len(terms) ** 0.5
    return bool(terms.mean() > NormalDist().inv_cdf(0.95) * error > 0.0)


def main() -> None:
    parser = options(__doc__, runs=1000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--daily", type=int, default=50)
    parser.add_argument("--log", choices=tuple(LOGS), default="Plackett-Luce")
    chosen = parser.parse_args()
    make, payoffs = LOGS[chosen.log]
    world = logged_by(make(), payoffs)
    judged = {
        "the same policy": make(),
        "a better one": PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3),
        "a worse one": PlackettLuce(believing([-1.5, 1.0]), temperature=0.5, rng=3),
    }
    for name, policy in judged.items():
        found = world.evidence(policy)
        played = float(world.chances @ found.rewards)
        gain = true_value(policy, payoffs) - played
        runs = partial(asked, world, found, chosen.days * chosen.daily)
        answers, weighted, robust = zip(
            *each(name, runs, range(chosen.runs), chosen.jobs), strict=True
        )
        shares = {one: answers.count(one) / len(answers) for one in sorted(set(answers))}
        tests = f"{np.mean(weighted):.3f} by weights, {np.mean(robust):.3f} doubly robust"
        print(f"{name}, which earns {gain:+.4f}: {shares}; a z-test promotes {tests}", flush=True)


if __name__ == "__main__":
    main()
