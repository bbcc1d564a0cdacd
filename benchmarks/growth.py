"""The pictures of docs/speed.md: `python benchmarks/growth.py docs/images`."""

from __future__ import annotations

import sys
from pathlib import Path

from longrank.experiments.bench.growth import SUBJECTS, draw, measured


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    for name, subject in SUBJECTS.items():
        lines = measured(subject)
        print(draw(subject, lines, folder / f"speed-{name}"))
        for size in subject[2]:
            ours, plain = (line[size] * 1e6 for line in lines.values())
            print(f"  {subject[0]} {size:>6,}: {ours:10.1f} us, plain {plain:10.1f} us")


if __name__ == "__main__":
    main()
