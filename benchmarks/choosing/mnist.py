"""The recommended policy on MNIST, against the paper's numbers and against held-out Ind and Dep.

longrank run mnist --policies recommended --seeds 5 --out RESULTS
longrank run mnist --policies ind,dep --grid paper --held-out 4 --out RESULTS
python benchmarks/choosing/mnist.py RESULTS [IMAGES]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from bars import bars

from longrank.experiments.results import ResultRow, read_results
from longrank.experiments.scores import Key
from longrank.experiments.tables import published

COLUMNS = [("vanilla", b) for b in (1, 5, 10)] + [("exponential", b) for b in (1, 5, 10, 50, 100)]
NAMES = {"recommended": "recommended", "ind": "Ind, held out", "dep": "Dep, held out"}
Found = dict[tuple[str, str, int], dict[tuple[str, int], float]]  # by policy, scenario, budget


def collected(rows: list[ResultRow]) -> Found:
    """``ncr_published`` by task and seed."""
    found: Found = {}
    for row in rows:
        if row["policy"] == "recommended" or row["protocol"] == "held-out":
            key = row["policy"], row["scenario"], row["budget"]
            found.setdefault(key, {})[row["task"], row["seed"]] = row["ncr_published"]
    return found


def against_held_out(found: Found, images: Path) -> None:
    """Paired over classes and shuffles."""
    means: dict[str, list[float]] = {name: [] for name in NAMES.values()}
    errors: dict[str, list[float]] = {name: [] for name in NAMES.values()}
    print("| scenario, budget | recommended | Ind, held out | ahead | Dep, held out | ahead |")
    print("|---|--:|--:|--:|--:|--:|")
    for scenario, budget in COLUMNS:
        ours, cells = found["recommended", scenario, budget], []
        for policy, name in NAMES.items():
            theirs = found[policy, scenario, budget]
            both = sorted(ours.keys() & theirs.keys())
            values = np.array([theirs[key] for key in both])
            ahead = np.array([ours[key] for key in both]) - values
            means[name].append(float(values.mean()))
            errors[name].append(float(values.std(ddof=1) / np.sqrt(len(both))))
            cells.append(f"{means[name][-1]:.3f}")
            if policy != "recommended":
                error = ahead.std(ddof=1) / np.sqrt(len(both))
                cells.append(f"{ahead.mean():+.3f} ± {error:.3f}")
        print(f"| {scenario}, {budget} | {' | '.join(cells)} |")
    groups = [f"{scenario}\nb = {budget}" for scenario, budget in COLUMNS]
    bars(groups, means, "ncr_published", images / "choosing-mnist", errors, lowest=0.7)


def against_the_paper(found: Found) -> None:
    """The mean over the shuffles, against the better of the paper's tuned Ind and Dep."""
    gaps, numbers = [], published()
    for scenario, budget in COLUMNS:
        ours = found["recommended", scenario, budget]
        for task in sorted({task for task, _ in ours}):
            mean = np.mean([value for (name, _), value in ours.items() if name == task])
            best = max(numbers[Key(task, scenario, budget, p)] for p in ("ind", "dep"))
            gaps.append((float(mean - best), f"{task}, {scenario}, b = {budget}"))
    reached = sum(gap >= -0.01 for gap, _ in gaps)
    print(f"at least the paper's best minus 0.01: {reached} of {len(gaps)}; the others:")
    print(*(f"  {where}: {gap:+.3f}" for gap, where in sorted(gaps) if gap < -0.01), sep="\n")


def main() -> None:
    found = collected(read_results([Path(sys.argv[1])]))
    against_held_out(found, Path(sys.argv[2] if len(sys.argv) > 2 else "docs/images"))
    against_the_paper(found)


if __name__ == "__main__":
    main()
