"""Servers of both protocols that mean harm: the engine ends in time, with bounded memory.

Its memory is read from outside, as the kernel's high-water mark of its process. What such a server
sends has no end; the bound is that of two messages of the largest size, 64 MiB each, for each of
two clients, beside the 40 MiB of the engine itself.
"""

import contextlib
import itertools
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from dbdyno.databases.connecting import open_connection
from dbdyno.engine import EngineProcess
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Failed, Frame
from dbdyno.model.plan import Address, Endpoint
from tests.engine.proxies import Behaviour, listening, listening_tcp
from tests.engine.running import SECOND, plan_for
from tests.support.patience import PATIENCE_S

MEMORY_MAX_KB = (40 + 2 * 2 * 64) << 10
PASSWORD = "planted"
SALT = b"12345678901234567890"
BIG = bytes(1 << 20)


# PostgreSQL.


def message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack(">I", 4 + len(body)) + body


AUTHENTICATED = message(b"R", struct.pack(">I", 0))
READY = message(b"Z", b"I")
ONE_COLUMN = message(
    b"T", struct.pack(">H", 1) + b"a\0" + bytes(6) + struct.pack(">IhIh", 25, -1, 0, 0)
)


def flood(visitor: socket.socket, piece: bytes) -> None:
    while True:
        visitor.sendall(piece)


def endless_parameters(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(AUTHENTICATED)
    for number in itertools.count():
        visitor.sendall(message(b"S", b"name%d\0" % number + b"x" * 1000 + b"\0"))


def endless_login_notices(visitor: socket.socket) -> None:
    visitor.recv(1000)
    flood(visitor, message(b"N", b"SNOTICE\0C00000\0M" + b"x" * 10_000 + b"\0\0"))


def endless_challenges(visitor: socket.socket) -> None:
    visitor.recv(1000)
    flood(visitor, message(b"R", struct.pack(">I", 5) + b"salt"))


def endless_scram(visitor: socket.socket) -> None:
    visitor.recv(1000)
    visitor.sendall(message(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"))
    nonce = visitor.recv(1000).rpartition(b"r=")[2]
    challenge = b"r=" + nonce + b"x,s=c2FsdA==,i=1000"
    flood(visitor, message(b"R", struct.pack(">I", 11) + challenge))


def costly_scram(visitor: socket.socket) -> None:
    """So many iterations that the client would compute for minutes."""
    visitor.recv(1000)
    visitor.sendall(message(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"))
    nonce = visitor.recv(1000).rpartition(b"r=")[2]
    challenge = b"r=" + nonce + b"x,s=c2FsdA==,i=4000000000"
    visitor.sendall(message(b"R", struct.pack(">I", 11) + challenge))
    visitor.recv(1)


def a_trickle(visitor: socket.socket) -> None:
    visitor.recv(1000)
    for byte in AUTHENTICATED + message(b"S", b"a\0" + b"b" * 10_000 + b"\0"):
        visitor.sendall(bytes([byte]))
        time.sleep(0.05)


def after_login(answer: Callable[[socket.socket], None]) -> Behaviour:
    def behave(visitor: socket.socket) -> None:
        visitor.recv(1000)
        visitor.sendall(AUTHENTICATED + READY)
        visitor.recv(1000)
        answer(visitor)

    behave.__name__ = answer.__name__
    return behave


def endless_rows(visitor: socket.socket) -> None:
    row = message(b"D", struct.pack(">HI", 1, len(BIG)) + BIG)
    visitor.sendall(ONE_COLUMN)
    flood(visitor, row)


def a_huge_row(visitor: socket.socket) -> None:
    visitor.sendall(ONE_COLUMN + b"D" + struct.pack(">I", 0x7FFFFFFF))
    flood(visitor, BIG)


def endless_columns(visitor: socket.socket) -> None:
    visitor.sendall(b"T" + struct.pack(">IH", 60 << 20, 0xFFFF))
    flood(visitor, b"a" * 65536)


def endless_notices(visitor: socket.socket) -> None:
    flood(visitor, message(b"N", b"SNOTICE\0C00000\0M" + b"x" * 100_000 + b"\0\0"))


# MySQL.


def packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number & 255]) + body


def greeting(method: bytes = b"mysql_native_password") -> bytes:
    lower, upper = 0x0200 | 0x8000 | 0x0080 | 8 | 1, 0x0008 | 0x0020
    head = b"\x0a11.4.2-MariaDB\0" + bytes(4) + SALT[:8] + b"\0"
    tail = struct.pack("<HBHHB", lower, 45, 2, upper, 21) + bytes(10) + SALT[8:] + b"\0"
    return packet(0, head + tail + method + b"\0")


CONSENT = b"\0\0\0\x02\0\0\0"


def endless_methods(visitor: socket.socket) -> None:
    visitor.sendall(greeting())
    for number in itertools.count(2, 2):
        visitor.recv(1000)
        visitor.sendall(packet(number, b"\xfemysql_native_password\0" + SALT + b"\0"))


def endless_more(visitor: socket.socket) -> None:
    visitor.sendall(greeting(b"caching_sha2_password"))
    visitor.recv(1000)
    for number in itertools.count(2):
        visitor.sendall(packet(number, b"\x01\x03"))


def an_endless_packet(visitor: socket.socket) -> None:
    for number in itertools.count():
        visitor.sendall(b"\xff\xff\xff" + bytes([number & 255]) + bytes(0xFFFFFF))


def a_mysql_trickle(visitor: socket.socket) -> None:
    for byte in packet(0, b"\x0a" + b"1" * 10_000):
        visitor.sendall(bytes([byte]))
        time.sleep(0.05)


def after_mysql_login(answer: Callable[[socket.socket], None]) -> Behaviour:
    def behave(visitor: socket.socket) -> None:
        visitor.sendall(greeting())
        visitor.recv(1000)
        visitor.sendall(packet(2, CONSENT))
        visitor.recv(1000)
        answer(visitor)

    behave.__name__ = answer.__name__
    return behave


def endless_mysql_rows(visitor: socket.socket) -> None:
    column = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\xfd\x81\0\0\0\0"
    visitor.sendall(packet(1, b"\x01") + packet(2, column) + packet(3, b"\xfe\0\0\x02\0"))
    for number in itertools.count(4):
        visitor.sendall(packet(number, b"\xfd" + struct.pack("<I", len(BIG))[:3] + BIG))


def endless_mysql_columns(visitor: socket.socket) -> None:
    visitor.sendall(packet(1, b"\xfd\xff\xff\x00"))
    column = (
        b"\x03def\0\0\0\xfd\x40\x42\x0f"
        + b"a" * 1_000_000
        + b"\0\x0c\x3f\0\x01\0\0\0\xfd\0\0\0\0\0"
    )
    for number in itertools.count(2):
        visitor.sendall(packet(number, column))


def a_request_for_a_file(visitor: socket.socket) -> None:
    visitor.sendall(packet(1, b"\xfb/etc/passwd"))
    visitor.settimeout(2)
    with contextlib.suppress(TimeoutError):
        while data := visitor.recv(65536):
            assert b"root:" not in data
    flood(visitor, BIG)


POSTGRES = [
    endless_parameters,
    endless_login_notices,
    endless_challenges,
    endless_scram,
    costly_scram,
    a_trickle,
    after_login(endless_rows),
    after_login(a_huge_row),
    after_login(endless_columns),
    after_login(endless_notices),
]
MYSQL = [
    endless_methods,
    endless_more,
    an_endless_packet,
    a_mysql_trickle,
    after_mysql_login(endless_mysql_rows),
    after_mysql_login(endless_mysql_columns),
    after_mysql_login(a_request_for_a_file),
]


def endpoint(protocol: str, address: Address) -> Endpoint:
    return Endpoint(
        protocol=protocol,
        address=address,
        user="me",
        database="mine",
        password=PASSWORD,
        connect_timeout_ns=SECOND,
    )


def engine_meets(
    where: Endpoint, log: IO[str], is_watched: threading.Event | None = None
) -> tuple[Frame, int]:
    """The last frame of an engine, and the most memory that it had (kB).

    ``is_watched`` is set once its memory has been read: nothing shows that of an engine that ended.
    """
    plan = plan_for(where, "select 1;", query_mode="simple", seconds=1, stall_limit_ns=2 * SECOND)
    engine = EngineProcess(plan, log)
    guard = threading.Timer(PATIENCE_S, engine.kill)
    guard.start()
    most_kb = 0
    is_over = threading.Event()

    def watch() -> None:
        nonlocal most_kb
        while not is_over.wait(0.01):
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{engine.pid}/status").read_text()
                _, found, rest = status.partition("VmHWM:")
                most_kb = max(most_kb, int(rest.split()[0]) if found else 0)
            if most_kb and is_watched:
                is_watched.set()

    watching = threading.Thread(target=watch)
    watching.start()
    frames = [frame for _, frame in engine]
    is_over.set()
    watching.join()
    guard.cancel()
    assert guard.finished.is_set()
    assert engine.returncode in {0, 1}, "it did not end by itself"
    return frames[-1], most_kb


def name_of(behaviour: Behaviour) -> str:
    return behaviour.__name__


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IO[str]]:
    with (tmp_path / "engine.log").open("w+") as file:
        yield file


@pytest.mark.parametrize(
    ("protocol", "behaviour"),
    [
        *(pytest.param("postgresql", one, id=f"postgresql-{name_of(one)}") for one in POSTGRES),
        *(pytest.param("mysql", one, id=f"mysql-{name_of(one)}") for one in MYSQL),
    ],
)
def test_it_ends_with_little_memory(
    protocol: str, behaviour: Behaviour, tmp_path: Path, log: IO[str]
) -> None:
    is_watched = threading.Event()

    def behave(visitor: socket.socket) -> None:
        is_watched.wait(PATIENCE_S)
        behaviour(visitor)

    with listening(tmp_path / "s", behave) as address:
        frame, most_kb = engine_meets(endpoint(protocol, address), log, is_watched)
    assert isinstance(frame, Failed | Done)
    assert 0 < most_kb < MEMORY_MAX_KB
    assert PASSWORD not in f"{frame}"
    if isinstance(frame, Done):
        assert frame.counters.ok == 0


def test_a_key_of_the_wrong_server_is_trusted_without_tls(log: IO[str]) -> None:
    """As by every client that has no key of its own: only TLS proves who asks."""
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    received: list[bytes] = []

    def swap(visitor: socket.socket) -> None:
        visitor.sendall(greeting(b"caching_sha2_password"))
        visitor.recv(1000)
        visitor.sendall(packet(2, b"\x01\x04"))
        visitor.recv(1000)
        visitor.sendall(packet(4, b"\x01" + public))
        received.append(visitor.recv(1000)[4:])

    with listening_tcp(swap) as address:
        engine_meets(endpoint("mysql", address), log)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
    hidden = key.decrypt(received[0], oaep)
    salt = itertools.cycle(SALT)
    assert bytes(one ^ other for one, other in zip(hidden, salt, strict=False)) == b"planted\0"


def test_a_request_for_the_password_in_the_clear_is_granted_without_tls(log: IO[str]) -> None:
    """As by libpq."""
    received: list[bytes] = []

    def ask(visitor: socket.socket) -> None:
        if len(visitor.recv(1000)) == 8:  # whether there is TLS
            visitor.sendall(b"N")
            visitor.recv(1000)
        visitor.sendall(message(b"R", struct.pack(">I", 3)))
        received.append(visitor.recv(1000))

    with listening_tcp(ask) as address:
        engine_meets(endpoint("postgresql", address), log)
    assert message(b"p", b"planted\0") in received


@pytest.mark.parametrize("method", [b"mysql_clear_password", b"dialog"])
def test_a_request_for_the_password_in_the_clear_is_refused_by_mariadbs_clients(
    method: bytes, log: IO[str]
) -> None:
    """By the load's connections and by the control connection."""
    received: list[bytes] = []

    def ask(visitor: socket.socket) -> None:
        visitor.sendall(greeting())
        received.append(visitor.recv(4096))
        visitor.sendall(packet(2, b"\xfe" + method + b"\0\x04Password: "))
        received.append(visitor.recv(4096))

    with listening_tcp(ask) as address:
        assert address.tcp
        engine_meets(endpoint("mysql", address), log)
        expected = f"asks for the authentication method {method.decode()}, which is not supported"
        with pytest.raises(DbdynoError, match=expected):
            open_connection(f"mysql://u:planted@127.0.0.1:{address.tcp.port}/?ssl-mode=DISABLED")
    assert len(received) >= 4
    assert b"planted" not in b"".join(received)
