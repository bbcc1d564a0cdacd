"""What a new user waits for: install, first decision, `longrank play`, from nothing but the wheel.

    python benchmarks/package/install.py python3.11 python3.12 python3.13

Builds the wheel with this Python's hatchling. For each Python named it makes two environments
outside of the checkout, one bare and one with the service, and prints a row of a table: seconds by
the clock, and of the processor in brackets. Packages are downloaded anew; the first decision and
the first game both compile everything that they need.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


def five_lines() -> str:
    """The first example of the README."""
    block = re.search(
        r"## Five lines\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert block
    return re.sub(r"(?m)^>>> ", "", block[1])


class Stopwatch:
    """Seconds by the clock, and of the processor by the processes that ended meanwhile."""

    def __enter__(self) -> Stopwatch:
        self.began, self.used = time.perf_counter(), self.processor()
        return self

    def __exit__(self, *_: object) -> None:
        self.clock = time.perf_counter() - self.began
        self.used = self.processor() - self.used

    def processor(self) -> float:
        """Seconds of the processor by all processes that have ended."""
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.used:.1f})"


class Environment:
    """A virtual environment that sees nothing of the checkout."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder, self.empty = folder, size(folder)
        self.bin = folder / "bin"

    def run(self, *command: str) -> str:
        """Run a command in the folder of the environments; what it took."""
        with Stopwatch() as watch:
            done = subprocess.run(**self.how(command), check=False)
        assert done.returncode == 0, done.stdout
        return str(watch)

    def how(self, command: tuple[str, ...]) -> dict[str, object]:
        """The arguments of a process of this environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {
            "args": [str(self.bin / command[0]), *command[1:]],
            "cwd": self.folder.parent, "env": kept | {"COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
            "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
        }  # fmt: skip

    def install(self, what: str) -> str:
        """Install; what came with it, and what it took."""
        pip = ("python", "-m", "pip", "install", "--quiet", "--no-cache-dir")
        took = self.run(*pip, "--disable-pip-version-check", what)
        return f"{size(self.folder) - self.empty:.0f} MB, {took}"

    def play(self) -> str:
        """Start the game; what it took until payments are routed and the page is there."""
        with Stopwatch() as watch:
            playing = subprocess.Popen(**self.how(("longrank", "play", "--no-browser")))
            said = ""
            while not (found := re.search(r"http://[\d.:]+/", said)):
                line = playing.stdout.readline()
                assert line, said
                said += line
            ready = time.perf_counter()
            state = json.load(urlopen(f"{found[0]}desk/state"))
            assert state["money"]["payments"] > 0, state
            playing.send_signal(signal.SIGINT)
            playing.communicate()
        watch.clock = ready - watch.began
        return str(watch)


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="Python programs")
    parser.add_argument("--keep", type=Path, help="an empty folder for the environments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longrank-install-") as made:
        folder = options.keep or Path(made)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        [wheel] = folder.glob("*.whl")
        lines = five_lines()
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, load {os.getloadavg()[0]:.1f}")
        print("| Python | bare | with the service | first decision | again | first game | again |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for python in options.pythons:
            version = subprocess.check_output([python, "-V"], text=True).split()[1]
            bare = Environment(python, folder / f"bare-{version}")
            cells = [bare.install(str(wheel))]
            service = Environment(python, folder / f"service-{version}")
            cells.append(service.install(f"{wheel}[service]"))
            cells += [bare.run("python", "-c", lines) for _ in range(2)]
            cells += [service.play() for _ in range(2)]
            print(f"| {version} | {' | '.join(cells)} |", flush=True)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
