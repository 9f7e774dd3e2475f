"""Starts a real agent, and passes on what it says, spoiled.

With the name of a kind of frame, all bytes in these are rubbish; with ``endless`` before that name,
the first one is said again and again. With ``early``, it is connected before it says hello; with
``ahead``, its intervals are of an hour later; with ``more``, it has done more transactions than it
has begun; with ``other``, it is of another architecture, and so of another build; with ``mute`` and
the name of a kind, it only answers from the first of these on; with ``printing``, it prints much;
with ``outages``, two of its threads lose their connections, and the first one has them again; with
``telling`` it says something for ever, with ``chatting`` too, and goes on; with ``nested`` lists
within lists, with ``whole`` what a whole load says.
"""

import subprocess
import sys
import threading
import time
from typing import Any

import msgspec

HOUR_NS = 3600 * 10**9
CHAT_EVERY_S = 0.01
saying = threading.Lock()


def spoiled(value: object) -> object:
    if isinstance(value, dict):
        return {name: spoiled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spoiled(part) for part in value]
    return b"rubbish" if isinstance(value, bytes) else value


def say(frame: object) -> None:
    raw = msgspec.msgpack.encode(frame)
    with saying:
        sys.stdout.buffer.write(len(raw).to_bytes(4, "little") + raw)
        sys.stdout.buffer.flush()


def chat() -> None:
    while True:
        say({"kind": "note", "at_ns": time.monotonic_ns(), "source": "engine", "text": "x"})
        time.sleep(CHAT_EVERY_S)


def tell(frame: dict[str, Any]) -> None:
    while True:
        say({"kind": "note", "at_ns": frame["end_ns"], "source": "engine", "text": "x"})


def nest(_frame: dict[str, Any]) -> None:
    raw = b"\x91" * 10**6
    sys.stdout.buffer.write(len(raw).to_bytes(4, "little") + raw)
    sys.stdout.buffer.flush()


def claim_the_whole(_frame: dict[str, Any]) -> None:
    connect = [0] * 10 + [b""]
    connected = {"clients": 1, "connect": connect, "server_version": "", "tls": ""}
    say({"kind": "connected", **connected, "backend_pids": [0]})


BESIDE = {"telling": tell, "nested": nest, "whole": claim_the_whole}
"""What is said beside an interval."""


def changed(frame: dict[str, Any], how: str) -> dict[str, Any]:
    match frame["kind"], how:
        case "greeting", "other":
            return frame | {"architecture": "s390x", "build": "0123456789abcdef"}
        case "part_interval", "ahead":
            return frame | {name: frame[name] + HOUR_NS for name in ("begin_ns", "end_ns")}
        case "part_interval", "more":
            frame["tally"]["counters"]["ok"] += 10**6
        case "part_interval", "printing":
            sys.stderr.write("y\n" * 2**17)
            sys.stderr.flush()
        case "part_interval", "outages":
            first, second = (
                {"kind": "outage_begun", "at_ns": frame["begin_ns"] + number, "message": message}
                for number, message in enumerate(("first", "second"))
            )
            say(first)
            say(second)
            say(
                {
                    "kind": "outage",
                    "begin_ns": first["at_ns"],
                    "end_ns": frame["end_ns"],
                    "connections_lost": 1,
                    "message": "first",
                }
            )
        case "started", "chatting":
            threading.Thread(target=chat, daemon=True).start()
        case "hello", "early":
            say({"kind": "part_connected"})
        case "part_interval", how if how in BESIDE:
            BESIDE[how](frame)
        case kind, _ if kind == how:
            return {name: spoiled(part) for name, part in frame.items()}
    return frame


def main(how: str, kind: str = "") -> None:
    agent = [sys.executable, "-m", "dbdyno", "agent"]
    with subprocess.Popen(agent, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        is_mute = False
        while length := process.stdout.read(4):
            raw = process.stdout.read(int.from_bytes(length, "little"))
            frame = changed(msgspec.msgpack.decode(raw), how)
            is_mute |= frame["kind"] == kind and how == "mute"
            if not is_mute or frame["kind"] == "clock":
                say(frame)
            while frame["kind"] == kind and how == "endless":
                say(frame)


if __name__ == "__main__":
    main(*sys.argv[1:])
