"""Starts a real agent, and passes on what it says, spoiled.

With the name of a kind of frame, all bytes in these are rubbish; with ``endless`` before that name,
the first one is said again and again. With ``early``, it is connected before it says hello; with
``ahead``, its intervals are of an hour later; with ``more``, it has done more transactions than it
has begun; with ``other``, it is of another architecture, and so
of another build.
"""

import subprocess
import sys

import msgspec

HOUR_NS = 3600 * 10**9


def spoiled(value: object) -> object:
    if isinstance(value, dict):
        return {name: spoiled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spoiled(part) for part in value]
    return b"rubbish" if isinstance(value, bytes) else value


def say(frame: object) -> None:
    raw = msgspec.msgpack.encode(frame)
    sys.stdout.buffer.write(len(raw).to_bytes(4, "little") + raw)
    sys.stdout.buffer.flush()


def main(how: str, endless: str = "") -> None:
    agent = [sys.executable, "-m", "dbdyno", "agent"]
    with subprocess.Popen(agent, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while length := process.stdout.read(4):
            raw = process.stdout.read(int.from_bytes(length, "little"))
            frame = msgspec.msgpack.decode(raw)
            if frame["kind"] == how:
                frame = spoiled(frame)
            if frame["kind"] == "hello" and how == "early":
                say({"kind": "part_connected"})
            if frame["kind"] == "greeting" and how == "other":
                frame |= {"architecture": "s390x", "build": "0123456789abcdef"}
            if frame["kind"] == "part_interval" and how == "ahead":
                frame |= {name: frame[name] + HOUR_NS for name in ("begin_ns", "end_ns")}
            if frame["kind"] == "part_interval" and how == "more":
                frame["tally"]["counters"]["ok"] += 10**6
            say(frame)
            while frame["kind"] == endless:
                say(frame)


if __name__ == "__main__":
    main(*sys.argv[1:])
