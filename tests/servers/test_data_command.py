"""``dbdyno data`` lists what is stored, and removes what is not in use."""

import json
import os
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.cli.output import Exit
from dbdyno.home import home_folder
from dbdyno.servers.data_sets import ABOUT, find_data_set, in_use, list_data_sets

DAY_S = 86_400
TEXT = """{"product":"postgres","version":"15.1","settings":{},"bytes":2500000000,
"made_at":"2026-01-01T00:00:00+00:00","about":{"workload":"tpcb"}}"""


@pytest.fixture
def two_sets(home: Path) -> Path:
    """One data set used just now, and one last used ten days ago."""
    for key, age_s in (("new", 0), ("old", 10 * DAY_S)):
        path = home_folder("data", key) / ABOUT
        path.write_text(TEXT)
        used_at = path.stat().st_mtime - age_s
        os.utime(path, (used_at, used_at))
    return home


def keys() -> list[str]:
    return [data.key for data in list_data_sets()]


def test_the_list_shows_workload_server_and_size(
    two_sets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list"]) == Exit.OK
    out, aside = capsys.readouterr()
    assert "data set  workload  server" in out.splitlines()[0]
    assert out.splitlines()[1].startswith("new       tpcb      postgres 15.1")
    assert out.splitlines()[1].endswith("2.5 GB")
    assert aside == "5.0 GB in total\n"


def test_old_data_sets_are_removed(two_sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "prune", "--older", "9"]) == Exit.OK
    assert capsys.readouterr().out == "removed 1 data set, 2.5 GB\n"
    assert keys() == ["new"]


def test_data_in_use_is_not_removed(two_sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = find_data_set("new")
    assert data is not None
    with in_use(data):
        assert main(["data", "prune"]) == Exit.OK
    assert capsys.readouterr() == ("removed 1 data set, 2.5 GB\n", "kept new: it is in use\n")
    assert keys() == ["new"]


def test_a_slip_of_the_pen_removes_nothing(
    two_sets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "prune", "old", "nwe", "--json"]) == Exit.NOTHING_RUN
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"] == "no data set has the key 'nwe'; there are: new, old"
    assert keys() == ["new", "old"]


def test_an_empty_list_explains_where_data_sets_come_from(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list"]) == Exit.OK
    assert capsys.readouterr() == ("", "No data sets. Studies create them.\n")
    assert not home.exists()
