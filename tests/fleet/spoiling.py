"""Starts a real agent, and passes on what it says, spoiled.

With the name of a kind of frame, all bytes in these are rubbish; with ``early``, it is connected
before it says hello.
"""

import subprocess
import sys

import msgspec


def spoiled(value: object) -> object:
    if isinstance(value, dict):
        return {name: spoiled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spoiled(part) for part in value]
    return b"rubbish" if isinstance(value, bytes) else value


def main(kind: str) -> None:
    agent = [sys.executable, "-m", "dbdyno", "agent"]
    with subprocess.Popen(agent, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while length := process.stdout.read(4):
            raw = process.stdout.read(int.from_bytes(length, "little"))
            frame = msgspec.msgpack.decode(raw)
            if frame["kind"] == kind:
                raw = msgspec.msgpack.encode(spoiled(frame))
            if frame["kind"] == "hello" and kind == "early":
                early = msgspec.msgpack.encode({"kind": "part_connected"})
                sys.stdout.buffer.write(len(early).to_bytes(4, "little") + early)
            sys.stdout.buffer.write(len(raw).to_bytes(4, "little") + raw)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
