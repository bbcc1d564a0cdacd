"""The public face: its names, and what importing it brings along."""

from __future__ import annotations

import subprocess
import sys

import longrank

NAMES = [
    "LCB",
    "LOGISTIC",
    "PROBIT",
    "UCB",
    "BadFile",
    "BadPlugin",
    "Category",
    "Coverage",
    "Embedding",
    "EpsilonGreedy",
    "Features",
    "InvalidInput",
    "Laplace",
    "Learner",
    "Link",
    "LongrankError",
    "MaximumLikelihood",
    "MissingExtra",
    "Mixture",
    "Number",
    "OnlineNewton",
    "Oracle",
    "Outcome",
    "Payoffs",
    "PlackettLuce",
    "Plain",
    "PlannedSequence",
    "Policy",
    "Polynomial",
    "Random",
    "Ranking",
    "Records",
    "Ridge",
    "Schema",
    "SparseLaplace",
    "Tabular",
    "Tags",
    "Text",
    "Thompson",
    "cautious",
    "load",
    "named",
    "recommended",
    "theory",
    "unit_rows",
]
EXTRAS = {"matplotlib", "sklearn", "typer", "rich", "pandas", "polars", "scipy"}


def test_the_public_names_are_these():
    assert longrank.__all__ == NAMES


def test_every_public_name_is_there_and_documented():
    assert all(getattr(longrank, name).__doc__ for name in NAMES)


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
