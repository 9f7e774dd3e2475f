"""A slow wire: passes on what two ends send each other, each part half a round trip later.

Runs as a program of its own with only the standard library, as ``python -I -S proxy.py ORDER``. The
order (JSON) has the delay of one direction and the routes: a listening socket, which it inherits,
and where to connect for each connection to it. A line on its standard input (JSON) breaks all
connections of the first route: for ``cut_ns`` new ones are closed at once, or they then lead ``to``
another address. It ends when its standard input does: when dbdyno closes it, or dies.

One thread serves all connections: the delay is the same for all, so what came first is due first.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import socket
import sys
import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ_BYTES = 1 << 16
HELD_BYTES_MAX = 1 << 22
"""An end that takes no more holds up the other, as a real wire does."""
NAME = b"dbdyno-delay"
"""Its name in lists of processes: what it takes is not taken by others."""
# linux/prctl.h. Sleeps then end when they should, and not 50 µs later.
_SET_NAME, _SET_TIMER_SLACK = 15, 29


class End:
    """One end of a connection, and what is on the way to it."""

    def __init__(self, sock: socket.socket, route: int) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.route = route
        """The listener by which the connection came."""
        self.peer: End = self
        self.unsent = b""
        self.held_bytes = 0
        """Bytes on the way to it, or not yet taken by it."""
        self.is_open = True
        self.has_ended = False
        """Whether it has said all."""
        self.events = select.EPOLLIN


class Wire:
    """All connections, and what is due when, in order."""

    def __init__(self, half_ns: int) -> None:
        self._half_ns = half_ns
        self._epoll = select.epoll()
        self._listeners: dict[int, tuple[socket.socket, Any]] = {}
        self._ends: dict[int, End] = {}
        self._due: deque[tuple[int, End, bytes]] = deque()
        self._cut_until_ns = 0
        self._first = -1
        """The listener of the first route."""

    def route(self, listener: socket.socket, to: Any) -> None:
        """Connect each connection to the listener with an address."""
        listener.setblocking(False)
        if not self._listeners:
            self._first = listener.fileno()
        self._listeners[listener.fileno()] = (listener, to)
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def run(self) -> None:
        """Pass on until standard input ends."""
        order = sys.stdin.fileno()
        self._epoll.register(order, select.EPOLLIN)
        while True:
            wait_s = None
            if self._due:
                wait_s = max(self._due[0][0] - time.monotonic_ns(), 0) / 1e9
            # To the microsecond; the timeout of epoll itself is rounded up to a millisecond.
            select.select([self._epoll], [], [], wait_s)
            self._deliver()
            for number, events in self._epoll.poll(0):
                if number == order:
                    if not self._obey(os.read(order, READ_BYTES)):
                        return
                elif number in self._listeners:
                    self._accept(number)
                elif number in self._ends:
                    self._serve(self._ends[number], events)

    def _deliver(self) -> None:
        """Pass on what has been on the way for long enough."""
        while self._due and self._due[0][0] <= time.monotonic_ns():
            _, end, part = self._due.popleft()
            if not part:  # the other end has said all
                self._close(end)
            elif end.is_open:
                end.unsent += part
                self._send(end)

    def _accept(self, route: int) -> None:
        listener, to = self._listeners[route]
        try:
            near, _ = listener.accept()
        except OSError:
            return
        if route == self._first and time.monotonic_ns() < self._cut_until_ns:
            near.close()
            return
        is_unix = isinstance(to, str)
        family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
        try:
            far = socket.socket(socket.AF_UNIX if is_unix else family)
        except OSError:  # it has no further files
            near.close()
            return
        try:
            if is_unix:  # it does not wait for the server, unless its queue is full
                far.connect(to)
            else:
                for sock in (near, far):
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                far.setblocking(False)
                far.connect_ex(tuple(to))
        except OSError:
            near.close()
            far.close()
            return
        ends = End(near, route), End(far, route)
        ends[0].peer, ends[1].peer = ends[1], ends[0]
        for end in ends:
            self._ends[end.sock.fileno()] = end
            self._epoll.register(end.sock.fileno(), select.EPOLLIN)

    def _serve(self, end: End, events: int) -> None:
        if events & select.EPOLLOUT:
            self._send(end)
        if end.is_open and events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            try:
                part = end.sock.recv(READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                self._close(end)
                return
            self._due.append((time.monotonic_ns() + self._half_ns, end.peer, part))
            end.peer.held_bytes += len(part)
            if part:
                self._watch(end)
            else:  # what hung up would be reported again and again
                end.has_ended = True
                self._epoll.unregister(end.sock.fileno())

    def _send(self, end: End) -> None:
        try:
            sent = end.sock.send(end.unsent) if end.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(end)
            return
        end.unsent = end.unsent[sent:]
        end.held_bytes -= sent
        self._watch(end)
        self._watch(end.peer)

    def _watch(self, end: End) -> None:
        """Read from it unless its peer is full; be told when it takes what is unsent."""
        reads = end.peer.held_bytes <= HELD_BYTES_MAX
        events = (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if end.unsent else 0)
        if events != end.events and end.is_open and not end.has_ended:
            end.events = events
            self._epoll.modify(end.sock.fileno(), events)

    def _obey(self, lines: bytes) -> bool:
        """Break all of the first route, and do with new ones what the lines say; False if none."""
        for order in map(json.loads, lines.splitlines()):
            self._cut_until_ns = time.monotonic_ns() + order.get("cut_ns", 0)
            if "to" in order:
                listener, _ = self._listeners[self._first]
                self._listeners[self._first] = (listener, order["to"])
        for end in [end for end in self._ends.values() if end.route == self._first]:
            self._close(end)
        return bool(lines)

    def _close(self, end: End) -> None:
        for one in (end, end.peer):
            if one.is_open:
                one.is_open = False
                del self._ends[one.sock.fileno()]
                one.sock.close()  # epoll forgets it


def main(order: dict[str, Any]) -> None:
    """Serve the routes."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_NAME, NAME)
    libc.prctl(_SET_TIMER_SLACK, 1)
    # A connection has two files.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wire = Wire(order["half_ns"])
    for number, to in order["routes"]:
        wire.route(socket.socket(fileno=number), to)
    wire.run()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
