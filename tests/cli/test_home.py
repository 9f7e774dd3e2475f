"""``dbdyno home`` reports what is actually on the disk."""

import json

import pytest

from dbdyno.cli import main
from dbdyno.store.listing import runs_folder
from tests.cli import made_up_runs as made_up

pytestmark = pytest.mark.usefixtures("home", "own_signals")


def home_folders(capsys) -> dict[str, dict[str, object]]:
    assert main(["home", "--json"]) == 0
    kept = json.loads(capsys.readouterr().out)["kept"]
    return {one["what"]: one for one in kept}


def test_everything_has_its_number_its_size_and_what_removes_it(capsys, home):
    assert {one["number"] for one in home_folders(capsys).values()} == {0}
    made_up.run()
    download = home / "binaries" / "postgres-17.1"
    download.mkdir(parents=True)
    (download / "postgres").write_bytes(b"x" * 100_000)
    (home / "started" / "20250102-030405-run-tpcb-0a1b").mkdir(parents=True)
    found = home_folders(capsys)
    assert found["started from the page"]["number"] == 1
    assert found["runs"]["number"] == 1
    assert found["runs"]["bytes"] > 0
    assert found["runs"]["folder"] == str(runs_folder())
    assert 100_000 <= found["downloaded servers"]["bytes"] < 200_000
    assert all(one["removed_by"] for one in found.values())


def test_for_people_it_is_a_table_with_a_sum(capsys):
    made_up.run()
    assert main(["home"]) == 0
    captured = capsys.readouterr()
    assert "dbdyno runs rm --older 90d" in captured.out
    assert captured.err.endswith("MB in total\n")
