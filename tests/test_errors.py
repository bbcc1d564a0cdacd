"""The exceptions: one tree, one sentence each."""

from __future__ import annotations

import sys

import pytest

from longrank import BadFile, InvalidInput, LongrankError, MissingExtra, Mixture


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(InvalidInput, ValueError), (BadFile, ValueError), (MissingExtra, ImportError)],
)
def test_every_error_is_ours_and_a_builtin_one(error, builtin):
    assert issubclass(error, LongrankError)
    assert issubclass(error, builtin)


def test_an_invalid_input_names_parameter_rule_and_value():
    error = InvalidInput("budget", "be at least 0", -1)
    assert str(error) == "budget must be at least 0, got -1"
    assert (error.parameter, error.rule, error.value) == ("budget", "be at least 0", -1)


def test_a_missing_extra_says_what_to_install():
    message = "Mixture.fit needs more packages: pip install '.[experiments]' in longrank's checkout"
    assert str(MissingExtra("Mixture.fit", "experiments")) == message


def test_what_needs_an_extra_says_so_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.mixture", None)
    with pytest.raises(MissingExtra, match=r"^Mixture.fit needs more packages: .*experiments"):
        Mixture.fit([[0.0], [1.0]], 1, 0)
