"""Frames, files and histories are taken alike, by every function that reads a log."""

import numpy as np
import pytest
from small_world import FORMS, JUDGED, chance, logged, written

from longrank import InvalidInput, recommended
from longrank.logs import History, check, evaluate, learn_from, report
from longrank.logs.rules import Rules


@pytest.mark.parametrize("form", [*FORMS, "history"])
def test_every_function_takes_every_source(form, tmp_path):
    rows = logged(chance(), 20)
    source = History(rows) if form == "history" else FORMS[form](rows, tmp_path)
    assert check(source).decisions == 20
    policy = recommended(dim=4)
    assert learn_from(policy, source) == 20
    estimates = evaluate(source, {"x": policy}, resamples=5)
    wanted = evaluate(History(rows), {"x": policy}, resamples=5)
    assert list(map(str, estimates)) == list(map(str, wanted))
    assert report(source, {"x": policy}, tmp_path / "page.html", estimates).exists()


def test_an_evaluation_reads_and_checks_a_log_once(tmp_path, monkeypatch):
    """Whatever the number of policies and estimators, and with the report."""
    path = written(tmp_path / "log.jsonl", logged(chance(), 30))
    seen, read = [], Rules.read
    monkeypatch.setattr(Rules, "read", lambda self, *row: seen.append(row[0]) or read(self, *row))
    history, policies = History(path), {name: make() for name, make in JUDGED.items()}
    evaluate(history.part(10), policies, resamples=5)
    assert len(seen) == 30
    kept = history.keep()
    learn_from(recommended(dim=4), kept.part(0, 10))
    evaluation = evaluate(kept.part(10), policies, resamples=5)
    report(kept.part(10), policies, tmp_path / "page.html", evaluation)
    assert len(seen) == 60


def test_what_is_kept_beyond_the_memory_lies_in_a_file_and_is_the_same(monkeypatch):
    rows = logged(chance(), 40)
    history = History(rows)
    kept = history.keep()
    monkeypatch.setattr("longrank.logs.history.MAX_KEPT_BYTES", 1000)
    spilled = history.keep()
    read = (each.decisions() for each in (kept, spilled, spilled))
    for one, other, third in zip(*read, strict=True):
        assert one.items.tobytes() == other.items.tobytes() == third.items.tobytes()
        assert one.features.tobytes() == other.features.tobytes()
        assert (one.id, one.order.tolist()) == (other.id, other.order.tolist())
    found = evaluate(spilled, {"x": JUDGED["chance"]()}, resamples=5)
    wanted = evaluate(kept, {"x": JUDGED["chance"]()}, resamples=5)
    assert list(map(str, found)) == list(map(str, wanted))
    assert np.isfinite(found[0].value)


def test_what_holds_no_pairs_is_refused_and_the_other_way_is_named():
    policy = recommended(dim=1)
    before = policy.to_bytes()
    rule = r"^history must hold pairs .*longrank\.logs\.learn_from"
    for history in ("log.csv", 3, [{"id": 1}], [(1, 2, 3)], [("a", "b")], {"a": 1}):
        with pytest.raises(InvalidInput, match=rule):
            policy.learn_from(history)
    assert policy.to_bytes() == before
