"""Tasks as streams of rounds, and policies that fit them."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longrank import packing
from longrank.arrays import Matrix
from longrank.datasets import TASKS, Table, data_folder, table
from longrank.datasets.tasks import kept
from longrank.errors import InvalidInput, unknown
from longrank.experiments.settings import LATENT, Settings
from longrank.features import Coverage, Mixture
from longrank.jobs import one_thread
from longrank.links import LOGISTIC
from longrank.policies import Policy, registry
from longrank.simulation import PaymentWorld, Stream, TableWorld

EMBEDDING_SEED = 0  # the embedding is part of the task; only shuffle and outcomes change by seed
SYNTHETIC = ("logistic", "payments-8", "payments-100")
_ROUNDS = 500


@functools.lru_cache(maxsize=2)
def task_table(task: str, folder: str | None) -> Table:
    """Return the items of a task, and others to fit topics to."""
    if task not in SYNTHETIC:
        return table(task, EMBEDDING_SEED, folder)
    rng = np.random.default_rng(EMBEDDING_SEED)
    if task == "logistic":
        items = rng.standard_normal((_ROUNDS * 100 + 5_000, 10))
        items /= np.linalg.norm(items, axis=1, keepdims=True)
        chances = LOGISTIC.probability(3.0 * items @ (np.ones(10) / np.sqrt(10.0)) - 2.0)
    else:
        world = PaymentWorld(int(task.partition("-")[2]), seed=EMBEDDING_SEED)
        dealt = [world.deal(t) for t in range(_ROUNDS + 100)]
        items = np.concatenate([each.items for each in dealt])
        chances = LOGISTIC.probability(items @ world.weights)
    ranked = len(items) * 10 // 11 if task == "logistic" else len(items) * 5 // 6
    return Table(task, items[:ranked], chances[:ranked], items[ranked:], None, {"task": task})


@functools.lru_cache(maxsize=1)
def stream(task: str, seed: int, folder: str | None) -> Stream:
    """Return all rounds of a task, shuffled by the seed; payments keep their order."""
    data = task_table(task, folder)
    if task.startswith("payments"):
        size = int(task.partition("-")[2])
        wins = np.random.default_rng(seed).random(len(data.items)) < data.chances
        return Stream(data.items, np.arange(0, len(data.items) + 1, size), wins)
    return Stream.of(TableWorld(data.items, data.chances, size=100, seed=seed))


@functools.lru_cache(maxsize=8)
def mixture(task: str, topics: int, folder: str | None) -> Mixture:
    """Fit topics to items that are not ranked, scaled to norm 1 as the paper does on MNIST.

    The fit is cached in the data folder. It uses one thread, since more would change the last bits.
    """
    items = task_table(task, folder).embedding_items
    key = hashlib.sha256(items.tobytes() + f"{topics} {EMBEDDING_SEED} 1".encode()).hexdigest()
    path = data_folder(folder) / "prepared" / f"topics-{topics}-{key[:20]}.longrank"

    def fit() -> packing.Tree:
        with one_thread("fitting topics"):
            return Mixture.fit(items, topics, EMBEDDING_SEED, unit=True).saved()

    return Mixture.from_state(kept(path, key, fit))


@functools.lru_cache(maxsize=8)
def covered_stream(task: str, seed: int, topics: int, folder: str | None) -> Stream:
    """Replace the items of a stream by how much of each topic they cover, once for all settings.

    It uses one thread, since more would change the last bits.
    """
    plain = stream(task, seed, folder)
    with one_thread("topics"):
        covered = Coverage(mixture(task, topics, folder)).encode(plain.items, topics)
    return replace(plain, items=covered)


def situation(
    task: str, policy: str, settings: Settings, budget: int, seed: int, folder: str | None
) -> tuple[Policy, Stream]:
    """Make a policy with these settings, and the stream that it runs through.

    Policies with topics get items that are coverage vectors already: Dep, and Ind on its latent
    space (the paper's further investigation).
    """
    own: dict[str, Any] = dict(settings)
    offered: dict[str, Any] = {"max_budget": budget, "rng": seed}
    if "topics" in own:
        count = own.pop("topics")
        dealt = covered_stream(task, seed, count, folder)
        offered["topics"] = _as_they_are
    else:
        dealt = stream(task, seed, folder)
    offered["dim"] = dealt.items.shape[1]
    return registry.make("ind" if policy == LATENT else policy, offered, own), dealt


def _as_they_are(items: Matrix) -> Matrix:
    """Topics of items that are coverage vectors already."""
    return items


def all_tasks(given: Sequence[str]) -> list[str]:
    """Resolve names of tasks, each once; ``mnist`` stands for its ten. Refuse unknown ones."""
    chosen: list[str] = []
    for name in given:
        classes = [task for task in TASKS if task.rpartition("-")[0] == name]
        if not classes and name not in TASKS and name not in SYNTHETIC:
            known = sorted({TASKS[task].source for task in TASKS})
            rule = (
                f"be one of {', '.join(known)} (with -0 to -9 for a class), {', '.join(SYNTHETIC)}"
            )
            raise InvalidInput("task", rule, unknown(name, [*known, *TASKS, *SYNTHETIC]))
        chosen += classes or [name]
    return list(dict.fromkeys(chosen))
