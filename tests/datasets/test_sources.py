"""The catalogue."""

import re

from longrank.datasets import SOURCES
from longrank.datasets.ratings import FORMATS
from longrank.datasets.sources import source


def test_every_source_can_be_got_or_says_how():
    for name, known in SOURCES.items():
        assert source(name) is known
        assert bool(known.files) != bool(known.manual)
        assert known.page.startswith("https://")
        assert (known.terms is not None) == (name in FORMATS)
        assert known.terms is None or known.terms.url.startswith("https://")
        for file in known.files:
            assert file.urls
            address = rf"https://.*/{re.escape(file.name)}"
            assert all(re.fullmatch(address, url) for url in file.urls)
            assert file.md5 is None or re.fullmatch("[0-9a-f]{32}", file.md5)
            assert file.size is None or file.size > 0
