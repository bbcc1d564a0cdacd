"""The public face: its names, and what importing it brings along."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import longrank

EXTRAS = {"matplotlib", "sklearn", "typer", "rich", "pandas", "polars", "scipy"}


def test_the_public_names_are_those_of_the_reference_and_documented():
    page = (Path(__file__).parents[1] / "docs" / "python-api.md").read_text()
    names = set(re.findall(r"auto(?:class|function):: longrank\.(\w+)$", page, re.MULTILINE))
    assert ".. automodule:: longrank.errors\n   :members:" in page
    names |= {name for name in longrank.__all__ if hasattr(longrank.errors, name)}
    assert len(names) > 35
    assert set(longrank.__all__) == names | {"LOGISTIC", "PROBIT", "theory"}
    assert all(getattr(longrank, name).__doc__ for name in longrank.__all__)


def test_importing_it_imports_no_extra():
    code = """
import sys, numba  # numba looks at the version of scipy, where there is one
before = set(sys.modules)
import pytest

import longrank
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert "longrank" in imported
    assert not imported & EXTRAS


def test_no_function_or_class_hides_a_module_of_its_own_package():
    walked = pkgutil.walk_packages(longrank.__path__, "longrank.")
    for name in ["longrank", *(each.name for each in walked if each.ispkg)]:
        package = importlib.import_module(name)
        modules = [each.name for each in pkgutil.iter_modules(package.__path__)]
        for module in modules:
            importlib.import_module(f"{name}.{module}")
        assert [each for each in modules if callable(getattr(package, each))] == [], name
