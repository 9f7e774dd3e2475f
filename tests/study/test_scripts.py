"""Studies of sysbench scripts, on a real MariaDB and with the real engine."""

import json
from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.model.study import StudyRecord
from dbdyno.run.tools import engine_tools
from dbdyno.store.listing import find_run, read_record
from dbdyno.study.execute import execute
from dbdyno.study.folder import begin_study
from dbdyno.study.machine import read_machine
from dbdyno.study.plan import StudyPlan, plan_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN
from tests.study.files import read, written
from tests.study.watcher import Watcher

STUDY = """
name = "scripts"
title = "Transactions around one statement"
question = "What do begin and commit cost?"
repeats = 1
restore = "once"
[base]
workload = "oltp_update_index.lua"
server = "mariadb"
clients = 2
time = "500ms"
warmup = "0s"
telemetry = "off"
script-option.tables = 2
script-option.table-size = 100
[[factor]]
name = "script-option.skip-trx"
levels = [true, false]
"""

pytestmark = pytest.mark.usefixtures("home")


def plan(folder: Path, text: str = STUDY) -> StudyPlan:
    return plan_study(read(folder, text), engine_tools(), read_machine(), Rates())


def made(folder: Path) -> StudyRecord:
    path = written(folder, STUDY)
    with begin_study(path, read(folder, STUDY), AS_WRITTEN) as writer:
        return execute(writer, engine_tools(), Watcher(), Rates())


def test_each_point_gives_the_script_options_of_its_own(tmp_path, capfd):
    record = made(tmp_path)
    assert "Creating table" not in "".join(capfd.readouterr())
    assert [(result.status, result.error) for result in record.results] == [("done", None)] * 2
    for result in record.results:
        folder = find_run(result.run_id)
        given = json.loads((folder / "plan.json").read_text())["lua"]["arguments"]
        own = {"tables": "2", "table_size": "100"}
        assert given.items() >= {**own, "skip_trx": result.turn.point.partition("=")[2]}.items()
        assert read_record(folder).transactions.ok > 0
        assert "Creating table 'sbtest2'..." in (folder / "log.txt").read_text(encoding="utf-8")


def test_a_plan_shows_the_command_that_runs_a_point_alone(tmp_path):
    planned = plan(tmp_path)
    arguments = planned.points[0].command.split()
    assert arguments[:3] == ["dbdyno", "run", "oltp_update_index.lua"]
    assert "--script-option=--skip-trx=on" in arguments
    assert any("loads its data before each run" in note for note in planned.notes)


def test_an_option_that_the_script_does_not_have_is_refused_with_the_point(tmp_path):
    with pytest.raises(DbdynoError) as caught:
        plan(tmp_path, STUDY.replace("table-size", "tabel-size"))
    assert str(caught.value).startswith("script-option.skip-trx=on: invalid option: --tabel_size")


def test_equivalent_sysbench_options_become_dbdyno_options(tmp_path):
    text = STUDY.replace("clients = 2\n", "").replace("option.tables", "option.threads")
    assert "--clients 2" in plan(tmp_path, text).points[0].command
