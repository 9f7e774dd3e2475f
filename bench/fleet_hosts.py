"""Stands for many agents of one load, in one process: each says again what a real one has said.

``python -m bench.fleet_hosts FRAMES FD:FD …``: for each agent the number of the pipe that it reads,
and of that which it writes. Its intervals are those of the real one, at the times of this load.
"""

import os
import selectors
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


class Host:
    """One of them: its pipes, and what it was sent of a line."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads, self.writes, self.line = reads, writes, b""
        self.begin_ns = 0
        """When its load begins, by what it takes for its clock."""

    def say(self, raw: bytes) -> None:
        """Write a frame."""
        left = memoryview(len(raw).to_bytes(4, "little") + raw)
        while left:
            left = left[os.write(self.writes, left) :]


def main(path: str, *pipes: str) -> None:
    """Answer until every input has ended."""
    said = [_decode(raw) for raw in _decode(Path(path).read_bytes())]
    first = {frame["kind"]: frame for frame in said}
    intervals = [frame for frame in said if frame["kind"] == "part_interval"]
    step_ns = intervals[0]["end_ns"] - intervals[0]["begin_ns"]
    hosts = [Host(*map(int, pair.split(":"))) for pair in pipes]
    ready = selectors.DefaultSelector()
    for host in hosts:
        ready.register(host.reads, selectors.EVENT_READ, host)
        host.say(_encode(first["greeting"]))
    sent = 0
    while ready.get_map():
        begin_ns = max(host.begin_ns for host in hosts)
        due_ns = begin_ns + (sent + 1) * step_ns
        is_over = not begin_ns or sent > len(intervals)
        wait_s = 1.0 if is_over else max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
        for key, _ in ready.select(wait_s):
            _heard(key.data, ready, first)
        if is_over or time.monotonic_ns() < due_ns:
            continue
        for host in hosts:
            host.say(_at(host, intervals, sent, step_ns) or _encode(first["done"]))
        sent += 1


def _at(host: Host, intervals: Sequence[Any], number: int, step_ns: int) -> bytes | None:
    """An interval at its time; nothing after the last one."""
    if number == len(intervals):
        return None
    begin_ns = host.begin_ns + number * step_ns
    return _encode(intervals[number] | {"begin_ns": begin_ns, "end_ns": begin_ns + step_ns})


def _heard(host: Host, ready: selectors.BaseSelector, first: dict[str, Any]) -> None:
    """Answer what one of them was sent."""
    read = os.read(host.reads, 2**16)
    if not read:
        ready.unregister(host.reads)
        os.close(host.writes)
        return
    *lines, host.line = (host.line + read).split(b"\n")
    for line in lines:
        word = msgspec.json.decode(line)
        if "clock" in word:
            now_ns = time.monotonic_ns()
            answer = {"kind": "clock", "question": word["clock"]}
            host.say(_encode(answer | {"received_ns": now_ns, "sent_ns": now_ns}))
        elif "run" in word:
            for kind in ("hello", "part_connected"):
                host.say(_encode(first[kind]))
        elif "begin_at" in word:
            host.begin_ns = word["begin_at"]
            host.say(_encode(first["started"] | {"monotonic_ns": host.begin_ns, "late_ns": 0}))


if __name__ == "__main__":
    main(*sys.argv[1:])
