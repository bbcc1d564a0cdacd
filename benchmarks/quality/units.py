"""What the units of the columns cost the recommended policy: `python benchmarks/quality/units.py`.

The columns of a data set are multiplied, shifted, repeated, joined by a constant, or given a heavy
tail, and the same rounds are played again. Shows by how much the score of each data set moves, in
the mean of its cells, and what it is without a change.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import sets
from players import RECOMMENDED, prepared, takes
from rich.progress import track
from tasks import Cell, Items, cells, scaled

from longrank import recommended
from longrank.jobs import one_thread
from longrank.simulation import run_stream


def widest_column(change: Callable[[Items], Items]) -> Callable[[Items], Items]:
    """Change the column that varies most."""

    def changed(items: Items) -> Items:
        column = int(items.std(axis=0).argmax())
        found = items.copy()
        found[:, column] = change(items[:, column])
        return found

    return changed


CHANGES: dict[str, Callable[[Items], Items]] = {
    "as it is": lambda items: items,
    "x 0.01": lambda items: items * 0.01,
    "x 0.1": lambda items: items * 0.1,
    "x 10": lambda items: items * 10.0,
    "x 1000": lambda items: items * 1000.0,
    "shifted": widest_column(lambda column: column - column.mean() + 5.0 * column.std()),
    "constant": lambda items: np.column_stack([items, np.full(len(items), np.abs(items).mean())]),
    "repeated": lambda items: np.column_stack([items, items[:, items.std(axis=0).argmax()]]),
    "heavy tail": widest_column(
        lambda column: np.sinh(2.0 * (column - column.mean()) / column.std())
    ),
}


def score(cell: Cell, change: Callable[[Items], Items]) -> float:
    """The score with changed columns, scaled where the policy asks for norms of at most 1."""
    _, stream = prepared(RECOMMENDED, {}, cell)
    changed = replace(stream, items=change(stream.items))
    policy = recommended(dim=changed.items.shape[1])
    if not takes(policy, changed):
        changed = replace(changed, items=scaled(changed.items))
    return cell.score(float(run_stream(policy, changed, cell.payoffs).rewards.sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--half", choices=(sets.CHOOSE, sets.REPORT), default=sets.CHOOSE)
    parser.add_argument("--sets", nargs="+", metavar="SET")
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    print(f"| data set | {' | '.join(CHANGES)} |\n|---|{'--:|' * len(CHANGES)}")
    moved = []
    for name in track(asked.sets or sets.names(asked.half), "playing", transient=True):
        played = list(cells(asked.half, [name], asked.seeds))
        with one_thread("playing"):
            found = np.array([[score(cell, each) for each in CHANGES.values()] for cell in played])
        base, *others = found.mean(axis=0).tolist()
        moved.append([other - base for other in others])
        print(f"| {name} | {base:.3f} | {' | '.join(f'{x:+.3f}' for x in moved[-1])} |", flush=True)
    largest = np.abs(moved).max(axis=0).tolist()
    print(f"| largest move | | {' | '.join(f'{x:.3f}' for x in largest)} |")


if __name__ == "__main__":
    main()
