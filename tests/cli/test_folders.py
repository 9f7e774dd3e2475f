"""Folders that commands fill, and what else is in them."""

import pytest

from dbdyno.cli import main
from dbdyno.cli.folders import CONTENTS, fill_folder
from dbdyno.errors import DbdynoError
from tests.cli import made_up_runs
from tests.explain.make_golden import GOLDEN
from tests.report.test_csv import read


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_a_folder_is_made_and_filled_again(tmp_path):
    folder = tmp_path / "deep" / "down"
    assert fill_folder(folder, "tables", {"a.csv": b"1", "b.csv": b"2"}) == [
        folder / "a.csv",
        folder / "b.csv",
    ]
    fill_folder(folder, "charts", {"a.svg": b"3"})
    fill_folder(folder, "tables", {"b.csv": b"4"})
    assert names(folder) == {"b.csv", "a.svg", CONTENTS}
    assert (folder / "b.csv").read_bytes() == b"4"


def test_a_file_of_somebody_else_stays_and_nothing_is_written(tmp_path):
    (tmp_path / "b.csv").write_text("mine")
    with pytest.raises(DbdynoError, match=r"b\.csv exists, and dbdyno did not write it"):
        fill_folder(tmp_path, "tables", {"a.csv": b"1", "b.csv": b"2"})
    assert names(tmp_path) == {"b.csv"}
    assert (tmp_path / "b.csv").read_text() == "mine"


@pytest.mark.parametrize("text", ['{"name": "mine"}', "[]", "not JSON", '{"tables": [1]}'])
def test_a_list_of_contents_of_somebody_else_stays(tmp_path, text):
    (tmp_path / CONTENTS).write_text(text)
    with pytest.raises(DbdynoError, match="did not write it"):
        fill_folder(tmp_path, "tables", {"a.csv": b"1"})
    assert (tmp_path / CONTENTS).read_text() == text


def test_a_list_that_was_tampered_with_removes_nothing_elsewhere(tmp_path):
    elsewhere = tmp_path / "mine.csv"
    elsewhere.write_text("mine")
    folder = tmp_path / "tables"
    fill_folder(folder, "tables", {"a.csv": b"1"})
    (folder / CONTENTS).write_text('{"tables": ["../mine.csv"]}')
    with pytest.raises(DbdynoError, match="elsewhere"):
        fill_folder(folder, "tables", {"b.csv": b"1"})
    assert elsewhere.read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path):
    path = tmp_path / "tables"
    path.write_text("mine")
    with pytest.raises(DbdynoError, match="cannot write"):
        fill_folder(path, "tables", {"a.csv": b"1"})


@pytest.mark.usefixtures("home", "own_signals")
def test_the_tables_of_a_run_are_written_and_no_page(home, capsys, tmp_path):
    run_id = made_up_runs.run()
    folder = tmp_path / "csv"
    assert main(["report", run_id, "--tables", str(folder)]) == 0
    assert list(home.rglob("report.html")) == []
    assert f"tables: {folder}" in capsys.readouterr().err
    numbers = read((folder / "top-numbers.csv").read_text())
    assert numbers[1][:3] == ["Throughput", "1000", "TPS"]
    page = tmp_path / "page.html"
    assert main(["report", run_id, "--tables", str(folder), "-o", str(page)]) == 0
    assert page.exists()


@pytest.mark.usefixtures("home", "own_signals")
def test_the_tables_of_a_comparison_and_a_history_are_written_beside_what_is_printed(
    capsys, tmp_path
):
    made_up_runs.pairs(6)
    for command in (["compare", "tag:variant=a", "tag:variant=b"], ["history"]):
        folder = tmp_path / command[0]
        assert main([*command, "--tables", str(folder)]) == 0
        assert "Throughput" in capsys.readouterr().out
        assert [path for path in folder.glob("*.csv") if len(read(path.read_text())) > 3]


@pytest.mark.usefixtures("own_signals")
def test_charts_are_written_as_svg_and_png(home, capsys, tmp_path, monkeypatch):
    run = str(GOLDEN / "hot-rows")
    assert main(["report", run, "--charts", str(tmp_path)]) == 0
    charts = {path.stem for path in tmp_path.glob("*.svg")}
    assert f"{len(charts)} charts: {tmp_path}" in capsys.readouterr().err
    assert charts == {path.stem for path in tmp_path.glob("*.png")}
    assert {"throughput-chart", "waits-chart", "latency-chart"} < charts
    monkeypatch.setattr("dbdyno.report.render_svg.find_spec", lambda _: None)
    assert main(["report", run, "--charts", str(tmp_path)]) == 0
    assert "pip install 'dbdyno[charts]'" in capsys.readouterr().err
    assert {path.stem for path in tmp_path.glob("*.svg")} == charts
    assert list(tmp_path.glob("*.png")) == []
    assert list(home.rglob("report.html")) == []


@pytest.mark.usefixtures("home", "own_signals")
def test_tables_and_a_summary_are_not_written_together(capsys, tmp_path):
    assert main(["report", "last", "--tables", str(tmp_path), "--json"]) == 1
    assert "--tables and --json cannot be used together" in capsys.readouterr().out
