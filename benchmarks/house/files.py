"""Number, median and longest of the files in each folder: ``python benchmarks/house/files.py``.

Another version is counted with the path of its ``src/longrank`` as the argument.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path


def main(root: Path) -> None:
    folders: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        lines = len(path.read_text().splitlines())
        folder = path.parent.relative_to(root).as_posix()
        for name in {folder, folder.partition("/")[0], "(all)"}:
            folders[name].append((lines, path.relative_to(root).as_posix()))
    print("| folder | files | median | longest | under 60 lines |")
    print("| --- | --: | --: | --- | --: |")
    for folder in sorted(folders):
        files = folders[folder]
        median = statistics.median(lines for lines, _ in files)
        longest, name = max(files)
        small = sum(lines < 60 for lines, path in files if not path.endswith("__init__.py"))
        shown = f"{folder} (with subfolders)" if has_more(folder, folders) else folder
        print(f"| {shown} | {len(files)} | {median:g} | {longest} ({name}) | {small} |")


def has_more(folder: str, folders: dict[str, list[tuple[int, str]]]) -> bool:
    return any(other.startswith(f"{folder}/") for other in folders)


if __name__ == "__main__":
    here = Path(__file__).parents[2] / "src" / "longrank"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
