"""In a real terminal of 80 columns no line of a result is longer; in a pipe each keeps its form."""

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import termios
import threading

import pytest

from dbdyno.cli import main
from dbdyno.store.summary import list_runs
from tests.cli import made_up_runs as made_up
from tests.support.numbers import wal

COLUMNS = 80
LONG = {"study": "20261101-000000-hot-rows-1a2b", "point": "clients=100,order=branches-first"}
COMMANDS = [
    "runs",
    "history",
    "compare last~1 last",
    "compare tag:variant=a tag:variant=b",
    "report last --text",
    "doctor",
    "workloads oltp_read_write",
    "study list",
    "study show hot-rows",
    "study plan hot-rows --size tiny",
    "sql 'select * from runs'",
    "--help",
    "search --help",
    "compare nosuch last",
]


@pytest.fixture(autouse=True)
def _runs(home, own_signals, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    made_up.pairs(2, tps=0.9)
    made_up.run(tags=LONG, workload="oltp_update_non_index")
    for version in ("18.1", "18.2"):
        made_up.run(
            workload="oltp_update_non_index",
            server={"kind": "private", "product": "postgres", "version": version},
            costs=[wal(2000.0, 1980.0, 2020.0)],
            doubts=["a doubt that has a good deal to say, and goes on to say it " * 3],
        )


def in_a_terminal(monkeypatch, command, columns=COLUMNS):
    """The lines that a command shows in its own terminal, without their colours."""
    sent = sent_to_a_terminal(monkeypatch, command, columns)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sent).splitlines()


def sent_to_a_terminal(monkeypatch, command, columns):
    """What a command writes to its own terminal; a thread empties the kernel's buffer."""
    controller, terminal_fd = pty.openpty()
    fcntl.ioctl(terminal_fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    seen = bytearray()
    reader = threading.Thread(target=drain, args=(controller, seen))
    reader.start()
    with monkeypatch.context() as patch, os.fdopen(terminal_fd, "w", encoding="utf-8") as terminal:
        patch.setattr("sys.stdout", terminal)
        patch.setattr("sys.stderr", terminal)
        main(shlex.split(command))
    reader.join()
    os.close(controller)
    return seen.decode().replace("\r\n", "\n")


def drain(end, seen):
    with contextlib.suppress(OSError):  # the other end is closed
        while data := os.read(end, 65536):
            seen += data


@pytest.mark.parametrize("command", COMMANDS)
def test_every_line_fits_but_for_words_that_do_not(monkeypatch, command):
    lines = in_a_terminal(monkeypatch, command)
    assert len(lines) > 1
    wide = [line for line in lines if len(line) > COLUMNS]
    assert [line for line in wide if len(line.split()) > 1] == []


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_boxes_of_help_are_as_wide_as_the_terminal(monkeypatch, columns):
    lines = in_a_terminal(monkeypatch, "--help", columns)
    assert {len(line) for line in lines if line.startswith(("╭", "│", "╰"))} == {columns}


@pytest.mark.parametrize(
    ("variable", "is_coloured"), [("TERM=xterm", True), ("TERM=dumb", False), ("NO_COLOR=1", False)]
)
def test_help_has_colours_unless_they_are_not_wanted(monkeypatch, variable, is_coloured):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(*variable.split("="))
    assert ("\x1b[" in sent_to_a_terminal(monkeypatch, "--help", COLUMNS)) is is_coloured


@pytest.mark.parametrize(("columns", "last"), [(60, "p99"), (80, "age"), (120, "mode")])
def test_runs_are_told_apart_at_each_width(monkeypatch, columns, last):
    """Names keep their time and their last part; columns are left out before that."""
    ids = [run.run_id for run in list_runs() if not run.made_for]
    heading, *lines = in_a_terminal(monkeypatch, "runs", columns)
    assert heading.split()[-1] == last
    assert max(map(len, [heading, *lines])) <= columns
    shown = [line.split()[0] for line in lines if not line.startswith(" ")]
    for run_id in ids:
        assert sum(one[:15] == run_id[:15] and one[-4:] == run_id[-4:] for one in shown) == 1


def test_in_a_pipe_tables_are_as_wide_as_they_are_and_words_flow_to_a_hundred_columns(capsys):
    rows = in_a_pipe(capsys, "runs --all")
    (line,) = (line for line in rows if LONG["study"] in line)
    assert "oltp-update-non-index" in line
    assert LONG["point"] in line
    assert COLUMNS < max(map(len, in_a_pipe(capsys, "report last --text"))) <= 100


def in_a_pipe(capsys, command):
    assert main(shlex.split(command)) == 0
    return capsys.readouterr().out.splitlines()
