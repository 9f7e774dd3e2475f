"""A peer that is not a server, or sends garbage: an error in bounded time, no hang, no panic."""

import random
import socket
import struct
import time
from collections.abc import Callable

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.model.frame import Outage
from dbdyno.model.plan import Tls
from tests.engine.postgres import Postgres
from tests.engine.proxies import closed_door, forward_to, listening, listening_tcp
from tests.engine.running import SECOND, EngineRun, plan_for

AUTHENTICATED = b"R" + struct.pack(">II", 8, 0)
READY = b"Z" + struct.pack(">I", 5) + b"I"


def random_bytes(visitor: socket.socket) -> None:
    chance = random.Random(7)
    while True:
        visitor.sendall(chance.randbytes(1000))


def a_huge_length(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(b"R" + struct.pack(">I", 0x7FFFFFFF) + bytes(100))
    visitor.recv(1)


def a_negative_length(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(b"R" + struct.pack(">i", -4))
    visitor.recv(1)


def half_a_message(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(AUTHENTICATED[:6])


def silence(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.recv(1)


def a_web_server(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    visitor.recv(1)


def ready_before_the_key(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(READY)
    visitor.recv(1)


def endless_notices(visitor: socket.socket) -> None:
    visitor.recv(1000)
    body = b"SNOTICE\0C00000\0Mstill here\0\0"
    while True:
        visitor.sendall(b"N" + struct.pack(">I", 4 + len(body)) + body)
        time.sleep(0.01)


BEHAVIOURS = [
    random_bytes,
    a_huge_length,
    a_negative_length,
    half_a_message,
    silence,
    a_web_server,
    ready_before_the_key,
    endless_notices,
]


@pytest.fixture
def in_time(refused):
    """Return the reason why a run with a timeout of a second did not start."""

    def go(plan):
        began = time.monotonic()
        failed = refused(plan)
        assert time.monotonic() - began < 9, "the usual timeout is ten seconds"
        assert failed.code == "cannot_connect"
        return failed

    return go


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda each: each.__name__)
def test_before_the_login_is_over(local, tmp_path, in_time, io, behaviour):
    with listening(tmp_path / "s", behaviour) as address:
        endpoint = local.endpoint(address=address, connect_timeout_ns=SECOND)
        failed = in_time(plan_for(endpoint, "select 1;", io=io))
    assert failed.message
    assert failed.hint


@pytest.mark.parametrize("answer", [b"S" + bytes(range(200)), b"S", b"X", b"E", b"SS", b""])
def test_instead_of_encryption(local, in_time, io, answer):
    def behave(visitor: socket.socket) -> None:
        visitor.recv(8)
        visitor.sendall(answer)
        visitor.recv(1000)

    with listening_tcp(behave) as address:
        tls = Tls(mode="require")
        endpoint = local.endpoint(address=address, tls=tls, connect_timeout_ns=SECOND)
        failed = in_time(plan_for(endpoint, "select 1;", io=io))
    assert failed.message


def test_a_door_that_stays_closed(local, tmp_path, in_time, io):
    with closed_door(tmp_path / "s") as address:
        endpoint = local.endpoint(address=address, connect_timeout_ns=SECOND)
        failed = in_time(plan_for(endpoint, "select 1;", io=io, clients=50))
    assert "temporarily unavailable" in failed.message


def spoiling(tail: bytes) -> Callable[[bytes], bytes]:
    """Return what occasionally appends ``tail`` to a server's answer, but to nothing of a login."""
    chance = random.Random(1)

    def spoil(data: bytes) -> bytes:
        # The answer to the request for encryption is one byte; the login's messages are longer.
        is_answer = 1 < len(data) < 200
        return data + tail if is_answer and chance.random() < 0.02 else data

    return spoil


def assert_survived(result: EngineRun) -> None:
    """Assert that some clients have failed and reconnected, and that the run went on to its end."""
    assert result.done.end == "complete"
    assert result.counters.ok > 20
    assert result.all(Outage)
    assert {each.failure_class for each in result.done.failures} <= {"protocol", "connection"}


@pytest.mark.parametrize("tail", [b"\xff" * 100, b"D\x00\x00\x00\x04", b"T\x7f\xff\xff\xff"])
def test_in_the_middle_of_a_run(local, tmp_path, checked, io, tail):
    with listening(tmp_path / "s", forward_to(local.socket_path, spoiling(tail))) as address:
        endpoint = local.endpoint(address=address)
        plan = plan_for(endpoint, "select 1;", query_mode="simple", io=io, clients=4, seconds=1)
        assert_survived(checked(plan))


@pytest.fixture(scope="module")
def encrypting(certificates):
    server = Postgres(local_binaries()[0].folder, listen_addresses="127.0.0.1")
    server.encrypt(certificates, "server")
    yield server
    server.remove()


UNKNOWN_RECORD = b"\xff" * 100
UNDECIPHERABLE_RECORD = b"\x17\x03\x03" + struct.pack(">H", 40) + bytes(40)


@pytest.mark.parametrize("tail", [UNKNOWN_RECORD, UNDECIPHERABLE_RECORD])
def test_in_the_middle_of_an_encrypted_run(encrypting, checked, io, tail):
    """The rubbish is outside the encryption, which then ends the session by itself."""
    with listening_tcp(forward_to(encrypting.port, spoiling(tail))) as address:
        endpoint = encrypting.endpoint(address=address, tls=Tls(mode="require"))
        plan = plan_for(endpoint, "select 1;", query_mode="simple", io=io, clients=4, seconds=1)
        result = checked(plan)
    assert_survived(result)
    assert all("TLS: " in each.message for each in result.done.failures)
