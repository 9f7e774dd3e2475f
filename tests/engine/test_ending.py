"""How a run ends: by its clock, by a signal, or because its parent or its server died."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from dbdyno import engine as engine_module
from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Hello, Started
from dbdyno.model.plan import Lua
from tests.engine.proxies import forward_to, listening
from tests.engine.running import SECOND, plan_for, run_until
from tests.support.patience import wait_until
from tests.support.plans import ENDPOINT

CANCEL_REQUEST = 80877102
ROOT = Path(__file__).parent.parent.parent


def test_transactions_in_flight_get_the_grace_period(local, checked, io):
    # Each client is in one at the end, whenever that began; the first one extends the grace period.
    plan = plan_for(local.endpoint(), "select pg_sleep(0.9);", seconds=1.2, io=io)
    counts = checked(plan).counters
    assert (counts.ok, counts.unfinished) == (counts.started, 0)
    assert counts.ok >= 2


def test_beyond_the_grace_it_is_cancelled(local, checked, io):
    result = checked(plan_for(local.endpoint(), "select pg_sleep(60);", seconds=0.5, io=io))
    assert result.done.end == "complete"
    assert (result.counters.ok, result.counters.failed, result.counters.unfinished) == (0, 0, 2)
    assert min(result.done.unfinished_ages_ns) > SECOND
    wait_until(lambda: local.backends() == [], "the backends' end")


def test_requests_to_cancel_stay_until_the_server_has_closed_them(local, checked, io, tmp_path):
    """A pooler may pass the request on, and its effect may be seen, before it closes."""
    forward, stayed = forward_to(local.socket_path), []

    def pool(visitor):
        beginning = visitor.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL)
        if int.from_bytes(beginning[4:]) != CANCEL_REQUEST:
            forward(visitor)
            return
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(str(local.socket_path))
            server.sendall(visitor.recv(16))
            server.recv(1)  # it closes once it has sent the signal
        visitor.settimeout(1)
        try:
            stayed.append(visitor.recv(1) != b"")
        except TimeoutError:
            stayed.append(True)

    with listening(tmp_path / "pooler", pool) as address:
        endpoint = msgspec.structs.replace(local.endpoint(), address=address)
        checked(plan_for(endpoint, "select pg_sleep(60);", seconds=0.5, io=io))
    assert stayed == [True, True]


def test_a_hundred_are_cancelled(newest, checked, io):
    plan = plan_for(newest.endpoint(), "select pg_sleep(60);", seconds=0.5, clients=90, io=io)
    result = checked(plan)
    assert (result.done.end, result.counters.unfinished) == ("complete", 90)
    wait_until(lambda: newest.backends() == [], "the backends' end")


def test_pauses_end_with_the_run(local, checked):
    result = checked(plan_for(local.endpoint(), "select 1;\n\\sleep 60 s", seconds=2))
    assert result.counters.unfinished == 2


def test_sessions_stay_until_the_last_transaction_is_over(local, checked, io):
    """Disconnecting thousands of them would otherwise add to its response time."""
    # The last transaction itself checks for them, long after the end of the load. The others are
    # slow enough to make the grace period a long one.
    all_there = "select 1 / (count(*) = 4)::int from pg_stat_activity"
    look = f"select pg_sleep(1.5);\n{all_there} where application_name = 'load';"
    script = f"\\if :client_id = 0\n{look}\n\\else\nselect pg_sleep(0.6);\n\\endif"
    plan = plan_for(local.endpoint(), script, seconds=1, clients=4, threads=1, io=io)
    counts = checked(plan).counters
    assert (counts.failed, counts.unfinished) == (0, 0)
    wait_until(lambda: local.backends() == [], "the backends' end")


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_no_backend_remains(local, checked, io, mode):
    log = local.folder / "log.txt"
    before = log.stat().st_size
    checked(plan_for(local.endpoint(), "select 1;", clients=8, query_mode=mode, io=io))
    wait_until(lambda: local.backends() == [], "the backends' end")
    # They were terminated in the protocol, not just disconnected.
    assert b"unexpected EOF" not in log.read_bytes()[before:]


def test_a_word_stops_it(local, checked, io):
    def stop(engine) -> None:
        time.sleep(0.5)
        engine.stop()

    result = checked(plan_for(local.endpoint(), "select 1;", seconds=60, io=io), stop)
    assert result.done.end == "interrupted"
    assert result.counters.unfinished == 0
    assert 0.4 * SECOND < result.done.measured_ns < 30 * SECOND


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("delay_s", [0, 0.03, 0.06, 0.09, 0.12])
def test_a_word_at_any_moment(local, log, io, threads, delay_s):
    """Also in the time before the load begins, and between the threads' first reports."""

    def stop(engine) -> None:
        time.sleep(delay_s)
        engine.stop()

    plan = plan_for(local.endpoint(), "select 1;", clients=12, threads=threads, seconds=60, io=io)
    result = run_until(plan, log, Hello, stop)
    result.check()
    assert result.done.end == "interrupted"
    assert result.done.measured_ns < 30 * SECOND


def test_a_word_stops_it_in_the_warm_up(local, checked):
    plan = plan_for(local.endpoint(), "select 1;", seconds=60, warmup_ns=60 * SECOND)
    result = checked(plan, lambda engine: engine.stop())
    assert result.done.end == "interrupted"
    assert result.counters.due == 0
    assert result.done.measured_ns == 0


def test_a_word_stops_it_while_it_connects(local, log, io):
    local.freeze()
    try:
        plan = plan_for(local.endpoint(), "select 1;", io=io)
        result = run_until(plan, log, Hello, lambda engine: engine.stop())
    finally:
        local.thaw()
    assert result.done.end == "interrupted"
    assert result.all(Started) == []


def program(job: str) -> subprocess.Popen[str]:
    """Start a parent of an engine; it prints the engine's process ID when the engine runs."""
    return subprocess.Popen(
        [sys.executable, "-c", job], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    with contextlib.suppress(OSError):
        return "(zombie)" in Path(f"/proc/{process}/status").read_text()
    return True


RUN = """
import msgspec, subprocess, sys
from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Started
from dbdyno.model.plan import Plan
engine = EngineProcess(msgspec.json.decode({plan!r}, type=Plan), subprocess.DEVNULL)
for _, frame in engine:
    if isinstance(frame, Started):
        print(engine.pid, flush=True)
"""


def plan_in_words(local) -> bytes:
    return msgspec.json.encode(plan_for(local.endpoint(), "select 1;", seconds=60))


def test_its_parents_death_ends_it(local):
    with program(RUN.format(plan=plan_in_words(local))) as parent:
        engine = int(parent.stdout.readline())
        wait_until(lambda: len(local.backends()) == 2, "the backends of this load alone")
        parent.kill()
    wait_until(lambda: is_gone(engine), "the engine's end")
    wait_until(lambda: local.backends() == [], "the backends' end")


LOADING = """
import msgspec, subprocess
from dbdyno import engine
from dbdyno.model.plan import Plan
process = engine.{kind}(msgspec.json.decode({plan!r}, type=Plan), subprocess.DEVNULL)
print(process.pid, flush=True)
list(process)
"""


@pytest.mark.parametrize("kind", ["EngineProcess", "_SurveyProcess"])
def test_its_parents_death_ends_a_script_that_loads_for_ever(kind):
    lua = Lua(command="run", path="mine.lua", arguments={}, modules={}, allow_unsafe=False)
    plan = msgspec.json.encode(plan_for(ENDPOINT, "while true do end", lua=lua))
    with program(LOADING.format(kind=kind, plan=plan)) as parent:
        engine = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: is_gone(engine), "the engine's end")


def test_a_command_of_the_shell_ends_with_the_run(local, checked, tmp_path):
    (tmp_path / "command").write_text(f"sleep 99 & echo $$ $! > {tmp_path}/running\nwait\n")
    script = f"\\shell /bin/sh {tmp_path}/command"
    result = checked(plan_for(local.endpoint(), script, clients=1, threads=1, allow_shell=True))
    assert result.counters.unfinished == 1
    for process in (tmp_path / "running").read_text().split():
        wait_until(lambda process=int(process): is_gone(process), "the command's end")


def test_its_own_death_leaves_the_server_clean(local, log):
    def kill(engine) -> None:
        os.kill(engine.pid, signal.SIGKILL)

    result = run_until(plan_for(local.endpoint(), "select 1;", seconds=60), log, Started, kill)
    assert result.exit_code == -signal.SIGKILL
    wait_until(lambda: local.backends() == [], "the backends' end")


CUT_OFF = """
import os, sys
os.write(int(sys.argv[1]), bytes.fromhex("{cut}"))
"""


@pytest.mark.parametrize("cut", ["", "0500", "05000000", "05000000810a"])
def test_a_frame_that_its_death_cut_off_is_the_end(tmp_path, monkeypatch, cut):
    agent = tmp_path / "agent.py"
    agent.write_text(CUT_OFF.format(cut=cut))
    monkeypatch.setattr(engine_module, "_AGENT", agent)
    plan = plan_for(ENDPOINT, "select 1;")
    assert list(EngineProcess(plan, subprocess.DEVNULL)) == []
