"""How long a command takes that only looks something up: what a user waits for at each call.

Processes that start are the part of a host's speed that drifts most, so a Python that does nothing
starts in turn with the commands, and the ratio to it is printed beside the bound. The best of all
turns counts: whatever else the host did made others longer, none shorter.
"""

import sys
from collections.abc import Mapping, Sequence

from bench.ceiling import Report
from bench.process import run_to_end
from bench.tool import dbdyno_path

NAME = "start-up"
TURNS = 20
WITHIN_MS = 150


def measure(report: Report) -> None:
    """Measures in turn an empty program and the commands that have a bound."""
    commands: Mapping[str, Sequence[str]] = {
        "empty": (sys.executable, "-c", "pass"),
        "--help": (dbdyno_path(), "--help"),
        "runs": (dbdyno_path(), "runs"),
    }
    best_ms = dict.fromkeys(commands, float("inf"))
    for _ in range(TURNS):
        for name, command in commands.items():
            best_ms[name] = min(best_ms[name], 1000 * run_to_end(command).elapsed_s)
    empty_ms = best_ms.pop("empty")
    for name, taken_ms in best_ms.items():
        text = f"{taken_ms:.0f} ms, {taken_ms / empty_ms:.1f} × an empty program"
        report(f"{NAME}: dbdyno {name}", text, taken_ms < WITHIN_MS)
