"""Tools that take turns of a fraction of a second on one server.

The speed of a host drifts within seconds by more than the tools differ, so runs one after the other
compare hosts rather than tools. Here all tools are connected all the time; one runs, the others are
stopped (SIGSTOP), and after a slice it is another's turn. Drift then affects all alike.

Each tool needs tables of its own: a tool that is stopped within a transaction keeps its row locks.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.process import Finished, Process, started
from dbdyno.errors import DbdynoError

SLICE_S = 0.4
"""Hundreds of times as long as a stop takes to act, and a fraction of what drift takes."""
SETTLING_S = 0.5
"""After their connections, tools prepare statements. They have this, and as long as they took until
then: a tool that is stopped before its load has begun may give up."""
ALONE_S = 3
"""Each tool's load ends in a turn of its own: later than that of the tool before it by this, and by
what the clients of that tool may need to disconnect. dbdyno counts the rows before it ends, which
takes InnoDB more than a second beside transactions that are stopped."""
CONNECTING_AT_MOST_S = 60.0
POLL_S = 0.05


@dataclass(frozen=True)
class Entry:
    """A tool's command line for a load of so many seconds, and whether its clients have connected.

    ``connecting_s`` is about how long they need, and disconnecting takes no longer. What it checks
    before and after its load counts as connecting. If they need longer, the load gets shorter.
    """

    command: Callable[[int], Sequence[str]]
    has_connected: Callable[[], bool]
    connecting_s: float


@dataclass(frozen=True)
class Turns:
    """A tool that has succeeded, and what its turns took, without start and end of the tool."""

    finished: Finished
    cpu_s: float
    running_s: float


def take_turns(entries: Sequence[Entry], seconds: float) -> list[Turns]:
    """Runs all, each for about this many seconds without its stops.

    A DbdynoError if a tool fails, or if its load did not end in its own turn.
    """
    starts_s = sum(2 * entry.connecting_s + SETTLING_S for entry in entries)
    alternate_until = time.monotonic() + starts_s + seconds * len(entries)
    with ExitStack() as stack:
        runs: list[Process] = []
        loads_end_at: list[float] = []
        turn_begins_at = alternate_until
        for entry in entries:
            began_at = time.monotonic()
            load_s = math.ceil(turn_begins_at + ALONE_S - began_at)
            run = stack.enter_context(started(entry.command(load_s)))
            _await_connections(run, entry)
            connected_at = time.monotonic()
            loads_end_at.append(connected_at + load_s)
            turn_begins_at = loads_end_at[-1] + entry.connecting_s
            time.sleep(connected_at - began_at + SETTLING_S)
            run.stop()
            runs.append(run)
        if time.monotonic() > alternate_until:
            raise _too_slow("the tools needed longer to connect than they were to run")
        before_s = [run.cpu_s for run in runs]
        running_s = _alternate(runs, alternate_until)
        cpu_s = [run.cpu_s - before for run, before in zip(runs, before_s, strict=True)]
        finished = map(_last_turn, runs, loads_end_at)
        return [Turns(*each) for each in zip(finished, cpu_s, running_s, strict=True)]


def _await_connections(process: Process, entry: Entry) -> None:
    patience_ends_at = time.monotonic() + CONNECTING_AT_MOST_S
    while not entry.has_connected():
        if process.has_ended:
            process.finish()
            raise DbdynoError("tool_idle", "the tool ended before its clients connected", "")
        if time.monotonic() > patience_ends_at:
            text = f"the tool's clients have not connected within {CONNECTING_AT_MOST_S:.0f} s"
            raise DbdynoError("tool_idle", text, "check the server's limit of connections")
        time.sleep(POLL_S)


def _alternate(runs: Sequence[Process], until: float) -> list[float]:
    """A slice for each, in an order drawn anew each time: no periodic event favours one.

    Returns how many seconds each was running.
    """
    chance = random.Random(1)
    order = list(range(len(runs)))
    running_s = [0.0] * len(runs)
    while time.monotonic() < until:
        chance.shuffle(order)
        for number in order:
            began_at = time.monotonic()
            runs[number].go_on()
            time.sleep(SLICE_S)
            runs[number].stop()
            running_s[number] += time.monotonic() - began_at
    return running_s


def _last_turn(run: Process, load_ends_at: float) -> Finished:
    """Runs until its end; a load that ended during a stop would have an unknown length."""
    if time.monotonic() > load_ends_at - SETTLING_S:
        raise _too_slow("a tool's load ended while it was stopped")
    run.go_on()
    return run.finish()


def _too_slow(what: str) -> DbdynoError:
    hint = "measure this part alone, with nothing else on the host"
    return DbdynoError("turn_missed", f"the host is too slow: {what}", hint)
