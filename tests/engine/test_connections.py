"""Many connections, slow accepts, and limits that are too low."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.model.frame import Connected, Interval, Outage
from dbdyno.model.plan import Plan
from tests.engine.postgres import Postgres
from tests.engine.proxies import forward_to, listening
from tests.engine.running import SECOND, plan_for, times
from tests.support.patience import wait_until

MANY = 2000
SOME = 1000
ENGINE_KIB = 24_000  # for an engine with a handful of clients
CONNECTION_KIB = 32


def memory_kib(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.fixture(scope="module")
def wide():
    """A server for many connections."""
    server = Postgres(
        local_binaries()[0].folder, max_connections=str(MANY + 20), shared_buffers="16MB"
    )
    yield server
    server.remove()


@pytest.mark.parametrize(("io", "threads"), [("uring", 1), ("epoll", 2)])
def test_two_thousand_clients(wide, checked, io, threads):
    plan = plan_for(
        wide.endpoint(),
        "select 1;",
        clients=MANY,
        threads=threads,
        io=io,
        rate_tps=200,
        seconds=1,
    )
    wait_until(lambda: wide.backends() == [], "the end of another test's sessions")
    resident_kib: list[int] = []
    result = checked(plan, lambda engine: resident_kib.append(memory_kib(engine.pid)))
    assert result.one(Connected).connect.count == MANY
    # A busy host may still be executing some of them when the grace period ends.
    assert (result.counters.due, result.counters.failed) == (199, 0)
    assert result.counters.ok > 0
    assert not result.all(Outage)
    assert resident_kib[0] < ENGINE_KIB + MANY * CONNECTION_KIB


def test_each_of_them_has_its_turn(wide, checked):
    result = checked(plan_for(wide.endpoint(), "select 1;", clients=SOME, io="uring", **times(2)))
    assert result.counters.ok == 2 * SOME


def test_all_lost_at_once(wide, checked):
    """Reconnecting one of them does not recurse into reconnecting another."""

    def kill(_) -> None:
        wide.kill()

    plan = plan_for(
        wide.endpoint(),
        "select 1;",
        clients=SOME,
        threads=1,
        rate_tps=200,
        seconds=60,
        stall_limit_ns=5 * SECOND,  # a thousand processes do not exit at once
    )
    result = checked(plan, kill)
    assert result.done.end == "stalled"
    # A busy host may not have ended all of its thousand processes when the run gives up.
    (outage,) = result.all(Outage)
    assert SOME // 2 < outage.connections_lost <= SOME
    wide.start()


def test_a_backlog_of_one(local, tmp_path, checked, io):
    """The kernel refuses what does not fit; those clients retry."""
    behaviour = forward_to(local.socket_path)
    with listening(tmp_path / "s", behaviour, backlog=1, pause_s=0.02) as address:
        endpoint = local.endpoint(address=address)
        result = checked(plan_for(endpoint, "select 1;", clients=40, io=io, **times(1)))
    assert result.counters.ok == 40


def test_more_clients_than_files(local, refused):
    failed = refused(plan_for(local.endpoint(), "select 1;", clients=3_000_000_000))
    assert failed.code == "too_few_files"
    assert failed.message.startswith("3000000000 clients need 3000000072 open files")
    assert "ulimit -Hn 3000000072" in failed.hint


def end_with_few_files(plan: Plan) -> tuple[str, str]:
    """Return the last frame and the message of a run whose engine may open 256 files."""
    program = f"""
import msgspec
from dbdyno.engine import EngineProcess
from dbdyno.model.plan import Plan
plan = msgspec.json.decode({msgspec.json.encode(plan)}, type=Plan)
frames = [frame for _, frame in EngineProcess(plan, 2)]
print(type(frames[-1]).__name__, getattr(frames[-1], "message", ""), sep="\\n")
"""
    limited = ["prlimit", "--nofile=256:256"]
    # Otherwise root could raise the limit.
    shorn = ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
    command = [*limited, *(shorn if os.geteuid() == 0 else []), sys.executable, "-c", program]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    kind, message = result.stdout.splitlines()
    return kind, message


def test_few_files(wide, io):
    """One thread may use as many as are allowed; more are refused before anything is done."""
    enough = plan_for(wide.endpoint(), "select 1;", clients=180, threads=1, io=io)
    assert end_with_few_files(enough) == ("Done", "")
    too_many = plan_for(wide.endpoint(), "select 1;", clients=200, threads=1, io=io)
    assert end_with_few_files(too_many) == (
        "Failed",
        "200 clients need 268 open files, and this process may have 256",
    )


def test_a_connection_for_each_transaction_of_many_clients(wide, checked, io):
    plan = plan_for(
        wide.endpoint(),
        "select 1;",
        clients=200,
        reconnect_each_transaction=True,
        io=io,
        **times(3),
    )
    result = checked(plan)
    assert result.counters.ok == 600, result.done.failures
    assert sum(each.connects.count for each in result.all(Interval)) == 400
