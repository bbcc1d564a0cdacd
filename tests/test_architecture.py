"""docs/architecture.md: the files and functions that it walks along are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "longrank"
TEXT = (ROOT / "docs" / "architecture.md").read_text()


def test_every_file_and_folder_that_is_named_exists():
    named = {name for name in re.findall(r"`([\w/.-]+(?:\.py|/))`", TEXT) if "x.py" not in name}
    assert len(named) > 40
    assert sorted(n for n in named if not ((SOURCE / n).exists() or (ROOT / n).exists())) == []


def test_every_folder_of_the_package_is_on_the_map():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert sorted(name for name in folders if f"`{name}/`" not in TEXT) == []


def test_every_function_along_the_way_is_in_its_file():
    steps = re.findall(r"^\d+\. `([\w/]+\.py)`: `([\w.]+)`", TEXT, re.MULTILINE)
    assert len(steps) > 10
    for file, name in steps:
        last = name.rpartition(".")[2]
        assert re.search(rf"(def|class) {last}\b", (SOURCE / file).read_text()), (file, name)
