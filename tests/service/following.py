"""A page with examples of the service, followed with a real one: also what doctest skips there."""

from __future__ import annotations

import doctest
from pathlib import Path

from serving import ADMIN

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
ADDRESS = "http://127.0.0.1:8000"


def follow(name: str, address: str) -> dict:
    """Run the examples of a page, also those that are marked to be skipped; return its names."""
    page = HOW_TO / name
    text, names = page.read_text(), {"admin_key": ADMIN}
    assert ADDRESS in text
    text = text.replace(ADDRESS, address).replace("timeout=0.2", "timeout=60")  # a busy machine
    test = doctest.DocTestParser().get_doctest(text, names, name, str(page), 0)
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    done = doctest.DocTestRunner().run(test, clear_globs=False)
    assert done.attempted > 10
    assert done.failed == 0
    return test.globs
