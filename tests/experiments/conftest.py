"""What was drawn, for the tests of figures and of reports."""

import pytest

from longrank.experiments import figures


@pytest.fixture
def shown(monkeypatch):
    """The panels that were drawn, by their titles."""
    panels = {}
    draw = figures.average_rewards
    monkeypatch.setattr(
        figures,
        "average_rewards",
        lambda given, *path, **more: panels.update(given) or draw(given, *path, **more),
    )
    return panels
