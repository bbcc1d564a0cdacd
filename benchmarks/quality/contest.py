"""The recommended policy on data that nobody tuned it for, against everybody else.

    python benchmarks/quality/contest.py                    # half of the tasks, to choose on
    python benchmarks/quality/contest.py --half report      # the other half: look once
    python benchmarks/quality/contest.py --half report --players rivals    # to prepare that
    python benchmarks/quality/contest.py --doors    # ours: as arrays, as fields, as embeddings

Prints a table and draws a picture (``--image``). Every result is appended to a file, and a second
call plays only what is missing there: rivals play once, ``recommended`` again whenever longrank's
code has changed. Data sets and packages that are missing are named and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sets
from joblib import Parallel, delayed
from players import DOORS, RECOMMENDED, TREES, Settings, compete, rivals, settings
from rich.console import Console
from rich.progress import Progress
from table import Scores, print_tables
from tasks import WORLDS, Cell, cells

import longrank
from longrank.jobs import one_thread

Job = tuple[str, Settings, Cell]
RESULTS = sets.FOLDER / "results.jsonl"
TREE_SEEDS = 1  # trees take long


def code_version() -> str:
    """A hash of longrank's source."""
    assert longrank.__file__
    files = sorted(Path(longrank.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def key(job: Job, version: str) -> str:
    """What a result is found by."""
    name, own, cell = job
    code = version if name.startswith(RECOMMENDED) else None
    return json.dumps({"player": name, "settings": own, **asdict(cell), "version": code})


def jobs(half: str, tasks: Iterable[str], seeds: int, names: list[str]) -> Iterator[Job]:
    """Everything that is to be played, the same rounds one after the other."""
    for task in tasks:
        able = [RECOMMENDED, *rivals(task), *([] if task in WORLDS else DOORS)]
        for name in (name for name in names if name in able):
            played = cells(half, [task], TREE_SEEDS if name in TREES else seeds)
            yield from ((name, own, cell) for cell in played for own in settings(name))


def shared(job: Job) -> tuple[Any, ...]:
    """What the jobs of a batch have in common: the player and the rounds."""
    name, _, cell = job
    return name, cell.task, cell.pivot, cell.seed


def run(job: Job) -> dict[str, Any]:
    """Play one job; what goes wrong is its result."""
    start = time.perf_counter()
    try:
        with one_thread("playing"):
            score, given_up = compete(*job)
    except ImportError as error:
        return {"failure": str(error)}
    return {"score": score, "given_up": given_up, "seconds": time.perf_counter() - start}


def run_all(batch: list[Job]) -> list[tuple[Job, dict[str, Any]]]:
    """Play jobs that share their rounds."""
    return [(job, run(job)) for job in batch]


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The results so far, by key."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {json.dumps(found.pop("key")): found for found in map(json.loads, lines)}


def play(todo: list[Job], path: Path, version: str, workers: int) -> set[str]:
    """Play and append; return what failed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = set()
    batches = [list(group) for _, group in itertools.groupby(todo, key=shared)]
    done = Parallel(workers, return_as="generator_unordered", batch_size=1)(
        delayed(run_all)(batch) for batch in batches
    )
    with path.open("a") as file, Progress(console=Console(stderr=True), transient=True) as bar:
        playing = bar.add_task("playing", total=len(todo))
        for batch in done:
            for job, found in batch:
                bar.advance(playing)
                if "failure" in found:
                    failures.add(f"{job[0]}: {found['failure']}")
                else:
                    line = {"key": json.loads(key(job, version)), **found}
                    file.write(json.dumps(line) + "\n")
                    file.flush()  # a line at once: several contests may append
    return failures


def present(names: list[str]) -> list[str]:
    """Those whose data is there; the others are named."""
    found = []
    for name in names:
        try:
            if name not in WORLDS:
                sets.load(name)
            found.append(name)
        except sets.Missing as missing:
            print(f"left out: {name}, which needs {missing}", file=sys.stderr)
    return found


def gathered(played: Iterable[Job], results: dict[str, dict[str, Any]], version: str) -> Scores:
    """Scores and shares of rounds given up: by cell without its seed, player, setting and seed."""
    scores: Scores = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for job in played:
        name, own, cell = job
        found = results.get(key(job, version))
        if found:
            where = cell.task, cell.pivot, cell.scenario
            scores[where][name][json.dumps(own)][cell.seed] = found["score"], found["given_up"]
    return scores


def print_doors(scores: Scores) -> None:
    """Print how far each form of the candidates is behind the best, on average and at most."""
    behind: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (task, *_), players in scores.items():
        means = {}
        for door, settings_of in players.items():
            (seeds,) = settings_of.values()
            means[door] = sum(score for score, _ in seeds.values()) / len(seeds)
        for door, mean in means.items():
            behind[door][task].append(max(means.values()) - mean)
    print("| candidates as | behind the best form: mean over data sets | largest of a data set |")
    print("|---|--:|--:|")
    for door, tasks in behind.items():
        means_of = [sum(each) / len(each) for each in tasks.values()]
        form = door.partition(", ")[2] or "arrays"
        print(f"| {form} | {sum(means_of) / len(means_of):.4f} | {max(means_of):.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--half", choices=(sets.CHOOSE, sets.REPORT), default=sets.CHOOSE)
    parser.add_argument("--sets", nargs="+", metavar="TASK", help="data sets and worlds")
    parser.add_argument("--players", nargs="+", help="their names, or rivals; by default all")
    parser.add_argument("--doors", action="store_true", help="compare the forms of candidates")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--image", type=Path, default=Path("quality"), help="without its ending")
    asked = parser.parse_args()
    known = [*sets.names(asked.half), *WORLDS]
    unknown = set(asked.sets or ()) - set(known)
    if unknown:
        parser.error(f"not in this half: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    tasks = present(asked.sets or known)
    everybody = list(dict.fromkeys(name for task in tasks for name in rivals(task)))
    names = asked.players or [RECOMMENDED, *(DOORS if asked.doors else everybody)]
    names = everybody if names == ["rivals"] else names
    version = code_version()
    wanted = list(jobs(asked.half, tasks, asked.seeds, names))
    before = read(asked.results)
    todo = [job for job in wanted if key(job, version) not in before]
    failures = play(todo, asked.results, version, asked.jobs)
    for failure in sorted(failures):
        print(f"left out: {failure}", file=sys.stderr)
    if asked.doors:
        print_doors(gathered(wanted, read(asked.results), version))
        return
    shown = jobs(asked.half, tasks, asked.seeds, list(dict.fromkeys([*names, *everybody])))
    print_tables(gathered(shown, read(asked.results), version), asked.image)


if __name__ == "__main__":
    main()
