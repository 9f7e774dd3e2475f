"""Whether a run with writes contained a whole checkpoint, and how long it must be if not.

A run between two checkpoints pays neither for the full-page images after a checkpoint nor for its
writes and syncs: its numbers are those of a server that never checkpoints.
"""

from collections.abc import Mapping

from msgspec import Struct

from dbdyno.analysis.checkpoint_events import COUNTERS, UNFINISHED, checkpoints
from dbdyno.analysis.readings import total, was_read
from dbdyno.analysis.run_event import end_of_run_s
from dbdyno.analysis.timeline import completed, timeline
from dbdyno.model.recording import Recording

# Written rows per transaction: fewer are the server's own, such as table statistics.
_WRITES_MIN = 0.05
_MEGABYTE = 2**20
_ROWS = ("tup_inserted", "tup_updated", "tup_deleted")


class MissingCycle(Struct, frozen=True):
    """No checkpoint both began and ended; one comes every ``every_s``, for this ``reason``.

    ``needed_s`` is how long a run must be to contain a whole checkpoint wherever it starts. All
    fields are None if the server's settings were not recorded.
    """

    every_s: float | None
    needed_s: float | None
    reason: str | None


def missing_cycle(recording: Recording) -> MissingCycle | None:
    """None if there was a whole one, if next to nothing was written, or if nothing is known.

    A run that ended before its first interval did is not judged.
    """
    end_s = end_of_run_s(timeline(recording))
    if not end_s or not was_read(recording, COUNTERS) or not _wrote(recording):
        return None
    whole = [
        event
        for event in checkpoints(recording, end_s)
        if event.label != UNFINISHED and event.begin_s >= 0 and event.end_s <= end_s
    ]
    return None if whole else _expected(recording, end_s)


def _wrote(recording: Recording) -> bool:
    rows = sum(total(recording, "pg_stat_database", name, "") or 0.0 for name in _ROWS)
    return rows > _WRITES_MIN * completed(recording)


def _expected(recording: Recording, duration_s: float) -> MissingCycle:
    """The earlier of timeout and size limit: max_wal_size / (1 + target) since the last checkpoint.

    (PostgreSQL manual, *WAL Configuration*.) A checkpoint takes the fraction
    checkpoint_completion_target of the time to the next one, so 1 + target times that time contains
    a whole one. The server reports these settings in seconds and megabytes.
    """
    facts = recording.facts.get("before") or recording.facts.get("after") or {}
    settings = _numbers(facts.get("settings", {}))
    if settings is None:
        return MissingCycle(None, None, None)
    timeout_s, max_wal_bytes, target = settings
    rate = (total(recording, "wal_position", "bytes") or 0.0) / duration_s
    full_s = max_wal_bytes / (1 + target) / rate if rate else timeout_s
    reason = f"max_wal_size at {rate / 1e6:.1f} MB of WAL a second"
    every_s, why = min((timeout_s, "checkpoint_timeout"), (full_s, reason))
    return MissingCycle(every_s, (1 + target) * every_s, why)


def _numbers(settings: Mapping[str, str]) -> tuple[float, float, float] | None:
    """checkpoint_timeout in seconds, max_wal_size in bytes, checkpoint_completion_target."""
    try:
        return (
            float(settings["checkpoint_timeout"]),
            float(settings["max_wal_size"]) * _MEGABYTE,
            float(settings["checkpoint_completion_target"]),
        )
    except (KeyError, ValueError):
        return None
