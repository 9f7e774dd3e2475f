"""A search as users start it, on a real server whose capacity is known in advance.

A transaction sleeps for a known time: the clients cannot do more than their number over that
time, however fast the machine is; and no rate makes a transaction faster than its sleep.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli.output import Exit
from tests.run.test_interrupts import arguments_of, servers_left, wait_for
from tests.support.ended import assert_sound
from tests.support.program import Program

CLIENTS = 6
SLEEP_S = 0.005
CAPACITY_TPS = CLIENTS / SLEEP_S
LOAD = ("-c", str(CLIENTS), "-T", "1500ms", "--warmup", "0", "--telemetry", "off", "--json")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "sleeps.sql"
    path.write_text(f"select pg_sleep({SLEEP_S});")
    return path


def begin(script: Path, home: Path, *more: str) -> Program[str]:
    """Starts a search in its own session, as from a terminal: Ctrl-C reaches all its processes."""
    return Program(
        [sys.executable, "-m", "dbdyno", "search", str(script), *LOAD, *more],
        env={**os.environ, "DBDYNO_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def none_counts(home: Path, found: dict[str, Any]) -> bool:
    """Whether a busy host made every run of every rate invalid, by nothing but its load."""
    runs = [run for trial in found["trials"] for run in trial["runs"]]
    if not runs or any(run["valid"] for run in runs):
        return False
    for run in runs:
        record = json.loads((home / "runs" / run["run_id"] / "run.json").read_text())
        assert_sound(record["invalid_reasons"])
    return True


def assert_met(home: Path, found: dict[str, Any], exit_code: int, err: str) -> None:
    """Assert that rates were met, and none above the capacity; or that no run counts."""
    if none_counts(home, found):
        assert exit_code == Exit.VERDICT_FAILED, err
    else:
        assert exit_code == Exit.OK, err
        assert 0 < found["highest_rate_tps"]["value"] <= CAPACITY_TPS


def wait_for_a_judgement(process: Program[str]) -> None:
    """Wait for the end of the first rate, whatever a busy host has made of it."""
    for line in process.stderr:
        if line.rstrip().endswith((" TPS: met", " TPS: missed", " TPS: open")):
            return
    raise AssertionError(f"ended with {process.wait()} before it had judged a rate")


def test_no_rate_above_what_sleeping_clients_can_do_is_called_met(script, home, database):
    page = script.with_name("found.html")
    more = ("--target", database.url, "--slo", "p50<10s", "--report", str(page))
    with begin(script, home, *more) as process:
        out, err = process.communicate(timeout=900)
    found = json.loads(out)
    assert 0 < found["capacity_tps"] <= CAPACITY_TPS
    assert_met(home, found, process.returncode, err)
    assert found["is_over"]
    assert "sleeps" in page.read_text()


def test_the_load_of_every_rate_may_be_shared(script, home, database):
    more = ("--target", database.url, "--slo", "p50<10s", "--workers", "local*2")
    with begin(script, home, *more) as process:
        out, err = process.communicate(timeout=900)
    assert_met(home, json.loads(out), process.returncode, err)
    records = [json.loads(path.read_text()) for path in home.glob("runs/*/run.json")]
    assert len(records) > 1
    assert {len(record["workers"]) for record in records} == {2}


def test_an_objective_below_the_sleep_is_met_at_no_rate(script, home, database):
    with begin(script, home, "--target", database.url, "--slo", "p50<2ms") as process:
        out, err = process.communicate(timeout=900)
    assert process.returncode == 4, err
    found = json.loads(out)
    assert found["highest_rate_tps"]["value"] is None
    outcomes = {trial["outcome"] for trial in found["trials"]}
    assert "missed" in outcomes or none_counts(home, found)
    assert "met" not in outcomes  # undecided are those whose generator a busy host kept late


def test_a_script_that_can_never_work_ends_the_search_with_its_first_run(script, home, database):
    """Although another script works, and the objective might allow half of all to fail."""
    wrong = script.with_name("wrong.sql")
    wrong.write_text("select 1;\nselect * from nowhere;")
    more = (str(wrong), "--target", database.url, "--slo", "failures<90%")
    with begin(script, home, *more) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 2, err
    error = json.loads(out)["error"]
    assert 'wrong.sql:2 can never work: 42P01 relation "nowhere" does not exist' in error["message"]
    assert [folder.name in error["hint"] for folder in (home / "runs").iterdir()] == [True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_the_middle_keeps_what_is_known(script, home, number):
    server = ("--server", "postgres,shared_buffers=64MB")
    with begin(script, home, *server, "--slo", "p50<10s") as process:
        wait_for_a_judgement(process)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    found = json.loads(out)
    assert found["verdict"].startswith("Interrupted; so far: ")
    assert found["trials"]
    assert not found["is_over"]
    assert "failure" not in found
    assert "Traceback" not in err
    assert servers_left(home) == []


def test_an_interrupt_before_the_first_rate_is_judged_shows_the_capacity(script, home):
    with begin(script, home, "--server", "postgres", "--slo", "p50<10s") as process:
        wait_for("capacity: ", process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    found = json.loads(out)
    assert found["verdict"] == "Interrupted before a rate was judged."
    assert found["capacity_tps"] > 0
    assert servers_left(home) == []


def test_what_is_known_when_a_run_fails_is_shown_before_the_error(script, home):
    server = ("--server", "postgres,shared_buffers=64MB")
    with begin(script, home, *server, "--slo", "p50<10s") as process:
        wait_for_a_judgement(process)
        for name in [path.name for path in Path("/proc").glob("[0-9]*")]:
            arguments = arguments_of(name)
            if str(home) in arguments and arguments.partition(" ")[0].endswith("/postgres"):
                os.kill(int(name), signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 2, err
    found = json.loads(out)
    assert found["trials"]
    assert not found["is_over"]
    assert found["failure"]["message"]
    assert "Traceback" not in err
    assert servers_left(home) == []
