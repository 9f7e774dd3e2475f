"""Listeners in place of a server: slow ones, proxies that falsify, and senders of garbage.

Each runs in threads of the test and ends with its block.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dbdyno.model.plan import Address, TcpAddress, UnixSocket

Behaviour = Callable[[socket.socket], None]


@contextlib.contextmanager
def listening(
    path: Path, behaviour: Behaviour, *, backlog: int = 16, pause_s: float = 0
) -> Iterator[Address]:
    """Listen on a Unix socket; each connection gets a thread that runs ``behaviour``.

    Each connection is accepted after a pause of ``pause_s``, and closed when its thread is done.
    """
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen(backlog)
        with _open(door, behaviour, pause_s):
            yield Address(unix=UnixSocket(path=str(path)))


@contextlib.contextmanager
def listening_tcp(behaviour: Behaviour) -> Iterator[Address]:
    """Listen on a port of loopback in the same way."""
    with socket.create_server(("127.0.0.1", 0)) as door, _open(door, behaviour):
        yield Address(tcp=TcpAddress(host="127.0.0.1", port=door.getsockname()[1]))


@contextlib.contextmanager
def _open(door: socket.socket, behaviour: Behaviour, pause_s: float = 0) -> Iterator[None]:
    threading.Thread(target=_accept, args=(door, behaviour, pause_s), daemon=True).start()
    yield
    door.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def closed_door(path: Path) -> Iterator[Address]:
    """Provide a socket whose backlog is full, since nobody ever accepts."""
    with socket.socket(socket.AF_UNIX) as door, contextlib.ExitStack() as visitors:
        door.bind(str(path))
        door.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                visitor = visitors.enter_context(socket.socket(socket.AF_UNIX))
                visitor.setblocking(False)
                visitor.connect(str(path))
        yield Address(unix=UnixSocket(path=str(path)))


def _accept(door: socket.socket, behaviour: Behaviour, pause_s: float) -> None:
    with contextlib.suppress(OSError):  # the listener has been closed
        while True:
            time.sleep(pause_s)
            visitor, _ = door.accept()
            threading.Thread(target=_behave, args=(visitor, behaviour), daemon=True).start()


def _behave(visitor: socket.socket, behaviour: Behaviour) -> None:
    with visitor, contextlib.suppress(OSError):  # the client may disconnect at any time
        behaviour(visitor)


def forward_to(
    server: Path | int,
    spoil: Callable[[bytes], bytes] = bytes,
    overhear: Callable[[bytes], bytes] = bytes,
) -> Behaviour:
    """Pass bytes both ways, to a Unix socket or a port.

    The server's go through ``spoil``, the client's through ``overhear``.
    """

    def behave(visitor: socket.socket) -> None:
        is_port = isinstance(server, int)
        with socket.socket(socket.AF_INET if is_port else socket.AF_UNIX) as other:
            other.connect(("127.0.0.1", server) if is_port else str(server))
            _exchange(visitor, other, spoil, overhear)

    return behave


def _exchange(
    visitor: socket.socket,
    server: socket.socket,
    spoil: Callable[[bytes], bytes] = bytes,
    overhear: Callable[[bytes], bytes] = bytes,
) -> None:
    asking = threading.Thread(target=_pump, args=(visitor, server, overhear), daemon=True)
    asking.start()
    _pump(server, visitor, spoil)
    with contextlib.suppress(OSError):
        visitor.shutdown(socket.SHUT_RDWR)
    asking.join()


def _pump(source: socket.socket, sink: socket.socket, spoil: Callable[[bytes], bytes]) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(spoil(data))
        sink.shutdown(socket.SHUT_WR)


def intercept(server: int, certificate: Path, key: Path) -> Behaviour:
    """Terminate the client's TLS, and encrypt again on the way to the server's port."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_side.check_hostname = False
    client_side.verify_mode = ssl.CERT_NONE

    def behave(visitor: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", server)) as other:
            other.sendall(visitor.recv(8))
            visitor.sendall(other.recv(1))
            with (
                server_side.wrap_socket(visitor, server_side=True) as inside,
                client_side.wrap_socket(other) as outside,
            ):
                _exchange(inside, outside)

    return behave
