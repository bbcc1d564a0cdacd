"""The tutorial, followed literally: files are created, commands run and outputs compared.

Of what the page says only two things are changed: the packages are installed already, and the port
is a free one. The terminal is 100 characters wide.
"""

from __future__ import annotations

import doctest
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from pages import DOCS, Block, blocks

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGE = DOCS / "tutorial.md"
STEPS = [block for block in blocks(PAGE) if block.language in ("python", "sh", "text")]
FILE = re.compile(r"# (\w+\.py)(, continued)?\n")
INSTALLS = ("pip install", "bin/activate", "cd ../desk")


class Reader:
    """Somebody who does what the page says, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server, self.said = folder, None, ""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        programs = folder / "bin"
        programs.mkdir()
        for name, start in {
            "longrank": "-c 'from longrank import cli; cli.main()'",
            "python": "",
        }.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
            (programs / name).chmod(0o755)
        source = str(DOCS.parent / "src")
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": source,
            "COLUMNS": "100",  # the width of the reader's terminal
        }

    def follow(self, block: Block) -> None:
        text = block.text.replace(":8000", f":{self.port}").replace(
            "--port 8000", f"--port {self.port}"
        )
        if block.language == "python":
            self.write(text)
        elif block.language == "text":
            self.compare(text)
        elif "longrank serve" in text:
            self.serve(text)
        else:
            self.run(text)

    def write(self, text: str) -> None:
        found = FILE.match(text)
        assert found, f"a block of Python must begin with the name of its file: {text[:60]!r}"
        path = self.folder / found[1]
        assert path.exists() == bool(found[2]), f"{found[1]}: new files are new, others continued"
        path.write_text((path.read_text() if found[2] else "") + text)

    def run(self, text: str) -> None:
        script = "".join(
            line + "\n" for line in text.splitlines() if not any(skip in line for skip in INSTALLS)
        )
        done = subprocess.run(
            ["bash", "-euc", script], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=1200,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        self.said = done.stdout

    def serve(self, text: str) -> None:
        command = text.splitlines()[-1].split()
        self.server = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 600
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz")
                return
            except OSError:
                assert self.server.poll() is None, "the service ended"
                assert time.monotonic() < deadline, "the service is not ready"
                time.sleep(0.05)

    def compare(self, wanted: str) -> None:
        same = doctest.OutputChecker().check_output(wanted, self.said + "\n", FLAGS)
        assert same, f"expected:\n{wanted}\ngot:\n{self.said}"


@pytest.fixture
def reader(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    if reader.server is not None:
        reader.server.terminate()
        reader.server.wait(30)


def test_the_tutorial_works_as_it_stands(reader):
    for step in STEPS:
        reader.follow(step)
    assert reader.server is not None
    assert reader.server.poll() is None
    page = urllib.request.urlopen(f"http://127.0.0.1:{reader.port}/").read()
    assert b"<html" in page.lower()
    assert len(STEPS) > 25  # the whole page was found
