"""Every notebook runs from the top, and shows what it shows now."""

import json
import runpy

import pytest
from pages import DOCS

FOLDER = DOCS / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def printed(notebook):
    """What the cells print, and how many pictures and tables they show."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    texts = ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    tables = sum("text/html" in output.get("data", {}) for output in outputs)
    return texts, pictures, tables


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored_in_it(path):
    stored = json.loads(path.read_text())
    found = runpy.run_path(str(FOLDER / "run.py"))["run"](stored)
    texts, pictures, tables = printed(found)
    assert (texts, pictures, tables) == printed(stored), "python docs/notebooks/run.py"
    assert pictures >= 1
    assert tables >= 2


def test_there_are_two_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["evaluation", "library"]
