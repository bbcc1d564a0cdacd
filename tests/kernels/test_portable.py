"""The state of a learner is the same, bit for bit, with and without vector instructions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Every policy learns for 2,000 rounds; its file then lies in the folder given.
LEARN = """
import sys
from pathlib import Path

import numpy as np

import longrank
from longrank import UCB, Laplace, MaximumLikelihood, OnlineNewton, Outcome, Payoffs, Ridge

learners = {
    "newton-logistic": lambda: OnlineNewton(9, max_budget=5, radius=3.0, rate=2.0),
    "newton-probit": lambda: OnlineNewton(9, max_budget=5, radius=3.0, rate=2.0, link="probit"),
    "ridge": lambda: Ridge(9),
    "laplace": lambda: Laplace(9, forgetting=0.001),
    "likelihood": lambda: MaximumLikelihood(9),
    "likelihood-probit": lambda: MaximumLikelihood(9, link="probit"),
}
payoffs = Payoffs.exponential(5)
truth = np.random.default_rng(1).standard_normal(9)
for name, make in learners.items():
    rng = np.random.default_rng(2)
    policy = UCB(make(), exploration=0.1)
    for _ in range(2_000):
        items = rng.standard_normal((20, 9))
        items /= 1.0 + np.linalg.norm(items, axis=1, keepdims=True)
        wins = rng.random(20) < 0.3 + 0.2 * np.sign(items @ truth)
        ranking = policy.rank(items, payoffs)
        hits = np.flatnonzero(wins[ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(hits.size)))
    assert policy.learner.updates > 2_000
    (Path(sys.argv[1]) / name).write_bytes(policy.to_bytes())
"""


@pytest.mark.long
def test_the_state_is_the_same_for_a_generic_cpu_and_for_this_one(tmp_path):
    def files(name: str, **more: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        command = [sys.executable, "-c", LEARN, str(folder)]
        env = os.environ | {"LONGRANK_KERNELS": "compiled"} | more
        subprocess.run(command, env=env, check=True, capture_output=True)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}

    here = files("here")
    cache = str(tmp_path / "cache")
    generic = files(
        "generic", NUMBA_CACHE_DIR=cache, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES=""
    )
    assert len(here) == 6
    assert {name for name in here if here[name] != generic[name]} == set()
