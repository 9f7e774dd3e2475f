"""The program as users run it: the real engine and a real server, in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dbdyno.cli.output import Exit
from dbdyno.servers.base import Server
from dbdyno.store.run import open_run
from tests.run.test_interrupts import arguments_of, servers_left, wait_for
from tests.support.ended import record_of
from tests.support.patience import PATIENCE_S, eventually
from tests.support.program import Program

DBDYNO = (sys.executable, "-m", "dbdyno")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "one.sql"
    path.write_text("select 1;")
    return path


def dbdyno(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*DBDYNO, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def begin(*arguments: str | Path) -> Program[str]:
    return Program(
        [*DBDYNO, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def engine_of(process: Program[str]) -> int:
    """The process ID of the engine that a running dbdyno has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (engine,) = (int(child) for child in children if "dbdyno/agent.py" in arguments_of(child))
    return engine


def test_a_whole_run_on_a_private_server(home, tmp_path):
    report = tmp_path / "report.html"
    ended = dbdyno(
        "run", "tpcb", "-c", "4", "-T", "2", "--warmup", "1", "--report", report, "--json"
    )

    record = record_of(ended)
    assert record["transactions"]["ok"] > 0
    assert record["response_ms"]["p99"] >= record["response_ms"]["p50"] > 0
    assert len(record["statements"]) == 7
    assert record["client"]["cpu_us_per_transaction"] > 0
    assert record["server"]["cpu_us_per_transaction"] > 0
    assert "server settings: shared_buffers=" in ended.stderr
    assert "<html" in report.read_text()
    assert servers_left(home) == []


def test_the_same_seed_is_recorded_and_the_options_are_in_the_plan(home, postgres_server, script):
    ended = dbdyno(
        *("run", script, "--target", postgres_server.url, "--seed", "42", "-c", "3", "-j", "2"),
        *("-M", "simple", "--rate", "200", "--arrivals", "constant", "-T", "1", "--warmup", "0"),
        *("-L", "500", "--tag", "purpose=test", "--interval", "200ms", "--json"),
    )
    record = record_of(ended)
    assert (record["seed"], record["tags"]) == (42, {"purpose": "test"})
    plan = open_run("last").plan
    assert (plan["seed"], plan["clients"], plan["query_mode"]) == (42, 3, "simple")
    assert plan["arrivals"]["open"]["law"] == "constant"
    assert plan["latency_limit_ns"] == 500_000_000
    assert 0 < record["transactions"]["ok"] < 200


def test_a_script_by_standard_input_and_a_value_as_it_was_written(home, postgres_server: Server):
    arguments = [
        "run",
        "-f",
        "-",
        "-D",
        "code=0050",
        "-M",
        "simple",
        "-c",
        "1",
        "-t",
        "3",
        "--json",
    ]
    ended = subprocess.run(
        [*DBDYNO, *arguments, "--warmup", "0", "--target", postgres_server.conninfo],
        input="\ufeffselect case ':code' when '0050' then 1 else 1 / 0 end;",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    record = record_of(ended)
    assert record["transactions"]["ok"] == 3
    assert record["workload"] == "stdin"


def test_a_full_disk_is_not_reported_as_a_run_that_did_not_start(home, script, postgres_server):
    arguments = ["run", str(script), "-c", "1", "-t", "3", "--warmup", "0"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*DBDYNO, *arguments, "--target", postgres_server.conninfo],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert ended.returncode == Exit.FAILED
    assert "The run is kept" in ended.stderr
    assert open_run("last", home).record.status == "done"


def test_a_script_with_errors_is_refused_with_their_places(home, tmp_path):
    bad = tmp_path / "bad.sql"
    bad.write_text("\\set x rnd(1, 2)\nselect :x;\n\\foo\n")
    ended = dbdyno("run", bad)
    assert ended.returncode == 1
    places = re.findall(r"bad\.sql:(\d+):(\d+): ", ended.stderr)
    assert places == [("1", "8"), ("3", "1")]
    assert not home.exists()


def test_transactions_slower_than_the_limit_are_reported(
    home, script: Path, postgres_server: Server
):
    arguments = ("run", script, "-c", "1", "-t", "20", "--warmup", "0", "-L", "0.001ms")
    ended = dbdyno(*arguments, "--target", postgres_server.conninfo)
    assert "20 ok (of them 20 late)" in ended.stdout
    assert open_run("last").record.transactions.late == 20


def test_a_check_reports_broken_invariants_and_their_possible_cause(home, postgres_server: Server):
    with postgres_server.connect() as control:
        control.execute("drop database if exists checked")
        control.execute("create database checked")
        url = f"{postgres_server.conninfo} dbname=checked"
    assert dbdyno("load", "tpcb", "--target", url).returncode == 0
    whole = dbdyno("check", "tpcb", "--target", url)
    assert (whole.returncode, whole.stdout) == (0, "all invariants hold\n"), whole.stderr
    with psycopg.connect(url) as connection:
        connection.execute("update pgbench_accounts set abalance = 3 where aid = 1")
    broken = dbdyno("check", "tpcb", "--target", url)
    violation = "broken: these must change alike: sum of abalance by +3, sum of delta by +0\n"
    assert (broken.returncode, broken.stdout) == (4, violation)
    assert "other programs" in broken.stderr


def test_an_engine_that_dies_leaves_a_failed_run(home, postgres_server: Server, script):
    command = ("run", script, "--target", postgres_server.url, "-c", "2", "-T", "60", "--json")
    with begin(*command, "--warmup", "0") as process:
        wait_for("measure", process)
        os.kill(engine_of(process), signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, err
    record = json.loads(out)
    assert record["status"] == "failed"
    assert record["invalid_reasons"] == ["the engine ended before the run did"]
    assert record["transactions"]["ok"] > 0


def test_killed_it_leaves_a_readable_run_and_no_process(home, script):
    server = "postgres,shared_buffers=64MB"
    with begin("run", script, "--server", server, "-T", "60", "--warmup", "0") as process:
        wait_for("measure", process)
        process.kill()
    eventually(lambda: servers_left(home), lambda left: left == [])
    run = open_run("last")
    assert run.status == "interrupted"
    assert run.columns("intervals")["completed_ok"].sum() > 0
