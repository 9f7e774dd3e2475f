"""Ctrl-C, and a supervisor's SIGTERM, in each phase: exit 130, data kept, no server left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S, wait_until
from tests.support.program import Program

SERVER = ("--server", "postgres,shared_buffers=64MB")
LONG = ("-c", "1", "-T", "600", "--warmup", "0", "--telemetry", "off", "--json")


def begin(
    home: Path, *what: str, before: tuple[str, ...] = (), own_group: bool = False
) -> Program[str]:
    return Program(
        [*before, sys.executable, "-m", "dbdyno", "run", *what, *SERVER, *LONG],
        env={**os.environ, "DBDYNO_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=own_group,
    )


def begin_in_terminal(home: Path, terminal: int, *what: str) -> Program[bytes]:
    return Program(
        ["setsid", "--ctty", sys.executable, "-m", "dbdyno", "run", *what, *SERVER, *LONG],
        env={**os.environ, "DBDYNO_HOME": str(home)},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )


def wait_for(text: str, process: Program[str]) -> None:
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"ended with {process.wait()} before it said {text}")


def servers_left(home: Path) -> list[str]:
    """Command lines of the processes that were started with a folder of this home."""
    started = (arguments_of(process.name) for process in Path("/proc").glob("[0-9]*"))
    return [arguments for arguments in started if str(home) in arguments]


def arguments_of(process: str) -> str:
    """The command line of a process; empty if it has just ended."""
    try:
        arguments = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return arguments.replace(b"\0", b" ").decode(errors="replace")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_it_measures_what_was_measured_is_kept(home, tmp_path, number):
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    with begin(home, str(script)) as process:
        wait_for("measure", process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    record = json.loads(out)
    assert (record["status"], record["valid"]) == ("interrupted", False)
    assert record["transactions"]["ok"] > 0
    assert servers_left(home) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_for_all_its_processes_ends_the_run_in_order(home, tmp_path, number):
    """So do terminals, shells, timeout(1) and supervisors: the engine must not die of it."""
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    with begin(home, str(script), own_group=True) as process:
        wait_for("measure", process)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    record = json.loads(out)
    assert record["invalid_reasons"][0].startswith("the run was interrupted: ")
    assert record["response_ms"]["p99"] > 0


def test_while_it_measures_the_terminal_is_closed(home, tmp_path):
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    controller, its = os.openpty()
    with begin_in_terminal(home, its, str(script)) as process:
        os.close(its)
        with os.fdopen(controller, errors="replace") as screen:
            wait_until(lambda: "measure" in screen.readline(), "its progress")
        process.wait(PATIENCE_S)  # nobody is left to read its exit code
    (record,) = (json.loads(path.read_text()) for path in home.glob("runs/*/run.json"))
    assert (record["status"], record["valid"]) == ("interrupted", False)
    assert record["transactions"]["ok"] > 0
    assert servers_left(home) == []


def test_a_program_that_is_to_outlive_its_terminal_does(home, tmp_path):
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    with begin(home, str(script), before=("nohup",)) as process:
        wait_for("measure", process)
        process.send_signal(signal.SIGHUP)
        wait_for("measure", process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


def test_twice_while_it_measures_nothing_is_waited_for(home, tmp_path):
    script = tmp_path / "long.sql"
    script.write_text("select pg_sleep(600);")
    with begin(home, str(script)) as process:
        wait_for("measure", process)
        for number in (signal.SIGINT, signal.SIGTERM):  # two equal signals at once would be one
            process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    record = json.loads(out)
    assert (record["status"], record["valid"]) == ("interrupted", False)
    assert "at once" in record["invalid_reasons"][0]
    assert servers_left(home) == []


def test_while_it_loads_nothing_is_kept(home):
    with begin(home, "tpcb", "-s", "100") as process:
        wait_for("server settings", process)
        time.sleep(0.5)  # the data load has begun by then
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
    assert servers_left(home) == []
    assert list((home / "runs").iterdir()) == []


def test_while_the_server_starts(home):
    with begin(home, "tpcb") as process:
        wait_until((home / "private").exists, "the server's folder")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert servers_left(home) == []
