"""The name of a run, from what it runs."""

import io
import os

import pytest

from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import ANY_SIZE
from dbdyno.run.work import find_work


@pytest.mark.parametrize(
    ("items", "name"),
    [
        (["tpcb"], "tpcb"),
        (["tpcb", "mine.sql"], "tpcb"),
        (["mine.sql"], "mine"),
        (["mine.sql", "tpcb.sql"], "mine+tpcb"),
        (["tpcb.sql"], "tpcb.sql"),
        (["select-only.sql"], "select-only.sql"),
        (["oltp_read_write.lua"], "oltp_read_write.lua"),
        (["shops.lua"], "shops"),
    ],
)
def test_a_workloads_name_is_of_its_data_alone(tmp_path, monkeypatch, items, name):
    monkeypatch.chdir(tmp_path)
    for item in items:
        if "." in item:
            (tmp_path / item).write_text("select 1;")
    found = find_work([WeightedName(item, 1) for item in items], (), ANY_SIZE)
    assert found.name == name


@pytest.mark.parametrize(
    ("text", "variables"),
    [("select 1;", {}), ("\\set id random(1, 100000 * :scale)\nselect :id;", {"scale": 1})],
)
def test_only_scripts_that_read_the_scale_have_its_default(tmp_path, text, variables):
    """Beside the result of others, "scale 1" would claim data that is not there."""
    script = tmp_path / "mine.sql"
    script.write_text(text)
    assert find_work([WeightedName(str(script), 1)], (), ANY_SIZE).variables == variables


def test_a_folder_that_vanishes_beside_a_script_is_passed_over(tmp_path, monkeypatch):
    script, beside = tmp_path / "mine.lua", tmp_path / "beside" / "help.lua"
    script.write_text("require('beside.help')")
    for folder in (beside.parent, tmp_path / "gone"):
        folder.mkdir()
    beside.write_text("return 1")
    there = os.scandir

    def scandir(folder):
        if "gone" in str(folder):
            raise FileNotFoundError(folder)
        return there(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    found = find_work([WeightedName(str(script), 1)], (), ANY_SIZE)
    assert found.lua.modules == {"beside.help": "return 1"}


def test_standard_input_gives_a_script_without_a_byte_order_mark(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfselect 42;")))
    assert find_work([], [WeightedName("-", 1)], ANY_SIZE).files[0].text == "select 42;"
