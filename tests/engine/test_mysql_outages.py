"""How runs on MariaDB end, and how they handle connections that are killed, cut or corrupted."""

import socket
import struct
import threading
import time

import pytest
from msgspec.structs import replace

from dbdyno.model.frame import Outage
from tests.engine.happenings import AGAIN_S
from tests.engine.proxies import forward_to, listening
from tests.engine.running import SECOND, plan_for, times
from tests.support.patience import wait_until


def test_transactions_in_flight_get_the_grace_period(mariadb, checked, io):
    # Each client is in one at the end, whenever that began; the first one extends the grace period.
    plan = plan_for(mariadb.endpoint(), "select sleep(0.9);", seconds=1.2, io=io)
    counts = checked(plan).counters
    assert (counts.ok, counts.unfinished) == (counts.started, 0)
    assert counts.ok >= 2


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_beyond_the_grace_it_is_cancelled(mariadb, checked, io, mode):
    script = "select sleep(60);"
    plan = plan_for(mariadb.endpoint(), script, seconds=0.5, io=io, query_mode=mode)
    result = checked(plan)
    assert result.done.end == "complete"
    assert (result.counters.ok, result.counters.failed, result.counters.unfinished) == (0, 0, 2)
    assert min(result.done.unfinished_ages_ns) > SECOND
    wait_until(lambda: mariadb.backends() == [], "the backends' end")


def test_a_hundred_are_cancelled_by_one(mariadb, checked, io):
    """A single session cancels them all: they wait for a row."""
    mariadb.execute("create or replace table held (id int primary key)")
    mariadb.execute("insert into held values (1)")
    script = "select * from held for update;"
    with mariadb.holding("begin", script):
        before = connections_so_far(mariadb)
        plan = plan_for(mariadb.endpoint(), script, seconds=0.5, clients=100, threads=1, io=io)
        result = checked(plan)
        after = connections_so_far(mariadb)
    assert (result.done.end, result.counters.unfinished) == ("complete", 100)
    assert after - before == 100 + len(["who looks for the server", "who cancels", "who counts"])
    mariadb.execute("drop table held")


def connections_so_far(server) -> int:
    return int(server.execute("show global status like 'Connections'")[0][1])


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_no_connection_remains(mariadb, checked, io, mode):
    wait_until(lambda: mariadb.backends() == [], "the end of another test's connections")
    aborted = mariadb.execute("show global status like 'Aborted_clients'")
    checked(plan_for(mariadb.endpoint(), "select 1;", clients=8, query_mode=mode, io=io))
    wait_until(lambda: mariadb.backends() == [], "the connections' end")
    # They were terminated in the protocol, not just disconnected.
    assert mariadb.execute("show global status like 'Aborted_clients'") == aborted


def test_a_server_without_room_for_the_order_to_cancel(mariadb, checked):
    """No further session may connect: the drain gives up, and says why."""
    mariadb.execute("create user crowd")
    mariadb.execute("grant select on load_test.* to crowd")
    endpoint = replace(mariadb.endpoint(), user="crowd")
    plan = plan_for(endpoint, "select sleep(20);", seconds=0.6, clients=10)
    try:
        result = checked(plan, lambda _: mariadb.execute("set global max_connections = 10"))
    finally:
        mariadb.execute("set global max_connections = 200", "kill user crowd", "drop user crowd")
    assert result.done.end == "stalled"
    assert result.done.reason == (
        "the server did not answer a cancellation: cancelling needs one more connection, "
        "which was refused: Too many connections"
    )
    assert result.counters.unfinished == 10


@pytest.mark.parametrize("script", ["select sleep(0.02);", "select 1;\n\\sleep 20 ms"])
def test_one_connection_is_killed(mariadb, checked, io, script):
    def kill(engine) -> None:
        time.sleep(0.3)
        (victim, other) = mariadb.backends()
        mariadb.execute(f"kill {victim}")
        wait_until(lambda: len({*mariadb.backends()} - {victim, other}) == 1, "it is back")
        time.sleep(AGAIN_S)  # the server lists it before it has accepted its login
        engine.stop()

    result = checked(plan_for(mariadb.endpoint(), script, seconds=60, io=io), kill)
    assert {each.failure_class for each in result.done.failures} <= {"connection", "cancelled"}
    assert sum(each.count for each in result.done.failures) <= 1
    (outage,) = result.all(Outage)
    assert outage.connections_lost == 1
    assert outage.end_ns is not None
    assert result.done.end == "interrupted"


def test_one_query_is_killed(mariadb, checked, io):
    def kill(engine) -> None:
        time.sleep(0.3)
        (victim, *_others) = mariadb.backends()
        mariadb.execute(f"kill query {victim}")
        engine.stop()

    script = "select sum(a.seq * b.seq) from seq_1_to_100000 a, seq_1_to_100000 b;"
    result = checked(plan_for(mariadb.endpoint(), script, seconds=60, io=io), kill)
    assert result.codes == {"1317": ("cancelled", 1)}
    assert result.all(Outage) == []


ROWS = "select seq, repeat('x', 100) from seq_1_to_20000;"


def test_a_connection_cut_in_the_middle_of_a_result(mariadb, checked, io, tmp_path):
    door = Cutter(after=1_000_000)
    behaviour = forward_to(mariadb.socket_path, door.spoil)
    with listening(tmp_path / "s", behaviour) as address:
        plan = plan_for(mariadb.endpoint(address=address), ROWS, clients=1, threads=1, io=io)
        result = checked(plan)
    assert result.counters.failed >= 1
    assert {each.failure_class for each in result.done.failures} == {"connection"}
    assert result.all(Outage)


class Cutter:
    """Passes this many bytes and breaks the connection with the next; then starts again."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.left = after
        self.lock = threading.Lock()

    def spoil(self, data: bytes) -> bytes:
        with self.lock:
            self.left -= len(data)
            if self.left > 0:
                return data
            self.left = self.after
            raise ConnectionError("cut")


def a_lying_length(visitor: socket.socket) -> None:
    visitor.sendall(b"\xff\xff\xff\x00" + bytes(1000))
    visitor.recv(1)


def a_wrong_number(visitor: socket.socket) -> None:
    visitor.sendall(b"\x01\x00\x00\x07\x0a")
    visitor.recv(1)


def silence(visitor: socket.socket) -> None:
    visitor.recv(1)


def an_old_protocol(visitor: socket.socket) -> None:
    visitor.sendall(struct.pack("<I", 10)[:3] + b"\x00\x09" + b"3.20.0\x00\x00\x00")
    visitor.recv(1)


@pytest.mark.parametrize("behaviour", [a_lying_length, a_wrong_number, silence, an_old_protocol])
def test_a_server_that_is_none(mariadb, refused, io, tmp_path, behaviour):
    began = time.monotonic()
    with listening(tmp_path / "s", behaviour) as address:
        endpoint = mariadb.endpoint(address=address, connect_timeout_ns=SECOND)
        failed = refused(plan_for(endpoint, "select 1;", io=io))
    assert failed.code == "cannot_connect"
    assert time.monotonic() - began < 9, "the usual timeout is ten seconds"


def test_a_backlog_of_one(mariadb, tmp_path, checked, io):
    behaviour = forward_to(mariadb.socket_path)
    with listening(tmp_path / "s", behaviour, backlog=1, pause_s=0.02) as address:
        endpoint = mariadb.endpoint(address=address)
        result = checked(plan_for(endpoint, "select 1;", clients=30, io=io, **times(1)))
    assert result.counters.ok == 30
