"""Many runs on some cores, with a progress bar."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from joblib import Parallel, delayed
from rich.progress import track

T = TypeVar("T")


def each(what: str, run: Callable[[int], T], seeds: range, jobs: int) -> list[T]:
    """The result of every seed."""
    results = Parallel(jobs, return_as="generator")(delayed(run)(seed) for seed in seeds)
    return list(track(results, what, total=len(seeds)))


def options(text: str | None, runs: int) -> argparse.ArgumentParser:
    """What every script here can be told."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser
