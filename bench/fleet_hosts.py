"""Stands for many agents of one load, in one process: each says again what a real one has said.

``python -m bench.fleet_hosts FRAMES FD:FD …``: for each agent the number of the pipe that it reads,
and of that which it writes. Its intervals are those of the real one, at the times of this load.

It must take far less time than whoever adds them up: frames are kept as bytes in which only the
times are replaced, and nobody is waited for who does not read.
"""

import os
import selectors
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode
_TIMES = struct.Struct(">Q")
_CLOCK = b'{"clock":'


class Framed:
    """A frame with its length, in which some numbers are replaced each time that it is said."""

    def __init__(self, frame: dict[str, Any], *names: str) -> None:
        # Numbers of eight bytes, as a clock's are, that are nowhere else in it.
        marks = {name: 2**63 + 0x5A5A_0000 + place for place, name in enumerate(names)}
        raw = _encode(frame | marks)
        self._bytes = bytearray(len(raw).to_bytes(4, "little") + raw)
        self._places = [self._bytes.index(_TIMES.pack(mark)) for mark in marks.values()]

    def of(self, *numbers: int) -> bytes:
        """Return it with these numbers."""
        for place, number in zip(self._places, numbers, strict=True):
            _TIMES.pack_into(self._bytes, place, number)
        return bytes(self._bytes)


class Host:
    """One of them: its pipes, what it was sent of a line, and what could not be written yet."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads, self.writes, self.line, self.left = reads, writes, b"", b""
        self.begin_ns = 0
        """When its load begins, by what it takes for its clock."""
        os.set_blocking(writes, False)


class Hosts:
    """All of them."""

    def __init__(self, said: Sequence[dict[str, Any]], hosts: Sequence[Host]) -> None:
        first = {frame["kind"]: frame for frame in said}
        intervals = [frame for frame in said if frame["kind"] == "part_interval"]
        self.step_ns = intervals[0]["end_ns"] - intervals[0]["begin_ns"]
        self._intervals = [Framed(interval, "begin_ns", "end_ns") for interval in intervals]
        instants_ns = [frame["at_ns"] for frame in said if frame["kind"] == "activity"]
        self._apart_ns = instants_ns[1] - instants_ns[0]
        self._activity = Framed(first["activity"], "at_ns")
        self._plain = {kind: Framed(frame).of() for kind, frame in first.items()}
        self._started = Framed(first["started"], "monotonic_ns")
        clock = {"kind": "clock", "question": 0, "received_ns": 0, "sent_ns": 0}
        self._clock = Framed(clock, "question", "received_ns", "sent_ns")
        self._ready = selectors.DefaultSelector()
        self._hosts = hosts
        for host in hosts:
            self._ready.register(host.reads, selectors.EVENT_READ, host)
            self._say(host, self._plain["greeting"])

    def serve(self) -> None:
        """Answer until every input has ended."""
        number = begin_ns = 0
        while self._ready.get_map():
            if number == 0:
                begin_ns = max(host.begin_ns for host in self._hosts)
            due_ns = begin_ns + (number + 1) * self.step_ns
            is_over = not begin_ns or number > len(self._intervals)
            wait_s = 1.0 if is_over else max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
            for key, events in self._ready.select(wait_s):
                if events & selectors.EVENT_WRITE:
                    self._write(key.data)
                else:
                    self._hear(key.data)
            if not is_over and time.monotonic_ns() >= due_ns:
                for host in self._hosts:
                    self._say(host, self._interval(host, number))
                number += 1

    def _interval(self, host: Host, number: int) -> bytes:
        """An interval at its time, and what clients did in it; the end after the last one."""
        if number == len(self._intervals):
            return self._plain["done"]
        begin_ns = host.begin_ns + number * self.step_ns
        end_ns = begin_ns + self.step_ns
        instants_ns = range(begin_ns + self._apart_ns, end_ns + 1, self._apart_ns)
        activities = b"".join(self._activity.of(at_ns) for at_ns in instants_ns)
        return activities + self._intervals[number].of(begin_ns, end_ns)

    def _hear(self, host: Host) -> None:
        """Answer what one of them was sent."""
        read = os.read(host.reads, 2**16)
        if not read:
            self._ready.unregister(host.reads)
            if host.left:
                self._ready.unregister(host.writes)
            os.close(host.writes)
            return
        *lines, host.line = (host.line + read).split(b"\n")
        for line in lines:
            if line.startswith(_CLOCK):
                now_ns = time.monotonic_ns()
                question = int(line[len(_CLOCK) : -1])
                self._say(host, self._clock.of(question, now_ns, now_ns))
                continue
            word = msgspec.json.decode(line)
            if "run" in word:
                self._say(host, self._plain["hello"] + self._plain["part_connected"])
            elif "begin_at" in word:
                host.begin_ns = word["begin_at"]
                self._say(host, self._started.of(host.begin_ns))
                self._say(host, self._plain["part_begun"])

    def _say(self, host: Host, raw: bytes) -> None:
        is_waiting = bool(host.left)
        host.left += raw
        if not is_waiting:
            self._write(host)

    def _write(self, host: Host) -> None:
        """Write what the pipe takes, and the rest when it takes more."""
        was_registered = host.writes in self._ready.get_map()
        try:
            host.left = host.left[os.write(host.writes, host.left) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            host.left = b""
        if host.left and not was_registered:
            self._ready.register(host.writes, selectors.EVENT_WRITE, host)
        if not host.left and was_registered:
            self._ready.unregister(host.writes)


def main(path: str, *pipes: str) -> None:
    """Say what was said, for all of these."""
    said = [_decode(raw) for raw in _decode(Path(path).read_bytes())]
    Hosts(said, [Host(*map(int, pair.split(":"))) for pair in pipes]).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
