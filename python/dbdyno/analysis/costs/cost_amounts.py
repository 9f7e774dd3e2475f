"""The amounts that a run used in each measured interval: the numerators of all costs.

A new cost is a row here: where its counters are, and its title. What a server does not count is
absent, which is not the same as 0.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from dbdyno.analysis.events.wal import wal
from dbdyno.analysis.series.alignment import Intervals, over_intervals
from dbdyno.analysis.series.readings import Growth, growth, objects, was_read
from dbdyno.analysis.statistics.estimate import Ratio, Series
from dbdyno.model.counters import (
    Counter,
    GlobalStatus,
    PgBgwriter,
    PgCheckpointer,
    PgDatabase,
    PgIo,
    PgStatements,
    PgWal,
    Processes,
    WalPosition,
)
from dbdyno.model.record import CostRecord
from dbdyno.model.run import Run

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
    counters: tuple[Counter, ...]
    of: str = ""
    without: tuple[Counter, ...] = ()
    formerly: tuple[Counter, ...] = ()


# Sources whose counters are current at the instant they are read.
_PROMPT = frozenset({Processes.source, GlobalStatus.source})

_WRITTEN_ROWS = (PgDatabase.tup_inserted, PgDatabase.tup_updated, PgDatabase.tup_deleted)
_ROWS_READ = (
    GlobalStatus.Handler_read_first,
    GlobalStatus.Handler_read_key,
    GlobalStatus.Handler_read_last,
    GlobalStatus.Handler_read_next,
    GlobalStatus.Handler_read_prev,
    GlobalStatus.Handler_read_rnd,
    GlobalStatus.Handler_read_rnd_next,
)

_SERVER = (
    _Counted(
        "server_cpu_us",
        "Server CPU",
        "µs",
        (Processes.cpu_us,),
        "server",
        formerly=(Processes.user_us, Processes.system_us),
    ),
    _Counted("wal_records", "WAL records", "", (PgWal.wal_records,)),
    _Counted("buffers_hit", "Buffers hit", "", (PgDatabase.blks_hit,)),
    _Counted("buffers_read", "Buffers read", "", (PgDatabase.blks_read,)),
    _Counted("buffers_dirtied", "Buffers dirtied", "", (PgStatements.shared_blks_dirtied,)),
    _Counted("rows_scanned", "Rows scanned", "", (PgDatabase.tup_returned,)),
    _Counted("rows_written", "Rows written", "", _WRITTEN_ROWS),
    _Counted(
        "voluntary_switches",
        "Voluntary context switches",
        "",
        (Processes.voluntary_switches,),
        "server",
    ),
    _Counted(
        "involuntary_switches",
        "Involuntary context switches",
        "",
        (Processes.involuntary_switches,),
        "server",
    ),
)

# The same costs under the names of MariaDB and MySQL, and those that only they have.
_SERVER_INNODB = (
    _Counted(
        "buffers_hit",
        "Buffers hit",
        "",
        (GlobalStatus.Innodb_buffer_pool_read_requests,),
        without=(GlobalStatus.Innodb_buffer_pool_reads,),
    ),
    _Counted("buffers_read", "Buffers read", "", (GlobalStatus.Innodb_pages_read,)),
    _Counted("buffers_written", "Buffers written", "", (GlobalStatus.Innodb_pages_written,)),
    _Counted(
        "doublewrite_pages", "Doublewrite pages", "", (GlobalStatus.Innodb_dblwr_pages_written,)
    ),
    _Counted(
        "rows_scanned",
        "Rows scanned",
        "",
        _ROWS_READ,
    ),
    _Counted(
        "rows_written",
        "Rows written",
        "",
        (GlobalStatus.Handler_write, GlobalStatus.Handler_update, GlobalStatus.Handler_delete),
    ),
    _Counted("binlog_bytes", "Binary log", "bytes", (GlobalStatus.Binlog_bytes_written,)),
    _Counted("fsyncs", "fsyncs", "", (GlobalStatus.Innodb_data_fsyncs,)),
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
        *(each.id for each in (*_SERVER, *_SERVER_INNODB)),
        *_WAL_COSTS,
        *_WRITTEN_COSTS,
        *(each[0] for each in _ENGINE),
    ]
)
"""All costs that may have been counted, whatever the server."""


def cost_amounts(run: Run, intervals: Intervals) -> list[CostAmount]:
    """All amounts that were counted, the server's first."""
    buffers_written = _buffers_written(run, intervals)
    # Of the WAL (``pg_stat_wal``, from 18 in ``pg_stat_io``) and, from 16, of data files.
    of_wal = _sum(run, intervals, (PgWal.wal_sync,))
    of_files = _sum(run, intervals, (PgIo.fsyncs,), None)
    fsyncs = of_wal if np.isnan(of_files).all() else of_files + np.nan_to_num(of_wal)
    found = [
        *(_counted(run, intervals, each) for each in (*_SERVER, *_SERVER_INNODB)),
        *_wal(run, intervals),
        CostAmount("buffers_written", "Buffers written", "", "server", buffers_written),
        CostAmount("fsyncs", "fsyncs", "", "server", fsyncs),
    ]
    for cost, title, unit, side, column in _ENGINE:
        amount = intervals.of(getattr(run.intervals, column))
        own = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, amount)
        if amount.any():  # otherwise it did not count this kind
            found.append(CostAmount(cost, title, unit, side, amount, own, is_prompt=True))
    return [numerator for numerator in found if not np.isnan(numerator.amount).all()]


def _counted(run: Run, intervals: Intervals, of: _Counted) -> CostAmount:
    grown = growth(run, of.counters[0], of.of)
    counters = of.formerly if of.formerly and not (grown and grown.delta.any()) else of.counters
    amount, without = (_sum(run, intervals, these, of.of) for these in (counters, of.without))
    return CostAmount(
        of.id,
        of.title,
        of.unit,
        "server",
        amount - without,
        readings=growth(run, counters[0], of.of),
        is_prompt=counters[0].source in _PROMPT,
    )


def _wal(run: Run, intervals: Intervals) -> Iterator[CostAmount]:
    """WAL bytes, full-page image bytes among them, and the rest, which is the records proper.

    All three are over the same intervals, so that the parts add up to the whole.
    """
    written = wal(run, intervals)
    position = growth(run, WalPosition.bytes)
    note = " (estimated)" if written.is_estimated else ""
    log = run.database.terms.log
    records = written.bytes - written.image_bytes
    whole = written.bytes if np.isnan(records).all() else records + written.image_bytes
    for cost, title, amount in (
        ("wal_bytes", log[0].upper() + log[1:], whole),
        ("wal_record_bytes", f"WAL of records{note}", records),
        ("wal_full_page_bytes", f"WAL of full-page images{note}", written.image_bytes),
    ):
        is_prompt = position is not None and amount is whole
        yield CostAmount(cost, title, "bytes", "server", amount, position, is_prompt)
    yield CostAmount("full_page_images", "Full-page images", "", "server", written.images)


def _buffers_written(run: Run, intervals: Intervals) -> Series:
    """Pages of relations written, by whichever process.

    ``pg_stat_io`` has them from PostgreSQL 16, in bytes from 18 because one write may cover several
    pages. Before 16 three kinds of processes have counters of their own.
    """
    if not was_read(run, PgIo.source):
        by_others = (PgBgwriter.buffers_clean, PgBgwriter.buffers_backend)
        by_checkpointer = (PgCheckpointer.buffers_written,)
        return _sum(run, intervals, by_others) + _sum(run, intervals, by_checkpointer)
    relations = [of for of in objects(run, PgIo.source) if "/relation/" in of]
    in_bytes, writes = (
        sum(
            (_sum(run, intervals, (counter,), of) for of in relations),
            np.zeros(len(intervals.begin_s)),
        )
        for counter in (PgIo.write_bytes, PgIo.writes)
    )
    return in_bytes / run.database.page_bytes if np.nansum(in_bytes) else writes


def _sum(
    run: Run,
    intervals: Intervals,
    counters: tuple[Counter, ...],
    of: str | None = "",
) -> Series:
    """Sum of the counters in each interval; NaN where they were not read."""
    amount = np.zeros(len(intervals.begin_s))
    for counter in counters:
        grown = growth(run, counter, of)
        if grown is None or (of and of not in objects(run, counter.source)):
            return np.full_like(amount, np.nan)
        amount += over_intervals(grown, intervals)
    return amount
