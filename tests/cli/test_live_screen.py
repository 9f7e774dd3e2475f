"""The full screen of a run: what it shows in each size, and that it gives the terminal back."""

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest
from inline_snapshot import external_file, snapshot

from dbdyno.analysis.waits.waiting_now import waiting_now
from dbdyno.cli import main
from dbdyno.cli.live_screen.view import HEIGHT_MIN, WIDTH_MIN, Seen, drawn
from dbdyno.cli.live_screen.viewer import Viewer
from dbdyno.cli.output import Exit
from dbdyno.report.text_charts.canvas import ASCII, UNICODE, length_of
from tests.report.conftest import recorded
from tests.report.explained import BRANCHES, END, FINDINGS, TELLERS, seen as tables_of
from tests.run.test_interrupts import arguments_of, servers_left
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.support.ended import ENDED
from tests.support.patience import PATIENCE_S, wait_until
from tests.support.recordings import MadeRun
from tests.support.terminal import Terminal

SIZES = ((60, 44), (100, 50), (200, 44))
NOISE = "\x1b[31mred\u202e\nand \x07 日本語 " + "x" * 300


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A run with telemetry whose last interval is the 60th."""
    made = recorded(tmp_path_factory.mktemp("home"), synthetic.Shape(open_loop=True, tps=400))
    return dataclasses.replace(made, columns={**made.columns, **tables_of()})


def seen(run=None, **changes):
    return Seen(what="dbdyno run tpcb", run=run, **changes)


def rows_of(what, width, height, glyphs=UNICODE):
    rows = drawn(what, width, height, glyphs).lines()
    assert len(rows) == height
    assert max(map(length_of, rows)) <= width
    return rows


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_what_it_shows(running, width, height):
    what = seen(
        running, findings=FINDINGS, findings_until_s=30.0, cost=0.0123, messages=["a warning"]
    )
    shown = "\n".join(rows_of(what, width, height)) + "\n"
    assert shown == external_file(f"golden/live-screen-{width}.txt")


def test_before_there_is_a_run_folder_it_shows_what_is_done():
    what = seen(loading="loading: fill, 5 of 9 rows", messages=["the server has begun"])
    head, now, *others = rows_of(what, 60, 12)
    assert (head, now) == ("dbdyno run tpcb", "loading: fill, 5 of 9 rows")
    assert "  the server has begun" in others


def test_every_size_has_room_for_what_is_shown(running):
    """What does not fit is left out, the least important first."""
    what = seen(running, findings=FINDINGS, findings_until_s=30.0, messages=["a message"] * 9)
    for width in (WIDTH_MIN, 59, 60, 119, 120, 121, 200, 320):
        for height in (HEIGHT_MIN, 11, 17, 24, 40, 90):
            for glyphs in (UNICODE, ASCII):
                assert rows_of(what, width, height, glyphs)[-1].startswith("q: stop the run")
    assert rows_of(what, WIDTH_MIN - 1, 20)[0] == "needs 40 × 10 characters"
    assert "Throughput" in "\n".join(rows_of(what, 80, 24))


def test_no_text_can_control_the_terminal(running):
    finding = msgspec.structs.replace(FINDINGS[0], title=NOISE, summary=NOISE)
    what = Seen(what=NOISE, run=running, findings=[finding], findings_until_s=1.0, messages=[NOISE])
    for width, height in SIZES:
        assert all(row.isprintable() for row in rows_of(what, width, height))


def test_the_lock_queue_is_that_of_the_last_sample(running):
    found = waiting_now(running)
    last = running.blocking.time_s == running.blocking.time_s.max()
    assert sum(wait.sessions for wait in found) == running.blocking.count[last].sum()
    assert {(wait.waiter, wait.blocker) for wait in found} <= {
        (("client", BRANCHES), ("client", END)),
        (("client", BRANCHES), ("client", BRANCHES)),
        (("client", TELLERS), ("client", BRANCHES)),
    }
    assert [wait.sessions for wait in found] == sorted(
        (wait.sessions for wait in found), reverse=True
    )
    assert waiting_now(MadeRun(seconds=3).loaded()) is None


def test_only_a_confirmed_q_ends_the_run(monkeypatch):
    sent = []
    monkeypatch.setattr("os.kill", lambda *what: sent.append(what))
    viewer = Viewer("", os.getppid(), HISTOGRAMS)
    for key in "xyqnyqx":
        viewer.press(key)
    assert (sent, viewer.seen.is_asking, viewer.seen.is_stopping) == ([], False, False)
    viewer.press("q")
    assert "Stop the run?" in rows_of(viewer.seen, 80, 20)[-1]
    viewer.press("y")
    assert sent == [(os.getppid(), signal.SIGINT)]
    assert rows_of(viewer.seen, 80, 20)[-1].startswith("stopping")


def test_it_is_refused_where_there_is_no_terminal(home, capsys):
    assert main(["run", "tpcb", "--tui"]) == Exit.NOTHING_RUN
    assert capsys.readouterr().err == snapshot("""\
error: --tui needs a terminal: standard output is a pipe or a file
hint: Leave it out: progress lines are written to standard error.
""")


def test_a_terminal_without_a_cursor_is_refused(home):
    with terminal(home, "tpcb", env={"TERM": "dumb"}) as shown:
        assert shown.program.wait(PATIENCE_S) == Exit.NOTHING_RUN
        wait_until(lambda: "TERM is dumb" in shown.after, "the error")


LONG = ("-c", "2", "-T", "600", "--warmup", "0")
PRIVATE = ("--server", "postgres,shared_buffers=64MB")


def terminal(home, *words, columns=100, rows=50, env=None):
    command = [sys.executable, "-m", "dbdyno", "run", *words, "--tui"]
    return Terminal(command, columns, rows, {"DBDYNO_HOME": str(home), **(env or {})})


def record_in(home):
    (path,) = Path(home).glob("runs/*/run.json")
    return json.loads(path.read_text())


def test_a_run_is_followed_in_any_width_without_colours(home, database):
    words = ("tpcb", "-s", "1", *LONG, "--target", database.conninfo)
    with terminal(home, *words, env={"NO_COLOR": "1"}) as shown:
        parts = (
            "Throughput",
            "What clients wait for",
            "Lock queue now",
            "Response time",
            "q: stop",
        )
        wait_until(lambda: all(part in shown.text for part in parts), "all parts")
        for columns, rows in ((60, 40), (200, 30), (80, 24)):
            shown.resize(columns, rows)
            wait_until(lambda: "Throughput" in shown.text, f"a frame in {columns} columns")
            assert max(map(len, shown.frame())) <= columns
        wait_until(lambda: "Findings so far, until" in shown.text, "findings")
        wait_until(lambda: "of a core" in shown.text, "what the screen costs")
        shown.press("qy")
        assert shown.program.wait(PATIENCE_S) == Exit.INTERRUPTED
        assert not shown.has_colours


def test_a_run_that_has_ended_is_summed_up_below_what_was_said(home, tmp_path):
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    with terminal(home, str(script), "-T", "2", "--warmup", "0", *PRIVATE) as shown:
        assert shown.program.wait(PATIENCE_S) in ENDED
        wait_until(lambda: "latency" in shown.after, "the summary")
        assert shown.is_given_back
        said, _, _ = shown.after.partition("throughput")
        assert "server settings" in said
    assert record_in(home)["status"] == "done"


def test_q_ends_the_run_as_ctrl_c_does_and_keeps_it(home, tmp_path):
    with measuring(home, tmp_path) as shown:
        shown.press("q")
        wait_until(lambda: "Stop the run?" in shown.text, "the question")
        shown.press("n")
        wait_until(lambda: "q: stop the run" in shown.text, "that it goes on")
        shown.press("qy")
        assert shown.program.wait(PATIENCE_S) == Exit.INTERRUPTED
        wait_until(lambda: shown.is_given_back, "the terminal")
        assert shown.has_colours
    assert_interrupted(home)


def test_ctrl_c_ends_it(home, tmp_path):
    with measuring(home, tmp_path) as shown:
        shown.press("\x03")
        assert shown.program.wait(PATIENCE_S) == Exit.INTERRUPTED
        wait_until(lambda: shown.is_given_back, "the terminal")
    assert_interrupted(home)


def test_without_its_screen_the_run_goes_on_with_lines(home, tmp_path):
    with measuring(home, tmp_path) as shown:
        os.kill(viewer_of(shown), signal.SIGKILL)
        wait_until(lambda: "the run continues" in shown.after, "what became of the screen")
        assert shown.is_given_back
        wait_until(lambda: "measure" in shown.after, "a progress line")
        shown.program.send_signal(signal.SIGINT)
        assert shown.program.wait(PATIENCE_S) == Exit.INTERRUPTED
    assert_interrupted(home)


def test_a_run_that_is_killed_leaves_neither_screen_nor_server(home, tmp_path):
    with measuring(home, tmp_path) as shown:
        viewer = viewer_of(shown)
        shown.program.kill()
        wait_until(lambda: not arguments_of(str(viewer)), "the end of the screen")
        wait_until(lambda: servers_left(home) == [], "the end of the server")
        assert shown.is_given_back


def test_a_terminal_that_is_closed_ends_the_run_in_order(home, tmp_path):
    with measuring(home, tmp_path) as shown:
        shown.hang_up()
        shown.program.wait(PATIENCE_S)
    assert_interrupted(home)


def measuring(home, tmp_path):
    """A terminal with a run on a private server that has begun to measure."""
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    shown = terminal(home, str(script), *LONG, *PRIVATE)
    wait_until(lambda: "measuring" in shown.text and "Throughput" in shown.text, "the first frame")
    return shown


def viewer_of(shown):
    (found,) = (pid for pid in shown.children() if "live_screen" in arguments_of(str(pid)))
    return found


def assert_interrupted(home):
    record = record_in(home)
    assert (record["status"], record["valid"]) == ("interrupted", False)
    assert record["transactions"]["ok"] > 0
    assert servers_left(home) == []
