"""Runs of an older dbdyno, as it left them: ``old_runs`` was recorded before its house was rebuilt.

Made once by ``dbdyno run tpcb -s 1 -c 4 -T 3`` on a private server of each kind, that of PostgreSQL
with ``--rate 60``; never written anew. What was in ``run.json`` then is what commands print today.
"""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import dbdyno
from dbdyno.cli import main
from dbdyno.cli.output import Exit

OLD = Path(__file__).parent / "old_runs"
NAMES = ("mariadb", "postgresql")


@pytest.fixture(autouse=True)
def runs(home: Path, own_signals: None) -> Path:
    """A home with both runs."""
    return Path(shutil.copytree(OLD, home / "runs"))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == Exit.OK
    return capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_the_record_is_what_it_was(name, capsys):
    then = json.loads((OLD / name / "run.json").read_text()) | {"run_id": name}
    now = json.loads(printed(capsys, "report", name, "--json"))
    assert now["server"].pop("title").lower() == name  # which older runs did not record
    assert {field: now[field] for field in then} == then


@pytest.mark.parametrize("name", NAMES)
def test_it_is_explained_from_its_tables(name, capsys):
    """Sentences may get better; what was found, and its share, stays."""
    then = json.loads((OLD / name / "run.json").read_text())["findings"]
    now = json.loads(printed(capsys, "explain", name, "--json"))["findings"]
    # A load generator that is not saturated has become a doubt.
    kept = [one for one in then if one["id"] != "cpu_generator" or one["severity"] == "critical"]
    assert [(one["id"], one["share"]) for one in now] == [(one["id"], one["share"]) for one in kept]


@pytest.mark.parametrize("form", ["html", "text", "markdown", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_report_in_every_form(name, form, capsys, tmp_path):
    page = tmp_path / "page"
    printed(capsys, "report", name, "--format", form, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "Not shown" not in text
    for part in ("What limits throughput", "What clients waited for", "Percentiles", "Telemetry"):
        assert part in text


@pytest.mark.parametrize("name", NAMES)
def test_each_of_its_tables_is_read_whole(name, runs, capsys):
    opened = dbdyno.open_run(name)
    for file in (runs / name).glob("*.parquet"):
        ((rows,),) = duckdb.sql(f"select count(*) from '{file}'").fetchall()
        assert {len(values) for values in opened.columns(file.stem).values()} == {rows}
        if not file.stem.endswith("buckets"):
            counted = f"select count(*) from {file.stem} where run_id = '{name}'"
            assert json.loads(printed(capsys, "sql", counted, "--json"))["rows"] == [[rows]]


def test_they_are_listed_beside_others(capsys):
    listed = json.loads(printed(capsys, "runs", "--json"))["runs"]
    assert {run["run_id"] for run in listed} == {*NAMES}
