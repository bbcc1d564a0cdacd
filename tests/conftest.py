"""What several test files share: every implementation of each interface, and rounds to play."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from every_part import LEARNERS, POLICIES
from longrank.testing import Rounds

SLOW = [HealthCheck.too_slow]  # of a busy machine
settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, suppress_health_check=SLOW
)
settings.load_profile("fixed")


@pytest.fixture(params=LEARNERS)
def make_learner(request):
    """Makes a fresh learner of rows of length 4."""
    return LEARNERS[request.param]


@pytest.fixture(params=POLICIES)
def make_policy(request):
    """Makes a fresh policy for items of length 4 and budgets up to 5."""
    return POLICIES[request.param]


@pytest.fixture(
    params=[
        name
        for name in POLICIES
        if name.startswith(("ucb", "epsilon", "plackett", "thompson", "recommended"))
    ]
)
def student(request):
    """A fresh policy that learns."""
    return POLICIES[request.param]()


@pytest.fixture(params=[name for name in POLICIES if name != "random"])
def believer(request):
    """A fresh policy that learns, or that knows."""
    return POLICIES[request.param]()


@pytest.fixture
def policy(make_policy):
    """A fresh policy."""
    return make_policy()


@pytest.fixture
def rank():
    """Ranks rounds without learning; returns receipts and outcomes."""
    return Rounds.rank


@pytest.fixture
def play():
    """Ranks and learns at once, round after round; returns the receipts."""
    return Rounds.play


@pytest.fixture
def install_package(tmp_path_factory, monkeypatch):
    """Installs a package of one module with entry points, for the length of a test."""
    modules = []

    def install(name: str, code: str, entry_points: str) -> None:
        folder = tmp_path_factory.mktemp("site")
        (folder / f"{name}.py").write_text(code)
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        monkeypatch.syspath_prepend(folder)
        modules.append(name)

    yield install
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture(scope="session")
def real_mnist() -> Path:
    """The folder with the real MNIST: LONGRANK_MNIST, or beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data" / "mnist"
    folder = Path(os.environ.get("LONGRANK_MNIST") or beside)
    if not (folder / "train-images-idx3-ubyte.gz").is_file():
        absent = f"the real MNIST is not in {folder}: set LONGRANK_MNIST to its folder"
        if os.environ.get("CI"):
            pytest.fail(absent)
        pytest.skip(absent)
    return folder


@pytest.fixture
def small_questions(tmp_path) -> Path:
    """A folder with 300 made-up questions to four models, in the format of LLMRouter."""
    rng = np.random.default_rng(11)
    rates = {"tiny": (0.9, 0.1), "code": (0.2, 0.8), "large": (0.95, 0.9), "bad": (0.1, 0.05)}
    rows = []
    for number in range(300):
        cluster = int(rng.integers(2))
        text = f"{('add', 'code')[cluster]} number {number}"
        scores = {model: float(rng.random() < rate[cluster]) for model, rate in rates.items()}
        rows.append({"question": text, "scores": scores, "cluster_id": cluster})
    prices = {"tiny": 0.1, "code": 0.2, "large": 0.9, "bad": 0.9, "unasked": 3.0}
    both = ("input_price", "output_price")
    listed = {model: dict.fromkeys(both, price) for model, price in prices.items()}
    folder = tmp_path / "small-questions"
    folder.mkdir()
    (folder / "train.json").write_text(json.dumps(rows))
    (folder / "default_llm.json").write_text(json.dumps(listed))
    return folder
