"""The built package and its clean environments, made once for all workers."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from installing import ROOT, Environment, build, required, requirements

EXTRAS = ("bare", "logs", "experiments", "service")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "package"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def once(shared):
    """Makes a folder by its name, in whichever worker asks first; the others wait for it."""

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder = shared / name
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = shared / f"{name}.done"
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return once


@pytest.fixture(scope="session")
def wheel(once):
    [path] = once("wheel", lambda folder: build(folder, ROOT, "wheel")).glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(once):
    [path] = once("sdist", lambda folder: build(folder, ROOT, "sdist")).glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def environment(once, wheel):
    """The environment of an extra, or the ``bare`` one.

    An extra's environment sees that of the bare installation below it, so that all of them run
    the same files, and kernels are compiled once.
    """
    wanted, _ = requirements(wheel)
    base = required(wanted, set())

    def bare(folder: Path) -> None:
        made = Environment(folder).create()
        made.link(base)
        made.install(wheel)

    def environment(extra: str) -> Environment:
        below = Environment(once("bare", bare))
        if extra == "bare":
            return below

        def more(folder: Path) -> None:
            Environment(folder, below).create().link(required(wanted, {extra}) - base)

        return Environment(once(extra, more), below)

    return environment


@pytest.fixture(params=EXTRAS)
def extra(request):
    return request.param


@pytest.fixture
def installed(environment, extra):
    """Each of the environments."""
    return environment(extra)
