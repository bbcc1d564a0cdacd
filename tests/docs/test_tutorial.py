"""The tutorial, followed literally: files are created, commands run and outputs compared.

Only the port is another one, and in the quick test the package is installed already.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest
from pages import DOCS, Block, blocks
from reader import bare, bash, clone, environment, wait_for
from serving import free_port

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
STEPS = [
    block for block in blocks(DOCS / "tutorial.md") if block.language in ("python", "sh", "text")
]
FILE = re.compile(r"# (\w+\.py)(, continued)?\n")


class Reader:
    """Somebody who does what the page says, in the folder ``desk``."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder, self.variables = folder, variables
        self.server: subprocess.Popen | None = None
        self.port, self.said = free_port(), ""

    def follow(self, block: Block) -> None:
        text = block.text.replace(":8000", f":{self.port}")
        text = text.replace("--port 8000", f"--port {self.port}")
        if block.language == "python":
            self.write(text)
        elif block.language == "text":
            same = doctest.OutputChecker().check_output(text, self.said + "\n", FLAGS)
            assert same, f"expected:\n{text}\ngot:\n{self.said}"
        elif "longrank serve" in text:
            activate, command = text.splitlines()
            assert activate == "source bin/activate"
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.server = subprocess.Popen(
                command.split(), cwd=self.folder, env=self.variables, **quiet
            )
            wait_for(f"http://127.0.0.1:{self.port}/readyz", self.server)
        else:
            self.said = bash(text, self.folder, self.variables)

    def write(self, text: str) -> None:
        head = FILE.match(text)
        assert head, f"a block of Python must begin with the name of its file: {text[:60]!r}"
        path = self.folder / head[1]
        assert path.exists() == bool(head[2]), f"{head[1]}: new files are new, others continued"
        path.write_text((path.read_text() if head[2] else "") + text)


def follow_all(reader: Reader, steps: list[Block]) -> None:
    try:
        for step in steps:
            reader.follow(step)
        assert reader.server is not None
        assert reader.server.poll() is None
        page = urllib.request.urlopen(f"http://127.0.0.1:{reader.port}/").read()
        assert b"<html" in page.lower()
    finally:
        if reader.server is not None:
            reader.server.terminate()
            reader.server.wait(120)


def test_the_tutorial_works_as_it_stands(tmp_path):
    install, *steps = STEPS
    assert "pip install '.[service]'" in install.text
    assert len(steps) > 25  # the whole page was found
    follow_all(Reader(tmp_path, environment(tmp_path / "bin")), steps)


@pytest.mark.long
def test_the_tutorial_works_from_a_fresh_clone_with_its_own_installation(tmp_path):
    install, *steps = STEPS
    variables = bare()
    bash(install.text, clone(tmp_path / "longrank"), variables)
    desk = tmp_path / "desk"
    follow_all(Reader(desk, variables | {"PATH": f"{desk}/bin:{variables['PATH']}"}), steps)
