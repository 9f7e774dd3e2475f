"""The amounts that a run used in each measured interval: the numerators of all costs.

A new cost is a row here: where its counters are, and its title. What a server does not count is
absent, which is not the same as 0.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from dbdyno.analysis.alignment import Intervals, over_intervals
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.protocol import MYSQL, PAGE_BYTES, POSTGRESQL, protocol_of
from dbdyno.analysis.ratios import Ratio
from dbdyno.analysis.readings import Growth, growth, objects, was_read
from dbdyno.analysis.wal import wal
from dbdyno.model.record import CostRecord
from dbdyno.model.recording import Recording

STATUS = "global_status"
LOG_TITLES = {MYSQL: "Redo log"}

CostSide: TypeAlias = Literal["server", "client", "network"]


class CostAmount(Struct, frozen=True):
    """Amount of something used in each measured interval; NaN where not known."""

    id: str
    title: str
    unit: str
    side: CostSide
    amount: Series
    readings: Growth | None = None
    """The readings it comes from, if a single source has them."""
    is_prompt: bool = False
    """Whether a reading was current at its instant, and not published late."""

    def record(self, of: Ratio, script: str = "") -> CostRecord:
        """Return the cost per transaction."""
        return CostRecord(
            id=self.id,
            title=self.title,
            unit=self.unit,
            side=self.side,
            value=of.value,
            low=of.low,
            high=of.high,
            script=script,
        )


class _Counted(Struct, frozen=True):
    """A cost that is the sum of some counters of one object, minus those in ``without``.

    Run folders of older versions may have ``formerly`` in their place.
    """

    id: str
    title: str
    unit: str
    source: str
    names: tuple[str, ...]
    of: str = ""
    without: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()


# Sources whose counters are current at the instant they are read.
_PROMPT = frozenset({"processes", STATUS})

_WRITTEN_ROWS = ("tup_inserted", "tup_updated", "tup_deleted")
_POOL_READS = "Innodb_buffer_pool_reads"
_ROWS_READ = ("first", "key", "last", "next", "prev", "rnd", "rnd_next")

_SERVER = (
    _Counted(
        "server_cpu_us",
        "Server CPU",
        "µs",
        "processes",
        ("cpu_us",),
        "server",
        formerly=("user_us", "system_us"),
    ),
    _Counted("wal_records", "WAL records", "", "pg_stat_wal", ("wal_records",)),
    _Counted("buffers_hit", "Buffers hit", "", "pg_stat_database", ("blks_hit",)),
    _Counted("buffers_read", "Buffers read", "", "pg_stat_database", ("blks_read",)),
    _Counted(
        "buffers_dirtied", "Buffers dirtied", "", "pg_stat_statements", ("shared_blks_dirtied",)
    ),
    _Counted("rows_scanned", "Rows scanned", "", "pg_stat_database", ("tup_returned",)),
    _Counted("rows_written", "Rows written", "", "pg_stat_database", _WRITTEN_ROWS),
    _Counted(
        "voluntary_switches",
        "Voluntary context switches",
        "",
        "processes",
        ("voluntary_switches",),
        "server",
    ),
    _Counted(
        "involuntary_switches",
        "Involuntary context switches",
        "",
        "processes",
        ("involuntary_switches",),
        "server",
    ),
)

# The same costs under the names of MariaDB and MySQL, and those that only they have.
_SERVER_MYSQL = (
    _Counted(
        "buffers_hit",
        "Buffers hit",
        "",
        STATUS,
        ("Innodb_buffer_pool_read_requests",),
        without=(_POOL_READS,),
    ),
    _Counted("buffers_read", "Buffers read", "", STATUS, ("Innodb_pages_read",)),
    _Counted("buffers_written", "Buffers written", "", STATUS, ("Innodb_pages_written",)),
    _Counted("doublewrite_pages", "Doublewrite pages", "", STATUS, ("Innodb_dblwr_pages_written",)),
    _Counted(
        "rows_scanned",
        "Rows scanned",
        "",
        STATUS,
        tuple(f"Handler_read_{how}" for how in _ROWS_READ),
    ),
    _Counted(
        "rows_written",
        "Rows written",
        "",
        STATUS,
        ("Handler_write", "Handler_update", "Handler_delete"),
    ),
    _Counted("binlog_bytes", "Binary log", "bytes", STATUS, ("Binlog_bytes_written",)),
    _Counted("fsyncs", "fsyncs", "", STATUS, ("Innodb_data_fsyncs",)),
)

# What the engine counts about itself, by the names of the table ``intervals``.
_ENGINE: tuple[tuple[str, str, str, CostSide, str], ...] = (
    ("engine_cpu_us", "Engine CPU", "µs", "client", "cpu_us"),
    ("client_voluntary_switches", "Voluntary context switches", "", "client", "voluntary_switches"),
    (
        "client_involuntary_switches",
        "Involuntary context switches",
        "",
        "client",
        "involuntary_switches",
    ),
    ("round_trips", "Round trips", "", "network", "round_trips"),
    ("bytes_sent", "Bytes sent", "bytes", "network", "bytes_sent"),
    ("bytes_received", "Bytes received", "bytes", "network", "bytes_received"),
)

_WAL_COSTS = ("wal_bytes", "wal_record_bytes", "wal_full_page_bytes", "full_page_images")
_WRITTEN_COSTS = ("buffers_written", "fsyncs")

COST_IDS = frozenset(
    [
        *(each.id for each in (*_SERVER, *_SERVER_MYSQL)),
        *_WAL_COSTS,
        *_WRITTEN_COSTS,
        *(each[0] for each in _ENGINE),
    ]
)
"""All costs that may have been counted, whatever the server."""


def cost_amounts(recording: Recording, intervals: Intervals) -> list[CostAmount]:
    """All amounts that were counted, the server's first."""
    buffers_written = _buffers_written(recording, intervals)
    found = [
        *(_counted(recording, intervals, each) for each in (*_SERVER, *_SERVER_MYSQL)),
        *_wal(recording, intervals),
        CostAmount("buffers_written", "Buffers written", "", "server", buffers_written),
        CostAmount("fsyncs", "fsyncs", "", "server", _fsyncs(recording, intervals)),
        *_engine(recording, intervals),
    ]
    return [numerator for numerator in found if not np.isnan(numerator.amount).all()]


def _counted(recording: Recording, intervals: Intervals, of: _Counted) -> CostAmount:
    grown = growth(recording, of.source, of.names[0], of.of)
    names = of.formerly if of.formerly and not (grown and grown.delta.any()) else of.names
    amount, without = (
        _sum(recording, intervals, of.source, these, of.of) for these in (names, of.without)
    )
    return CostAmount(
        of.id,
        of.title,
        of.unit,
        "server",
        amount - without,
        readings=growth(recording, of.source, names[0], of.of),
        is_prompt=of.source in _PROMPT,
    )


def _wal(recording: Recording, intervals: Intervals) -> Iterator[CostAmount]:
    """WAL bytes, full-page image bytes among them, and the rest, which is the records proper.

    All three are over the same intervals, so that the parts add up to the whole.
    """
    written = wal(recording, intervals)
    position = growth(recording, "wal_position", "bytes")
    note = " (estimated)" if written.is_estimated else ""
    log = LOG_TITLES.get(protocol_of(recording.plan), "WAL")
    records = written.bytes - written.image_bytes
    whole = written.bytes if np.isnan(records).all() else records + written.image_bytes
    for cost, title, amount in (
        ("wal_bytes", log, whole),
        ("wal_record_bytes", f"WAL of records{note}", records),
        ("wal_full_page_bytes", f"WAL of full-page images{note}", written.image_bytes),
    ):
        is_prompt = position is not None and amount is whole
        yield CostAmount(cost, title, "bytes", "server", amount, position, is_prompt)
    yield CostAmount("full_page_images", "Full-page images", "", "server", written.images)


def _buffers_written(recording: Recording, intervals: Intervals) -> Series:
    """Pages of relations written, by whichever process.

    ``pg_stat_io`` has them from PostgreSQL 16, in bytes from 18 because one write may cover several
    pages. Before 16 three kinds of processes have counters of their own.
    """
    if not was_read(recording, "pg_stat_io"):
        by_others = ("buffers_clean", "buffers_backend")
        return _sum(recording, intervals, "pg_stat_bgwriter", by_others) + _sum(
            recording, intervals, "pg_stat_checkpointer", ("buffers_written",)
        )
    relations = [of for of in objects(recording, "pg_stat_io") if "/relation/" in of]
    in_bytes, writes = (
        sum(
            (_sum(recording, intervals, "pg_stat_io", (name,), of) for of in relations),
            np.zeros(len(intervals.begin_s)),
        )
        for name in ("write_bytes", "writes")
    )
    return in_bytes / PAGE_BYTES[POSTGRESQL] if np.nansum(in_bytes) else writes


def _fsyncs(recording: Recording, intervals: Intervals) -> Series:
    """Of the WAL (``pg_stat_wal``, from 18 in ``pg_stat_io``) and, from 16, of data files."""
    of_wal = _sum(recording, intervals, "pg_stat_wal", ("wal_sync",))
    of_files = _sum(recording, intervals, "pg_stat_io", ("fsyncs",), None)
    return of_wal if np.isnan(of_files).all() else of_files + np.nan_to_num(of_wal)


def _sum(
    recording: Recording,
    intervals: Intervals,
    source: str,
    names: tuple[str, ...],
    of: str | None = "",
) -> Series:
    """Sum of the counters in each interval; NaN where they were not read."""
    amount = np.zeros(len(intervals.begin_s))
    for name in names:
        grown = growth(recording, source, name, of)
        if grown is None or (of and of not in objects(recording, source)):
            return np.full_like(amount, np.nan)
        amount += over_intervals(grown, intervals)
    return amount


def _engine(recording: Recording, intervals: Intervals) -> Iterator[CostAmount]:
    """The engine's own amounts; all zeros mean that it did not count this kind."""
    table = recording.tables["intervals"]
    for cost, title, unit, side, column in _ENGINE:
        amount = intervals.of(table[column])
        own = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, amount)
        if amount.any():
            yield CostAmount(cost, title, unit, side, amount, own, is_prompt=True)
