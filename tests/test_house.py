"""The house: names that mean one thing."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import pytest

import longrank

ROOT = Path(longrank.__file__).parent
PACKAGES = [
    "longrank",
    *(found.name for found in pkgutil.walk_packages(longrank.__path__, "longrank.") if found.ispkg),
]

# Class names that may stand in two files, each with the reason.
SHARED_CLASSES: dict[str, str] = {}

# Folders whose files may be named as a file elsewhere, each with the reason.
NAMED_AFTER = {
    "cli": "a command's file has the command's name, as has what it runs",
    "experiments/bench": "a measurement's file has the name of what it measures",
    "kernels": "a kernel's file has the name of the part whose inner loop it is",
}

# File names that may stand in two folders, each with the reason.
SHARED_FILES = {
    "base.py": "the interface of a kind of part, in the folder of that kind",
    "errors.py": "the exceptions of the library, and those of the service",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_no_function_or_class_hides_a_module_of_its_own_package(name):
    package = importlib.import_module(name)
    modules = [found.name for found in pkgutil.iter_modules(package.__path__)]
    for module in modules:
        importlib.import_module(f"{name}.{module}")
    assert sorted(module for module in modules if callable(getattr(package, module))) == []


def test_no_class_name_is_defined_twice():
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: twice[name] for name in twice if name not in SHARED_CLASSES} == {}
    assert sorted(SHARED_CLASSES.keys() - twice.keys()) == []  # no exception without a use


def test_no_file_name_stands_in_two_folders():
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        folder = path.parent.relative_to(ROOT).as_posix()
        if path.name != "__init__.py" and folder not in NAMED_AFTER:
            found[path.name].append(folder)
    twice = {name: folders for name, folders in found.items() if len(folders) > 1}
    assert {name: twice[name] for name in twice if name not in SHARED_FILES} == {}
    assert sorted(SHARED_FILES.keys() - twice.keys()) == []  # no exception without a use
