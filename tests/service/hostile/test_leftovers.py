"""Passwords in addresses, logs that stay JSON, damaged caches of kernels, fits without an end."""

from __future__ import annotations

import json
import logging
import threading
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from longrank import cli
from longrank.learners import MaximumLikelihood
from longrank.learners.base import MIN_PENALTY
from longrank.service.doctor import examine
from longrank.service.errors import StoreFailed
from longrank.service.store.store import hide_password, open_store, plain_address

ADDRESSES = [
    "postgresql://me:s3cret@127.0.0.1:1/db",
    "postgresql://me:s3cret/s3cret@127.0.0.1:1/db",  # not encoded: half of it looks like a port
    "postgresql://me:s3cret@s3cret@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=me&password=s3cret",
    "postgresql://127.0.0.1:s3cret/db?password=s3cret",
    "postgresql://me:%733cret@127.0.0.1:1/db?nonsense=1",
    "postgresl://me:s3cret@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 password=s3cret",
    "host=127.0.0.1 port=1 password = 's3cret'",
]


@pytest.mark.usefixtures("root_logger")
def test_no_error_and_no_line_shows_the_password_of_a_store():
    for address in ADDRESSES:
        with pytest.raises(StoreFailed) as refused:
            open_store(address)
        assert "s3cret" not in str(refused.value), address
        assert refused.value.__cause__ is None or "s3cret" not in str(refused.value.__cause__)
        assert "s3cret" not in "".join(finding.detail for finding in examine(address))
        assert "s3cret" not in hide_password(address, address)
        answer = CliRunner().invoke(cli.app, ["serve", "--port", "0", "--store", address])
        assert "s3cret" not in answer.output + str(answer.exception), address


def test_an_address_is_shown_without_user_password_and_options():
    shown = "postgresql://host:5432/db"
    assert plain_address("postgresql://me:a@b@host:5432/db?password=c&sslmode=require") == shown
    assert plain_address("postgresql://host:5432/db") == shown
    assert plain_address("some/where.db") == "some/where.db"


def test_warnings_and_odd_text_are_lines_of_json(lines, root_logger):
    del root_logger.handlers[1:]  # pytest's come after ours, and cannot report odd text
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # catch_warnings has put another function in its place
        _ = np.array([1e308]) * 10.0
    logging.getLogger("longrank").warning("a name that is not UTF-8: \udcff")
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "overflow encountered" in found[0]["message"]
    assert found[-1]["message"].endswith("\\udcff")


def test_a_fit_with_hardly_any_penalty_ends():
    learner, rng = MaximumLikelihood(2, penalty=MIN_PENALTY), np.random.default_rng(0)

    def observe():
        for i in range(30):
            learner.observe(rng.uniform(-0.5, 0.5, (2, 2)), i % 2 == 0)

    thread = threading.Thread(target=observe, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
    assert np.isfinite(learner.weights).all()
