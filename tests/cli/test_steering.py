"""Names, tags and SQL that would steer a terminal: no command passes them on."""

import json
import shlex
import string

import pytest

from dbdyno.cli import main
from dbdyno.store.writer import RunWriter
from tests.report.conftest import HOSTILE, STEERING
from tests.store import synthetic

COMMANDS = (
    "runs",
    "runs --all --columns workload,tags,command",
    "runs --json",
    "report last --text",
    "report last --format text",
    "report last --format markdown",
    "report last --json",
    "explain last",
    "compare last~1 last",
    "compare last~1 last --json",
    "history",
    "sql 'select workload, tags from runs'",
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path))
    shape = synthetic.Shape(
        seconds=12, tps=50, script=HOSTILE, sql=(HOSTILE,) * 7, deadlock_message=HOSTILE
    )
    for _ in range(2):
        record = synthetic.record(
            workload=HOSTILE, tags={HOSTILE: HOSTILE}, command=["tpcb", HOSTILE], target=HOSTILE
        )
        with RunWriter(record, synthetic.plan(HOSTILE), tmp_path) as writer:
            writer.write_server({"version": HOSTILE, "product": "postgres"})
            for frame in synthetic.packed(shape):
                writer.append_frame(frame)
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_passes_them_on(home, capsys, words):
    main(shlex.split(words))
    out, err = capsys.readouterr()
    assert out + err
    assert not {*STEERING} & {*out + err} - {*string.printable}


@pytest.mark.parametrize("words", ["runs --json", "report last --json"])
def test_json_is_still_the_same_data(home, capsys, words):
    main(words.split(" "))
    told = json.loads(capsys.readouterr().out)
    run = told["runs"][0] if "runs" in told else told
    assert run["tags"] == {HOSTILE: HOSTILE}
