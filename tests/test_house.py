"""The house: names that mean one thing."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import longrank

ROOT = Path(longrank.__file__).parent
PACKAGES = [
    "longrank",
    *(found.name for found in pkgutil.walk_packages(longrank.__path__, "longrank.") if found.ispkg),
]

# Class names that stand in two files, each with the reason.
SHARED_CLASSES: dict[str, str] = {}

# File names that stand in two folders, each with the reason: two kinds of one thing.
SHARED_FILES = {
    "base.py": "the interface of a kind of part, in the folder of that kind",
    "laplace.py": "a learner, and its kernel",
    "likelihood.py": "a learner, and its kernel",
    "report.py": "what makes a report, in logs and experiments, and its command",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_no_public_name_hides_a_module_of_its_own_package(name):
    package = importlib.import_module(name)
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    for (
        module
    ) in modules:  # importing a module sets the name to it, which must not be the last word
        importlib.import_module(f"{name}.{module}")
    public = set(getattr(package, "__all__", ()))
    hidden = {
        module
        for module in modules
        if not isinstance(getattr(package, module), ModuleType) or module in public
    }
    if name == "longrank":
        hidden -= {"theory"}  # the module itself is public
    assert sorted(hidden) == []


def _defined() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_no_class_name_is_defined_twice():
    twice = {name: places for name, places in _defined().items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in SHARED_CLASSES} == {}
    assert sorted(SHARED_CLASSES.keys() - twice.keys()) == []  # no exception without a use


def _files() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        if path.name != "__init__.py":
            found[path.name].append(path.parent.relative_to(ROOT).as_posix())
    return found


def test_no_file_name_stands_in_two_folders():
    twice = {name: places for name, places in _files().items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in SHARED_FILES} == {}


def test_every_exception_for_a_file_name_is_still_needed():
    assert sorted(name for name in SHARED_FILES if len(_files()[name]) < 2) == []
