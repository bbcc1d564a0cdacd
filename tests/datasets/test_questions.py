"""Questions that language models answered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import zipped_folder

from longrank.datasets import MissingData, add, available, find, read_questions, table
from longrank.datasets.questions import read
from longrank.errors import BadFile, InvalidInput

MODELS = ("bad", "code", "large", "tiny")


def test_a_folder_or_an_archive_is_added_and_read(small_questions, tmp_path):
    data = tmp_path / "data"
    assert not available("llm", data)
    with pytest.raises(MissingData, match="then run 'longrank data add llm PATH'"):
        read_questions(data)
    added = add("llm", small_questions, data)
    assert sorted(file.name for file in added) == ["default_llm.json", "train.json"]
    assert set(find("llm", data)) == set(added)
    assert available("llm", data)
    got = read_questions(data)
    assert len(got) == 300
    assert got.models == MODELS
    assert got.prices.tolist() == [1.8, 0.4, 1.8, 0.2]
    assert got.answered.shape == (300, 4)
    (tmp_path / "all.zip").write_bytes(zipped_folder(small_questions, "all/"))
    assert add("llm", tmp_path / "all.zip", data) == (data / "llm" / "llm.zip",)
    assert read_questions(data).texts == got.texts


def test_models_and_questions_are_records(small_questions):
    got = read(small_questions)
    candidates = got.candidates(0.3)
    assert [each["id"] for each in candidates] == list(MODELS)
    assert [each["cost"] for each in candidates] == pytest.approx([0.3, 0.2 / 3, 0.3, 0.1 / 3])
    words, cluster = got.texts[7], got.clusters[7]
    assert got.context(7) == {"cluster": cluster, "length": len(words), "words": words}
    assert cluster == ("0" if words.startswith("add") else "1")
    with pytest.raises(
        InvalidInput, match="max_cost must be a finite number of at least 0, got -1"
    ):
        got.candidates(-1)


def test_half_a_point_is_a_success(small_questions):
    def halve(rows: Any) -> None:
        rows[0]["scores"] = {"bad": 0.49, "code": 0.5, "large": 1, "tiny": 0.0}

    change(small_questions / "train.json", halve)
    assert read(small_questions).answered[0].tolist() == [False, True, True, False]


def change(file: Path, how: Callable[[Any], Any]) -> None:
    content = json.loads(file.read_text())
    how(content)
    file.write_text(json.dumps(content))


def test_what_is_wrong_with_a_file_is_said(small_questions):
    for file, how, message in [
        ("train", list.clear, r"train.json must be a list of questions, got \[\]"),
        ("train", lambda r: r.insert(1, 3), "question 2, must be a question of text .* got 3"),
        ("train", lambda r: r[2].pop("cluster_id"), "question 3, must be a .* with a cluster_id"),
        ("train", lambda r: r[0].update(question=None), "question 1, must be a question of text"),
        ("train", lambda r: r[0].update(cluster_id=0.5), "question 1, .*a whole number or a name"),
        ("train", lambda r: r[0].update(scores=[1]), "question 1, .* scores from 0 to 1"),
        ("train", lambda r: r[0].update(scores={}), "question 1, .* scores from 0 to 1"),
        ("train", lambda r: r[4]["scores"].pop("code"), "question 5, .* same models as the first"),
        ("train", lambda r: r[0]["scores"].update(code=2), "question 1, .* scores from 0 to 1"),
        ("train", lambda r: r[0]["scores"].update(code="1"), "question 1, .* scores from 0 to 1"),
        ("default_llm", lambda r: r.pop("tiny"), "must have an input_price and .* for tiny"),
        ("default_llm", lambda r: r["code"].pop("input_price"), "an input_price .* for code"),
        ("default_llm", lambda r: r["bad"].update(output_price=-1), "at least 0, for bad"),
        (
            "default_llm",
            lambda r: [r[model].update(input_price=0, output_price=0) for model in MODELS],
            "must have a price above 0, got 0 for every model",
        ),
    ]:
        path = small_questions / f"{file}.json"
        whole = path.read_bytes()
        change(path, how)
        with pytest.raises(BadFile, match=message):
            read(small_questions)
        path.write_bytes(whole)


def test_a_folder_of_something_else_and_a_table_of_questions_are_refused(small_questions, tmp_path):
    data = tmp_path / "data"
    (small_questions / "default_llm.json").write_text("[1")
    with pytest.raises(BadFile, match=r"does not look like LLMRouter.*must be JSON: Expecting"):
        add("llm", small_questions, data)
    (small_questions / "default_llm.json").unlink()
    with pytest.raises(BadFile, match=r"small-questions must hold default_llm\.json"):
        add("llm", small_questions, data)
    assert not data.exists()
    with pytest.raises(InvalidInput, match=r"read_questions\(\) gives the records of this"):
        table("llm", 0)


def test_the_real_questions_are_read():
    folder = Path(__file__).parents[3] / "shared" / "data" / "llmrouter"
    if not folder.is_dir():
        pytest.skip(f"the real questions are not in {folder}")
    got = read(folder)
    assert got.answered.shape == (5608, 9)
    assert set(got.clusters) == {"0", "1", "2"}
    assert np.ptp(got.prices) > 1.0
    assert 0.15 < got.answered.mean(axis=0).min() < got.answered.mean(axis=0).max() < 0.65
