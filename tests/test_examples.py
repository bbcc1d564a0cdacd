"""Every example runs, is short, and shows what its page says."""

import runpy
from pathlib import Path

import pytest

from longrank.datasets import add

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def run(tmp_path):
    """Runs an example with fewer rounds; returns what its main returns."""

    def run(name: str, rounds: int) -> dict[str, float]:
        main = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"]
        picture = tmp_path / "picture.png"
        found: dict[str, float] = main(rounds=rounds, picture=picture)
        assert picture.stat().st_size > 5_000
        return found

    return run


def test_an_example_is_short_and_has_a_page_with_a_picture():
    for example in EXAMPLES:
        assert len(example.read_text().splitlines()) <= 120
        page = (ROOT / "docs" / "examples" / f"{example.stem}.md").read_text()
        assert f"examples/{example.stem}.py" in page
        assert (ROOT / "docs" / "examples" / f"{example.stem}.png").is_file()


@pytest.mark.parametrize("name", ["payments", "providers"])
def test_an_example_of_payments_beats_a_fixed_list(run, name):
    found = run(name, 600)
    assert found["longrank"] > found["best fixed list"] > found["random order"]
    assert found["doubly robust"] == pytest.approx(found["longrank"], abs=0.2)


def test_the_search_example_refuses_what_the_old_log_cannot_say(run, capsys):
    found = run("search", 600)
    assert "a deterministic policy made the log" in capsys.readouterr().out
    assert found["from the new log"] > found["from the old log"] > found["engine"]
    judged = found["from the new log, doubly robust"]
    assert judged == pytest.approx(found["from the new log"], abs=0.15)


def test_the_music_example_learns_what_fits_the_moment(run):
    found = run("music", 200)
    assert found["longrank"] > 1.5 * max(found["random"], found["charts"])
    assert found["coverage"] > found["random"]


def test_the_reinforcement_example_plays_a_policy_from_elsewhere(run):
    pytest.importorskip("gymnasium", reason="gymnasium (extra gym) is not installed")
    found = run("reinforcement", 300)
    assert found["longrank"] > found["random"]
    assert found["logistic regression"] > found["random"]


def test_the_llm_example_answers_as_much_for_less_once_it_has_the_data(
    run, small_questions, tmp_path, monkeypatch
):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path / "data"))
    with pytest.raises(SystemExit, match="run 'longrank data add llm PATH'"):
        run("llm", 10)
    add("llm", small_questions)
    found = run("llm", 300)
    assert found["longrank"][0] < 0.5 * found["large"][0]
    assert found["longrank"][1] > found["tiny"][1] > found["bad"][1]
    assert found["cheapest first"][1] == found["most accurate first"][1]
