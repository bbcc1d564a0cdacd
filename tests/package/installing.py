"""Clean environments: a built wheel, the distributions that it requires, and nothing else.

The wheel is installed by pip. What it requires is not downloaded again: the files of the
distributions in the tests' own environment are linked into the clean one, following the wheel's
metadata from requirement to requirement. So a module that is not required cannot be imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


class Environment:
    """A virtual environment; ``below`` is another one whose packages it sees as well."""

    def __init__(self, folder: Path, below: Environment | None = None) -> None:
        self.folder, self.below = folder, below
        self.python = folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.packages = folder / "lib" / version / "site-packages"

    def create(self) -> Environment:
        venv.create(self.folder, symlinks=True)
        if self.below:
            (self.packages / "below.pth").write_text(f"{self.below.packages}\n")
        return self

    def install(self, wheel: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        offline = ["--no-deps", "--no-index", "--disable-pip-version-check"]
        subprocess.run([*pip, *offline, str(wheel)], check=True)

    def link(self, names: set[str]) -> None:
        """Link the files of distributions of the tests' environment."""
        for name in names:
            distribution = metadata.distribution(name)
            for file in distribution.files or ():
                if file.parts[0] == "..":  # programs and manuals
                    continue
                place = self.packages / file
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    place.symlink_to(Path(str(distribution.locate_file(file))).resolve())

    @property
    def longrank(self) -> list[str]:
        """The installed command, run by this environment's Python."""
        owner = self.below or self
        return [str(self.python), str(owner.folder / "bin" / "longrank")]

    def start(self, command: list[str], cwd: Path, **more) -> subprocess.Popen:
        """Start a command that sees neither the source tree nor the tests' environment."""
        kept = ("PATH", "LANG", "TMPDIR")
        clean = {name: os.environ[name] for name in kept if name in os.environ}
        clean |= {"HOME": str(cwd), "LONGRANK_DATA": str(cwd / "data"), "COLUMNS": "200"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            command, cwd=cwd, env=clean | more.pop("env", {}), text=True, **pipes, **more
        )

    def python_run(self, *arguments: str, cwd: Path, stdin: str = "") -> str:
        """Run this environment's Python to its end; its output."""
        process = self.start([str(self.python), *arguments], cwd, stdin=subprocess.PIPE)
        output, errors = process.communicate(stdin, timeout=300)
        assert process.returncode == 0, errors
        return output

    def run(self, *arguments: str, cwd: Path, code: int = 0, **more) -> str:
        """Run ``longrank`` to its end; its output, or its errors where ``code`` is not 0."""
        process = self.start([*self.longrank, *arguments], cwd, **more)
        output, errors = process.communicate(timeout=300)
        assert process.returncode == code, f"{arguments}: {process.returncode}\n{output}\n{errors}"
        return errors if code else output


def build(folder: Path, source: Path, *targets: str) -> None:
    """Build with hatchling as it is installed here."""
    which = [part for target in targets for part in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *which, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


def requirements(wheel: Path) -> tuple[list[Requirement], list[str]]:
    """Everything that a wheel may require, and the names of its extras."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        found = message_from_bytes(archive.read(name))
    wanted = [Requirement(text) for text in found.get_all("Requires-Dist")]
    return wanted, found.get_all("Provides-Extra")


def required(wanted: list[Requirement], extras: set[str]) -> set[str]:
    """The distributions that requirements bring, directly or not, as installed here."""
    found: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()

    def follow(requirement: Requirement, asked: set[str]) -> None:
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in asked | {""}):
            return
        name = canonicalize_name(requirement.name)
        distribution = metadata.distribution(name)
        assert requirement.specifier.contains(distribution.version, prereleases=True), requirement
        found.add(name)
        if (name, frozenset(requirement.extras)) in seen:
            return
        seen.add((name, frozenset(requirement.extras)))
        for text in distribution.requires or ():
            follow(Requirement(text), requirement.extras)

    for requirement in wanted:
        follow(requirement, extras)
    return found
