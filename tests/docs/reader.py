"""Somebody who types what a page says, in a fresh clone of the repository."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from pages import ROOT, blocks

PATIENCE = 1800.0  # seconds: no test here is about speed


def commands(page: Path) -> Iterator[str]:
    """The commands of a page's blocks, one after the other, without comments."""
    for block in blocks(page):
        if block.language == "sh":
            yield from split(block.text)


def split(text: str) -> Iterator[str]:
    """The commands of a block: a line each, or more where a quote or a backslash goes on."""
    waiting = ""
    for line in text.splitlines(keepends=True):
        waiting += line
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:  # inside a quote
            continue
        if not waiting.rstrip().endswith("\\"):
            if words:
                yield re.sub(r"\s+# .*$", "", waiting).strip()
            waiting = ""
    assert not waiting.strip(), f"unfinished: {waiting}"


def clone(folder: Path) -> Path:
    """A fresh clone, with what has changed since the last commit and is not ignored."""
    run = {"check": True, "capture_output": True, "text": True}
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], **run)
    asked = ["git", "ls-files", "--modified", "--others", "--deleted", "--exclude-standard"]
    for name in set(subprocess.run(asked, cwd=ROOT, **run).stdout.splitlines()):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return folder


def environment(programs: Path, source: Path = ROOT) -> dict[str, str]:
    """Variables for commands that run with this Python and the package in ``source``."""
    programs.mkdir(parents=True, exist_ok=True)
    command = "-c 'from longrank import cli; cli.main()'"
    for name, start in {"longrank": command, "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (programs / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(source / "src"),
        "COLUMNS": "100",  # the width of the reader's terminal
    }


def bare() -> dict[str, str]:
    """Variables of a reader who has nothing of this environment yet."""
    ours = ("PYTHONPATH", "LONGRANK_KERNELS", "NUMBA_DISABLE_JIT")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"COLUMNS": "100"}


def bash(script: str, folder: Path, variables: dict[str, str]) -> str:
    """Run a script to its end, with all that it starts; what it prints."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = ["bash", "-euc", script]
    process = subprocess.Popen(
        command, cwd=folder, env=variables, text=True, start_new_session=True, **pipes
    )
    try:
        printed, errors = process.communicate(timeout=PATIENCE)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, f"{script}\n{printed}\n{errors}"
    return printed


def wait_for(address: str, server: subprocess.Popen) -> None:
    """Wait until an address answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(address)
            return
        except OSError:
            assert server.poll() is None, "the service ended"
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.05)
