"""Many files are one log."""

import pytest
from small_world import call, chance, logged

from longrank import BadFile
from longrank.logs import BadLog, History, check, write

ROWS = logged(chance(), 40)


def parts(folder, suffix="parquet", rows=ROWS):
    """Files whose names are in the order of the log, though they are not written in it."""
    for first in (20, 0, 30, 10):
        write(folder / f"day-{first:02}.{suffix}", rows[first : first + 10])
    return folder


def ids(history):
    return [int(one.id) for one in history.decisions()]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_folder_a_pattern_and_a_list_are_the_log_in_the_order_of_names(tmp_path, suffix):
    folder = parts(tmp_path, suffix)
    (tmp_path / "_SUCCESS").write_text("")
    files = sorted(folder.glob(f"*.{suffix}"))
    for data in (folder, str(folder), f"{folder}/day-*.{suffix}", files, [*map(str, files)]):
        history = History(data)
        assert ids(history) == [row["id"] for row in ROWS]
        assert ids(history.keep().part(15, 25)) == list(range(15, 25))


def test_an_id_that_comes_again_in_another_file_is_refused_with_its_name(tmp_path):
    write(tmp_path / "a.parquet", ROWS[:20])
    write(tmp_path / "b.parquet", [row | {"time": 50} for row in ROWS[19:30]])
    with pytest.raises(BadLog, match=r"b\.parquet, row 1: id must be unique, got 19"):
        History(tmp_path).validate()


def test_folders_in_folders_are_read_too_and_tell_files_of_one_name_apart(tmp_path):
    for first in (0, 20):
        (tmp_path / f"month={first}").mkdir()
        write(tmp_path / f"month={first}" / "log.parquet", ROWS[first : first + 20])
    assert ids(History(tmp_path)) == list(range(40))
    write(tmp_path / "month=20" / "log.parquet", ROWS[19:30])
    [first, *_] = check(tmp_path).problems
    assert first.file.endswith("month=20/log.parquet")


def test_problems_name_the_file_and_its_row(tmp_path):
    rows = [dict(row) for row in ROWS]
    rows[13]["tried"] = 99
    write(parts(tmp_path, rows=rows) / "day-99.jsonl", [{"id": 99, "order": [0]}])
    one, other = check(tmp_path).problems
    assert (one.file, one.row, one.column) == ("day-10.parquet", 4, "tried")
    assert str(other).startswith("day-99.jsonl: the log has no column `tried`; its columns are")


def test_where_there_is_no_file_that_is_said(tmp_path):
    with pytest.raises(BadFile, match=r"no file in .* that ends in \.parquet, \.csv"):
        History(tmp_path)
    with pytest.raises(BadFile, match=r"no file is called .*\*\.parquet"):
        History(f"{tmp_path}/*.parquet")


def test_long_form_agrees_on_its_context_across_files(tmp_path):
    def rows(ids, city):
        return [
            {"id": i, "candidate": name, "position": place, "tried": 1, "succeeded": True}
            | {"brand": "visa", "city": city(name)}
            for i in ids
            for name, place in (("a", 1), ("b", None))
        ]

    write(tmp_path / "1.csv", rows(range(3), lambda _: "rome"))
    write(tmp_path / "2.csv", rows(range(3, 6), lambda name: name))
    for decision in History(tmp_path).decisions():
        assert decision.context == {"brand": "visa"}
        assert all("city" in each for each in decision.candidates)


def test_the_command_line_takes_them(tmp_path):
    folder = parts(tmp_path)
    files = sorted(folder.glob("*.parquet"))
    for given in ([folder], [f"{folder}/*.parquet"], files):
        output = call("evaluate", *given, "--policy", "ind")
        assert "40 decisions: 20 to learn from, 20 to judge by" in output
        call("logs", "check", *given)
