"""What was measured: distributions, counters with their identities, the parts of an interval.

Frames are composed of these; none of them is sent alone.
"""

import struct

from msgspec import Struct
from msgspec.structs import force_setattr

_PACKED = struct.Struct("<HI")


class Distribution(Struct, frozen=True, array_like=True):
    """A latency distribution of one interval.

    The count, sum and extremes are exact; the percentiles have 3 significant digits; the coarse
    buckets are for drawing (:func:`bucket_low_ns`). ``buckets`` is packed little-endian (u16 index,
    u32 count).
    """

    count: int
    sum_ns: int
    min_ns: int
    max_ns: int
    p50_ns: int
    p90_ns: int
    p95_ns: int
    p99_ns: int
    p999_ns: int
    p9999_ns: int
    buckets: bytes

    def coarse_counts(self) -> dict[int, int]:
        """Return the number of values in each coarse bucket that has any, by its index."""
        return dict(_PACKED.iter_unpack(self.buckets))


def bucket_low_ns(index: int) -> int:
    """Return the lower bound of a coarse bucket, where the one before ends. Eight are an octave."""
    return index if index < 8 else (8 + index % 8) << (index // 8 - 1)


class Counters(Struct, frozen=True):
    """Transactions that became due after the end of the warm-up, cumulative.

    ``due = started + skipped + waiting`` · ``started = ok + failed + in_flight + unfinished`` ·
    ``ok = committed + rolled_back + aborted + left_open`` · ``failed = Σ by class`` ·
    ``count(response) = ok``. ``rolled_back`` counts those that the script rolled back, ``aborted``
    those that the server rolled back although they were to be committed, ``left_open`` those that
    ended within a transaction block. ``retried`` counts transactions that needed
    more than one try, ``retries`` the additional tries, ``late`` those of ``ok`` above the latency
    limit.
    """

    due: int
    started: int
    skipped: int
    waiting: int
    ok: int
    failed: int
    in_flight: int
    unfinished: int
    retried: int
    retries: int
    late: int
    committed: int = -1
    """In frames of an older engine, which did not look, all of ``ok``."""
    rolled_back: int = 0
    aborted: int = 0
    left_open: int = 0

    def __post_init__(self) -> None:
        """Older ones do not distinguish."""
        if self.committed < 0:
            force_setattr(self, "committed", self.ok)

    def broken_identity(self, failed_by_class: int, responses: int) -> str | None:
        """Return the first identity that does not hold, with its two sides; None if all do."""
        begun = self.ok + self.failed + self.in_flight + self.unfinished
        identities = {
            "due = started + skipped + waiting": (
                self.due,
                self.started + self.skipped + self.waiting,
            ),
            "started = ok + failed + in_flight + unfinished": (self.started, begun),
            "ok = committed + rolled_back + aborted + left_open": (
                self.ok,
                self.committed + self.rolled_back + self.aborted + self.left_open,
            ),
            "failed = sum by class": (self.failed, failed_by_class),
            "count(response) = ok": (responses, self.ok),
        }
        return next(
            (
                f"{name} does not hold: {left} against {right}"
                for name, (left, right) in identities.items()
                if left != right
            ),
            None,
        )


class Copied(Struct, frozen=True):
    """Rows that COPY moved to the server and from it, and their bytes as sent."""

    copy_in_rows: int = 0
    copy_in_bytes: int = 0
    copy_out_rows: int = 0
    copy_out_bytes: int = 0


class FailureCount(Struct, frozen=True):
    """Failures of one class and code so far, and the first message seen.

    ``statement`` is the one that failed with that message, or was pending when the connection
    broke; None if there was none. ``took_ns`` is the total time of the tries that failed so.
    ``scripts`` are their numbers by script: those after the last one that failed so are left out.
    ``statements`` are pairs of a statement and how many it failed, as far as one did.
    ``unknown`` are those that may have been committed: the connection broke before the answer to
    their COMMIT, or to a statement that commits itself.
    """

    failure_class: str
    code: str
    count: int
    message: str
    statement: int | None = None
    took_ns: int = 0
    scripts: list[int] = []
    statements: list[tuple[int, int]] = []
    unknown: int = 0


class ScriptInterval(Struct, frozen=True):
    """One script's transactions that ended in this interval."""

    ok: int
    failed: int
    skipped: int
    response: Distribution
    service: Distribution | None
    """None if it equals ``response``: each transaction is due when it is sent."""
    committed: int = -1
    """Those of ``ok`` that were committed; in frames of an older engine all."""
    retried: int = 0
    """Measured ones that took more than one try; an older engine does not tell."""

    def __post_init__(self) -> None:
        """Older ones do not distinguish."""
        if self.committed < 0:
            force_setattr(self, "committed", self.ok)


class EngineInterval(Struct, frozen=True):
    """The engine's own numbers in this interval."""

    cpu_us: int
    """User and system time of the engine process."""
    lateness: Distribution
    """How late a transaction was sent although a client was idle. For open loops: in a closed loop
    a transaction is due when it is sent."""
    bytes_sent: int
    bytes_received: int
    round_trips: int
    voluntary_switches: int
    involuntary_switches: int
    paused_us: int = 0
    """For how long the engine stood still: stopped, frozen, or without CPU."""


class SlowTransaction(Struct, frozen=True):
    """One of the slowest transactions of an interval, or the slowest of its script."""

    script: int
    client: int
    number: int
    due_ns: int
    sent_ns: int
    done_ns: int
    tries: int
    statements: list[tuple[int, int]]
    """(statement ID, latency in ns) in the order of execution, of the last try."""


class WindowScript(Struct, frozen=True):
    """Full histograms, HdrHistogram V2 with DEFLATE."""

    response: bytes
    service: bytes | None


class ServerInterval(Struct, frozen=True):
    """What happened in an interval at one of several servers."""

    completed_committed: int
    completed_failed: int
    connects: int
    connects_failed: int
    connections_lost: int


class WorkerInterval(Struct, frozen=True):
    """What one of the engines that share a load counted in an interval, by the common clock."""

    worker: int
    """Its place among the names in ``Hello.workers``."""
    begin_ns: int
    end_ns: int
    completed_ok: int
    completed_committed: int
    completed_failed: int
    in_flight: int
    response: Distribution
    """Of all scripts; without the coarse buckets."""
    lateness_p99_ns: int | None
    """Of the lateness of an open loop."""
    cpu_us: int
    waited_us: int
    """For how long its threads were ready to run and had no CPU, added up."""
    paused_us: int
