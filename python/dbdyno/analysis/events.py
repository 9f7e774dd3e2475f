"""What happened in the run besides the load: each event with begin, end and depth.

From the server's log where it was read, else from its counters, else from the throughput
curve alone (dips and stalls).
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.model.recording import Recording

EventKind: TypeAlias = Literal[
    "checkpoint", "autovacuum", "wal_switch", "stall", "dip", "level", "deadlock", "outage"
]


class RunEvent(Struct, frozen=True, kw_only=True):
    """Something with a begin and an end, in seconds from the end of the warm-up.

    ``depth`` is the share of the usual throughput that was missing while it lasted, None
    where that cannot be said. ``phases`` are parts (name, begin, end) such as a checkpoint's
    write and sync. ``values`` are what its source told, with units in the names.
    """

    kind: EventKind
    label: str
    begin_s: float
    end_s: float
    depth: float | None = None
    phases: tuple[tuple[str, float, float], ...] = ()
    values: dict[str, float | str] = {}


def events(recording: Recording) -> list[RunEvent]:
    """All events, in the order of time."""
    raise NotImplementedError
