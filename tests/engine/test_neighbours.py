"""Clients move to the thread on the same CPU as the server's task that serves them."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import EngineProcess
from dbdyno.model.plan import Endpoint, Lua, Plan
from tests.engine.mariadb import MariaDB
from tests.engine.running import SECOND, plan_for, times
from tests.support.patience import wait_until

CLIENTS = 8
LOOK_EVERY_S = 1.0
# A task is where it ran last, also of clients that mostly rest.
STATEMENT = "select 1;\n\\sleep 5 ms"
LUA = """
function thread_init() connection = sysbench.sql.driver():connect() end
function event()
   connection:query("select 1")
   os.execute("sleep 0.005")
end
"""
SCRIPTS: dict[str, dict[str, Any]] = {
    "pgbench's": {"text": STATEMENT},
    "sysbench's": {"text": LUA, "lua": Lua(path="mine.lua")},
}


@pytest.fixture(params=SCRIPTS.values(), ids=SCRIPTS.keys())
def script(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A script in each language, as in the plan."""
    words: dict[str, Any] = request.param
    return words


@pytest.fixture
def two_processors():
    """Two CPUs that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    assert len(allowed) > 1, "two processors are needed to see who is where"
    return allowed[:2]


def pin_lanes(engine: EngineProcess, processors: list[int]) -> None:
    """Pin each thread of the load to a CPU of its own."""
    for task in Path(f"/proc/{engine.pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        if name.startswith("load-"):
            os.sched_setaffinity(int(task.name), {processors[int(name.removeprefix("load-"))]})


def pin(tasks: Iterable[int], processor: int) -> None:
    for task in tasks:
        os.sched_setaffinity(task, {processor})


def test_clients_follow_their_servers_processes(local, checked, io, script, two_processors):
    plan = crowd(local.endpoint(), **script, io=io)
    result = checked(plan, exchanges(two_processors, lambda _engine: local.backends()))
    assert result.done.clients_moved >= CLIENTS


def test_clients_follow_the_threads_that_were_reported_to_the_engine(
    mariadb, checked, io, script, two_processors
):
    plan = crowd(mariadb.endpoint(), **script, io=io)
    result = checked(plan, exchanges(two_processors, meeting(mariadb)))
    assert result.done.clients_moved >= CLIENTS


def test_clients_stay_if_their_server_threads_are_unknown(mariadb, checked):
    plan = plan_for(mariadb.endpoint(), STATEMENT, clients=CLIENTS, seconds=1)
    assert checked(plan, lambda engine: engine.served_by({})).done.clients_moved == 0


def crowd(endpoint: Endpoint, text: str = STATEMENT, **changes: Any) -> Plan:
    """Return a load that lasts until it is stopped."""
    known = {"clients": CLIENTS, "seconds": 60, "activity_interval_ns": SECOND // 10}
    return plan_for(endpoint, text, **known | changes)


def meeting(mariadb: MariaDB) -> Callable[[EngineProcess], list[int]]:
    """A function that informs the engine which threads serve its sessions, and returns them."""

    def meet(engine: EngineProcess) -> list[int]:
        query = "select id, tid from information_schema.processlist where user = 'loader'"
        tasks = dict(mariadb.execute(query))
        engine.served_by(tasks)
        return sorted(tasks.values())

    return meet


def exchanges(
    processors: list[int], meet: Callable[[EngineProcess], list[int]], turns: int = 4
) -> Callable[[EngineProcess], None]:
    """Pin half of the server's tasks to each CPU, then exchange the halves: all clients must move.

    This happens several times, since on a busy host the engine may notice late.
    """
    one, other = processors

    def exchange(engine: EngineProcess) -> None:
        time.sleep(0.3)
        tasks = meet(engine)
        pin_lanes(engine, processors)
        for turn in range(turns):
            pin(tasks[turn % 2 :: 2], one)
            pin(tasks[1 - turn % 2 :: 2], other)
            time.sleep(2 * LOOK_EVERY_S)
        engine.stop()

    return exchange


def test_clients_that_were_lost_follow_their_new_processes(local, checked, two_processors):
    def lose_all(_engine: EngineProcess) -> list[int]:
        lost = set(local.backends())
        with local.connect() as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'load'"
            )
        wait_until(lambda: len(set(local.backends()) - lost) == CLIENTS, "all are back")
        return sorted(set(local.backends()) - lost)

    result = checked(crowd(local.endpoint()), exchanges(two_processors, lose_all))
    assert result.done.clients_moved >= CLIENTS


def test_a_crowd_moves_too(local, checked, two_processors):
    plan = crowd(local.endpoint(), clients=40)
    result = checked(plan, exchanges(two_processors, lambda _engine: local.backends()))
    assert result.done.clients_moved >= 40


def test_more_than_a_crowd_stays(mariadb, checked, two_processors):
    plan = crowd(mariadb.endpoint(), clients=130, threads=2)
    result = checked(plan, exchanges(two_processors, meeting(mariadb), turns=2))
    assert result.done.clients_moved == 0


def test_a_crowd_that_runs_lua_stays(local, checked, two_processors):
    """However much they would gain by moving."""
    plan = crowd(local.endpoint(), **SCRIPTS["sysbench's"], clients=40)
    result = checked(plan, exchanges(two_processors, lambda _engine: local.backends(), turns=2))
    assert result.done.clients_moved == 0


def test_clients_with_a_share_of_transactions_stay(local, checked, two_processors):
    """However much they would gain by moving."""
    plan = crowd(local.endpoint(), **times(10**9))
    result = checked(plan, exchanges(two_processors, lambda _engine: local.backends(), turns=2))
    assert result.done.clients_moved == 0
