"""The event type, and helpers for the modules that find events."""

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from dbdyno.analysis.series.timeline import Timeline
from dbdyno.model.run import Run
from dbdyno.model.tables import rows

EventKind: TypeAlias = Literal[
    "checkpoint", "autovacuum", "wal_switch", "stall", "dip", "level", "deadlock", "outage"
]


class RunEvent(Struct, frozen=True, kw_only=True):
    """Something with a begin and an end, in seconds since the end of the warm-up.

    ``depth`` is the share of the usual throughput that was missing during the event, None if that
    is not known. ``phases`` are parts (name, begin, end) such as a checkpoint's write and sync.
    ``values`` are those that its source reported, with units in the names.
    """

    kind: EventKind
    label: str
    begin_s: float
    end_s: float
    depth: float | None = None
    phases: tuple[tuple[str, float, float], ...] = ()
    values: dict[str, float | str] = {}


class Entry(Struct, frozen=True):
    """A line of the server's log."""

    time_s: float
    values: dict[str, float | str]

    def number(self, name: str) -> float:
        """A numeric value; NaN if the line does not have it."""
        value = self.values.get(name)
        return value if isinstance(value, (int, float)) else math.nan


def entries(run: Run, topic: str) -> list[Entry]:
    """The lines of one topic, in order of time."""
    log = run.log_entries
    wanted = log.topic == topic
    found = [
        Entry(time_s, msgspec.json.decode(values or "{}"))
        for time_s, values in rows(log.time_s[wanted], log.values[wanted])
    ]
    return sorted(found, key=lambda entry: entry.time_s)


def end_of_run_s(timeline: Timeline) -> float:
    """The end of the last interval."""
    return float((timeline.time_s + timeline.seconds).max(initial=0.0))


def joined(found: Iterable[RunEvent], gap_s: float) -> list[RunEvent]:
    """Merge events of one label that overlap or nearly touch; the values are those of the first.

    ``count`` is the number of merged events.
    """
    whole: list[RunEvent] = []
    for event in sorted(found, key=lambda event: (event.label, event.begin_s)):
        last = whole[-1] if whole else None
        if last and last.label == event.label and event.begin_s <= last.end_s + gap_s:
            count = sum(float(one.values.get("count", 1)) for one in (last, event))
            end_s, values = max(last.end_s, event.end_s), last.values | {"count": count}
            whole[-1] = msgspec.structs.replace(last, end_s=end_s, values=values)
        else:
            whole.append(event)
    return whole
