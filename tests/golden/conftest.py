"""A PostgreSQL server, and folders, for the golden files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def folder():
    """A folder in memory where there is one: fsync is not what these tests are about."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    path = Path(tempfile.mkdtemp(prefix="longrank-", dir=where))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def database():
    """The URL of an empty database on a server of its own."""
    sys.path.append(str(Path(__file__).parents[1] / "service"))
    from cluster import Cluster, binaries

    programs = binaries()
    if programs is None:
        if os.environ.get("CI") == "true":
            pytest.fail("PostgreSQL is not installed, and CI must not skip its tests")
        pytest.skip("PostgreSQL is not installed")
    cluster = Cluster(programs)
    yield cluster.url()
    cluster.remove()
