"""Runs whose load agents share, as users start them, in a process of their own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dbdyno.analysis.series.readings import growth
from dbdyno.cli.output import Exit
from dbdyno.model.counters import Processes
from dbdyno.model.tables import rows
from dbdyno.servers.base import Server
from dbdyno.store.run import open_run
from tests.run.test_end_to_end import DBDYNO, dbdyno
from tests.run.test_interrupts import arguments_of
from tests.store.hdr import HISTOGRAMS
from tests.support.ended import ENDED, record_of
from tests.support.patience import eventually
from tests.support.program import Program


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "one.sql"
    path.write_text("select 1;")
    return path


def agents_of(process: Program[str]) -> list[int]:
    """The process IDs of the agents that a running dbdyno has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if "dbdyno/agent.py" in arguments_of(int(child))]


def losing_one(url: str, script: Path, *more: str) -> tuple[int, str, dict[str, Any]]:
    """Run, and kill one of two agents in the middle; return exit code, messages and record."""
    arguments = ("run", str(script), "--target", url, "-c", "2", "--warmup", "0")
    with Program(
        [*DBDYNO, *arguments, "--workers", "local*2", "--json", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "TPS" in line:  # of the first interval
                break
        os.kill(agents_of(process)[0], signal.SIGKILL)
        output, messages = process.communicate()
    return process.returncode, messages, json.loads(output)


def test_the_record_has_all_together_and_each_alone(home, postgres_server, script, tmp_path):
    page = tmp_path / "page.txt"
    ended = dbdyno(
        *("run", script, "--target", postgres_server.url, "-c", "5", "-T", "2", "--warmup", "0"),
        *("--workers", "local*2", "--report", page, "--json"),
    )
    record = record_of(ended)
    workers = record["workers"]
    assert [worker["name"] for worker in workers] == ["local-1", "local-2"]
    assert sorted(worker["clients"] for worker in workers) == [2, 3]
    assert sum(worker["transactions"] for worker in workers) == record["transactions"]["ok"]
    together = record["response_ms"]["p50"]
    apart = [worker["response_ms"]["p50"] for worker in workers]
    assert min(apart) <= together <= max(apart)
    for worker in workers:
        assert worker["tps"] > 0
        assert worker["cpu_us_per_transaction"] > 0
        assert abs(worker["clock_offset_us"]) <= worker["clock_bound_us"]
        assert worker["clock_drift_us"] >= 0
        assert worker["lost_at_s"] is None
        assert worker["name"] in page.read_text()
    assert "local*2" in record["command"]
    # Together the rows of both are those of the whole.
    run = open_run("last")
    parts, whole = run.worker_intervals, run.intervals
    assert set(parts.worker) == {"local-1", "local-2"}
    for interval, committed in rows(whole.interval, whole.completed_committed):
        assert parts.completed_committed[parts.interval == interval].sum() == committed
    measured = parts.seconds > 0.5
    assert (parts.p50_ms[measured] <= parts.p99_ms[measured]).all()
    assert (parts.cpu_us[measured] > 0).all()


@pytest.mark.parametrize(
    "load", [("-c", "4"), ("-c", "40", "--rate", "200")], ids=["closed", "open"]
)
def test_throughput_is_that_of_all_workers_together(home, postgres_server, tmp_path, load):
    """Also of scripts that roll back, and of transactions that end after the measured time."""
    committed, rolled_back = tmp_path / "committed.sql", tmp_path / "rolled_back.sql"
    committed.write_text("select pg_sleep(0.1);")
    rolled_back.write_text("begin; select 1; rollback;")
    ended = dbdyno(
        *("run", "-f", committed, "-f", rolled_back, "--target", postgres_server.url, *load),
        *("-T", "2", "--warmup", "0", "--workers", "local*2", "--json"),
    )
    record = record_of(ended)
    assert record["transactions"]["rolled_back"] > 0
    intervals = open_run("last").intervals
    assert intervals.completed_committed[intervals.phase == "drain"].sum() > 0
    of_workers = sum(worker["tps"] for worker in record["workers"])
    assert of_workers == pytest.approx(record["throughput_tps"]["value"])


def test_a_lost_agent_ends_the_run(home, postgres_server, script):
    code, messages, record = losing_one(postgres_server.url, script, "-T", "60")
    assert code == Exit.FAILED
    assert "worker local-1 was lost after" in messages
    assert record["status"] == "failed"
    assert "worker local-1 was lost" in record["invalid_reasons"][0]
    assert record["transactions"]["ok"] > 0


def test_the_run_continues_with_the_others(home, postgres_server, script):
    more = ("-T", "4", "--on-lost", "continue")
    code, _, record = losing_one(postgres_server.url, script, *more)
    assert code in ENDED
    assert [worker["lost_at_s"] is None for worker in record["workers"]] == [False, True]
    assert [doubt for doubt in record["doubts"] if doubt.startswith("worker lost: local-1")]
    # Its rows end where it was lost; those of the other go on.
    parts = open_run("last").worker_intervals
    ends = [parts.time_s[parts.worker == name].max() for name in ("local-1", "local-2")]
    assert ends[0] <= record["workers"][0]["lost_at_s"] < ends[1]


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ("exec:'echo no route to host >&2; exit 255'", "no route to host"),
        ("remote", "'remote' is no file, and no entry: write local"),
        ("local*9", "8 clients cannot be shared by 9 agents"),
    ],
)
def test_workers_that_cannot_share_the_load_are_refused(
    home, postgres_server, script, workers, message
):
    ended = dbdyno("run", script, "--target", postgres_server.url, "--workers", workers)
    assert ended.returncode == Exit.NOTHING_RUN
    assert message in " ".join(ended.stderr.split())
    assert not list(home.glob("runs/*"))


def test_agents_that_a_command_has_started_are_no_other_programs(home, postgres_server, script):
    agent = f"exec:'{sys.executable} -m dbdyno agent; true'"
    words = ("run", script, "--target", postgres_server.url, "-c", "2", "-T", "2", "--warmup", "0")
    record_of(dbdyno(*words, "--workers", f"{agent},{agent}", "--json"))
    run = open_run("last").load(HISTOGRAMS)
    seen = growth(run, Processes.cpu_us, "engine")
    assert seen is not None
    assert seen.delta.sum() > run.worker_intervals.cpu_us.sum() / 2


def test_nothing_of_the_load_outlives_dbdyno(home, postgres_server, tmp_path):
    script = tmp_path / "long.sql"
    script.write_text("select pg_sleep(600), 'of the load';")
    arguments = ("run", str(script), "--target", postgres_server.url, "-c", "2", "-T", "60")
    with Program(
        [*DBDYNO, *arguments, "--warmup", "0", "--workers", "local*2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        eventually(lambda: sleeping(postgres_server), lambda found: len(found) == 2)
        process.kill()
    eventually(lambda: sleeping(postgres_server), lambda found: not found)


def sleeping(server: Server) -> list[tuple[int]]:
    """What the server is executing of the load."""
    with psycopg.connect(server.conninfo) as connection:
        running = "select pid from pg_stat_activity where state = 'active' and query like %s"
        return connection.execute(running, ["%pg_sleep%of the load%"]).fetchall()


def test_two_may_use_the_same_hosts_at_once(home, postgres_server, script):
    """Each has agents of its own."""
    words = ("run", str(script), "--target", postgres_server.url, "-c", "2", "-T", "2", "--json")
    words = (*DBDYNO, *words, "--warmup", "0", "--workers", "local*2")
    both = [Program(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    records = [json.loads(process.communicate()[0]) for process in both]
    assert records[0]["run_id"] != records[1]["run_id"]
    for process, record in zip(both, records, strict=True):
        assert process.returncode in ENDED
        parts = sum(worker["transactions"] for worker in record["workers"])
        assert parts == record["transactions"]["ok"] > 0
