"""Clients come to the thread that shares a processor with the server's process that serves them."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from dbdyno.engine import EngineProcess
from tests.engine.running import SECOND, plan_for

CLIENTS = 8
LOOK_EVERY_S = 1.0


@pytest.fixture
def two_processors():
    """Two that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    assert len(allowed) > 1, "two processors are needed to see who is where"
    return allowed[:2]


def pin_lanes(engine: EngineProcess, processors: list[int]) -> None:
    """Each thread of the load to a processor of its own."""
    for task in Path(f"/proc/{engine.pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        if name.startswith("load-"):
            os.sched_setaffinity(int(task.name), {processors[int(name.removeprefix("load-"))]})


def pin(backends: Iterable[int], processor: int) -> None:
    for backend in backends:
        os.sched_setaffinity(backend, {processor})


def test_clients_follow_their_servers_processes(local, checked, io, two_processors):
    """Half of the processes here and half there; then the other way round: all clients move."""
    one, other = two_processors

    def exchange(engine: EngineProcess) -> None:
        time.sleep(0.3)
        pin_lanes(engine, two_processors)
        backends = backends_of(local)
        for first in range(2):
            pin(backends[first::2], one)
            pin(backends[1 - first :: 2], other)
            time.sleep(2 * LOOK_EVERY_S)
        engine.stop()

    plan = plan_for(
        local.endpoint(),
        "select 1;",
        clients=CLIENTS,
        threads=2,
        io=io,
        seconds=60,
        activity_interval_ns=SECOND // 10,
    )
    told = checked(plan, exchange)
    assert told.done.clients_moved >= CLIENTS


def backends_of(local) -> list[int]:
    with local.connect() as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where backend_type = 'client backend'"
            " and pid <> pg_backend_pid() order by pid"
        ).fetchall()
    return [pid for (pid,) in rows]


def test_many_clients_stay_where_they_are(local, checked):
    told = checked(plan_for(local.endpoint(), "select 1;", clients=40, threads=2, seconds=1))
    assert told.done.clients_moved == 0


def test_clients_with_a_share_of_transactions_stay(local, checked):
    plan = plan_for(local.endpoint(), "select 1;", clients=4, transactions_per_client=2000)
    assert checked(plan).done.clients_moved == 0
