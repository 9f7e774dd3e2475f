"""The checkpoints of a run, from the server's log or, without it, from its counters.

The log gives begin, end and phases to the millisecond. Counters show a checkpoint when it is over,
to the second in which they are read: its begin is computed from the time spent writing and syncing,
so pauses between these two phases are not included.

Whether a run with writes contained a whole checkpoint, and how long it must be if not.

A run between two checkpoints pays neither for the full-page images after a checkpoint nor for its
writes and syncs: its numbers are those of a server that never checkpoints.
"""

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from dbdyno.analysis.events.run_event import Entry, RunEvent, end_of_run_s, entries
from dbdyno.analysis.series.readings import growth, total, was_read
from dbdyno.analysis.series.timeline import completed, timeline
from dbdyno.model.counters import PgCheckpointer, PgDatabase, WalPosition
from dbdyno.model.run import Run, once
from dbdyno.model.telemetry import ServerFacts

UNFINISHED = "checkpoint, unfinished"


def checkpoints(run: Run, end_of_run_s: float) -> list[RunEvent]:
    """All checkpoints that began or ended while telemetry was running.

    Those without an end have the label ``UNFINISHED`` and end with the run.
    """
    begun, ended = (entries(run, f"checkpoint_{part}") for part in ("start", "end"))
    if begun or ended:
        return list(_from_log(begun, ended, end_of_run_s))
    return list(_from_counters(list(_readings(run)), end_of_run_s))


def _from_log(begun: list[Entry], ended: list[Entry], end_of_run_s: float) -> Iterator[RunEvent]:
    """Checkpoints do not overlap, so each end belongs to the last begin before it."""
    open_entry: Entry | None = None
    entries = [(entry, False) for entry in begun] + [(entry, True) for entry in ended]
    for entry, is_end in sorted(entries, key=_log_order):
        if is_end:
            # The begin is computed if it came before the log was followed.
            whole_s, *parts_s = (
                0.0 if math.isnan(number := entry.number(name)) else number
                for name in ("total_s", "write_s", "sync_s")
            )
            begin_s = open_entry.time_s if open_entry else entry.time_s - whole_s
            values = {**(open_entry.values if open_entry else {}), **entry.values}
            yield _finished(begin_s, entry.time_s, parts_s, values)
        open_entry = None if is_end else entry
    if open_entry:
        yield _unfinished(open_entry.time_s, end_of_run_s, open_entry.values)


def _log_order(marked: tuple[Entry, bool]) -> tuple[float, bool]:
    """Sort key: by time; at the same instant the end comes first, unless its begin is there too.

    Under pressure the next checkpoint begins in the millisecond in which the last one ended.
    """
    entry, is_end = marked
    return entry.time_s, not (is_end and entry.number("total_s") > 0)


def _finished(
    begin_s: float, end_s: float, parts_s: list[float], values: dict[str, float | str]
) -> RunEvent:
    write_s, sync_s = parts_s
    synced_from_s = min(begin_s + write_s, end_s)
    return RunEvent(
        kind="checkpoint",
        label=f"checkpoint ({values['reason']})" if "reason" in values else "checkpoint",
        begin_s=begin_s,
        end_s=end_s,
        phases=(
            ("write", begin_s, synced_from_s),
            ("sync", synced_from_s, min(synced_from_s + sync_s, end_s)),
        ),
        values=values,
    )


def _unfinished(begin_s: float, end_s: float, values: dict[str, float | str]) -> RunEvent:
    return RunEvent(
        kind="checkpoint",
        label=UNFINISHED,
        begin_s=begin_s,
        end_s=max(begin_s, end_s),
        values=values,
    )


class _Reading(Struct, frozen=True):
    """Growth of the checkpointer's counters up to an instant."""

    time_s: float
    timed: float
    requested: float
    write_s: float
    sync_s: float


def _readings(run: Run) -> Iterator[_Reading]:
    """Only the readings in which a checkpoint began or ended."""
    counters = (
        PgCheckpointer.num_timed,
        PgCheckpointer.num_requested,
        PgCheckpointer.write_time,
        PgCheckpointer.sync_time,
    )
    grown = [growth(run, counter) for counter in counters]
    known = [each for each in grown if each is not None]
    if not known:
        return
    timed, requested, write_ms, sync_ms = (each.delta for each in known)
    for place in np.flatnonzero(timed + requested + write_ms + sync_ms).tolist():
        yield _Reading(
            float(known[0].time_s[place]),
            float(timed[place]),
            float(requested[place]),
            float(write_ms[place]) / 1000,
            float(sync_ms[place]) / 1000,
        )


def _from_counters(readings: list[_Reading], end_of_run_s: float) -> Iterator[RunEvent]:
    """An end closes the checkpoint that was open; a begin in the same reading opens the next."""
    open_reading: _Reading | None = None
    for reading in readings:
        begins = reading.timed + reading.requested > 0
        took_s = reading.write_s + reading.sync_s
        if took_s:
            values = _reason(open_reading or reading) | {
                "write_s": reading.write_s,
                "sync_s": reading.sync_s,
            }
            parts_s = [reading.write_s, reading.sync_s]
            yield _finished(reading.time_s - took_s, reading.time_s, parts_s, values)
            open_reading = reading if open_reading and begins else None
        elif begins:
            open_reading = reading
    if open_reading:
        yield _unfinished(open_reading.time_s, end_of_run_s, _reason(open_reading))


def _reason(reading: _Reading) -> dict[str, float | str]:
    return {"reason": "time" if reading.timed else "requested"}


# Written rows per transaction: fewer are the server's own, such as table statistics.
_WRITES_MIN = 0.05
_MEGABYTE = 2**20
_ROWS = (PgDatabase.tup_inserted, PgDatabase.tup_updated, PgDatabase.tup_deleted)


class MissingCycle(Struct, frozen=True):
    """No checkpoint both began and ended; one comes every ``every_s``, for this ``reason``.

    ``needed_s`` is how long a run must be to contain a whole checkpoint wherever it starts. All
    fields are None if the server's settings were not recorded.
    """

    every_s: float | None
    needed_s: float | None
    reason: str | None


@once
def missing_cycle(run: Run) -> MissingCycle | None:
    """None if there was a whole one, if next to nothing was written, or if nothing is known.

    A run that ended before its first interval did is not judged.
    """
    end_s = end_of_run_s(timeline(run))
    if not end_s or not was_read(run, PgCheckpointer.source):
        return None
    written = sum(total(run, counter, "") or 0.0 for counter in _ROWS)
    if written <= _WRITES_MIN * completed(run):
        return None
    whole = [
        event
        for event in checkpoints(run, end_s)
        if event.label != UNFINISHED and event.begin_s >= 0 and event.end_s <= end_s
    ]
    return None if whole else _expected(run, end_s)


def _expected(run: Run, duration_s: float) -> MissingCycle:
    """The earlier of timeout and size limit: max_wal_size / (1 + target) since the last checkpoint.

    (PostgreSQL manual, *WAL Configuration*.) A checkpoint takes the fraction
    checkpoint_completion_target of the time to the next one, so 1 + target times that time contains
    a whole one. The server reports these settings in seconds and megabytes.
    """
    settings = (run.before or run.after or ServerFacts()).settings
    try:
        timeout_s, target = (
            float(settings[f"checkpoint_{name}"]) for name in ("timeout", "completion_target")
        )
        max_wal_bytes = float(settings["max_wal_size"]) * _MEGABYTE
    except (KeyError, ValueError):
        return MissingCycle(None, None, None)
    rate = (total(run, WalPosition.bytes) or 0.0) / duration_s
    full_s = max_wal_bytes / (1 + target) / rate if rate else timeout_s
    reason = f"max_wal_size at {rate / 1e6:.1f} MB of WAL a second"
    every_s, why = min((timeout_s, "checkpoint_timeout"), (full_s, reason))
    return MissingCycle(every_s, (1 + target) * every_s, why)
