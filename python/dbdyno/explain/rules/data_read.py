"""Read-bound: rows come from storage, because they do not fit into the cache.

Looks for: client time in which the server read data files.

Arithmetic: two measurements of the same time. The session samples show it as waits for data files;
and the server counted buffers read, which times the mean read time (track_io_timing,
performance_schema) gives the same share of client time. The working set is at most the tables and
indexes of the statements; the cache size over it is the hit ratio to expect with uniform keys.
Where the server counted reads that no session sample shows, the two contradict each other, and
nothing is reported.

Source: PostgreSQL manual, pg_stat_database (blks_read, blk_read_time); MySQL manual, InnoDB buffer
pool; for the bound King, Proc. IFIP 1971.

Wrong when: the operating system's page cache served the reads (then a read takes microseconds, and
a larger cache saves little), or the cache was still filling: a longer warm-up shows which.
"""

from typing import ClassVar

from dbdyno.analysis.search.bounds import cached_share
from dbdyno.analysis.waits.budget import Budget
from dbdyno.analysis.waits.session_samples import client_time_s
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import (
    LackingError,
    committed,
    grown,
    growth_if_reported,
    needed,
    reported_waits,
    server_facts,
)
from dbdyno.explain.resources.settings import size_bytes
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import milliseconds, percent, significant, size
from dbdyno.model.counters import FileIo, GlobalStatus, PgDatabase
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run

# Prefixes of the waits of sessions that read, or wait for another to read the same page.
_READ_EVENTS = (
    "datafileread",
    "bufferio",
    "buffer_io",
    "aioio",
    "innodb/innodb_data_file read",
    "pread",  # as the kernel of the server's host reports it
)


class DataRead(WaitClaim, frozen=True, kw_only=True):
    """Buffers that were not in the cache, and the time it took to read them."""

    reads_per_transaction: float
    hit_share: float
    read_ms: float
    """0 if the server does not time reads."""
    share_counted: float | None
    share_seen: float | None
    cache_setting: Aside[str]
    cache_bytes: Aside[float] = 0.0
    touched_bytes: Aside[float] = 0.0
    """All tables and indexes of the statements; 0 if this or the cache is not known."""

    @property
    def summary(self) -> str:
        return (
            f"Each transaction waits for {significant(self.reads_per_transaction)} pages from "
            f"storage: {percent(self.share or 0.0)} of client time."
        )

    @property
    def certainty(self) -> Certainty:
        agree = self.share_seen is not None and (self.share_counted or 0.0) >= NOTICED
        return "sure" if agree else "likely"

    @property
    def seen(self) -> list[str]:
        lines = [f"Cache hit ratio ({self.cache_setting}): {percent(self.hit_share)}."]
        if self.read_ms:
            lines.append(f"A read took {milliseconds(self.read_ms)} on average.")
        if self.touched_bytes:
            held = cached_share(self.cache_bytes, self.touched_bytes)
            lines.append(
                f"{self.cache_setting} is {size(self.cache_bytes)}, the tables and indexes of the "
                f"statements are {size(self.touched_bytes)}: with uniform keys it holds "
                f"{percent(held)}."
            )
        return lines

    why: ClassVar[str] = (
        "A client that waits for storage keeps its locks and its connection meanwhile."
    )

    @property
    def advice(self) -> list[str]:
        return [
            f"Raise {self.cache_setting} towards the size of the data that the statements touch, "
            "or use faster storage.",
            "Touch fewer pages: narrower rows, a covering index, keys that repeat.",
        ]

    @property
    def refute(self) -> str:
        return (
            f"Run again with {self.cache_setting} above the size of the data: the reads must "
            "disappear."
        )


def look(run: Run) -> DataRead | NotFound:
    """Examine both measurements, if there are two; the sampled one takes precedence."""
    read, hit, read_ms = _of_innodb(run) if run.database.has("innodb") else _of_database(run)
    budget = reported_waits(run)
    client_ms = client_time_s(run) * 1e3
    counted = read_ms / client_ms if read_ms and client_ms else None
    share = seen = _seen_share(budget) if budget else None
    if seen is None or share is None:
        timing = run.database.terms.read_timing
        unknown = f"neither waits nor read times were recorded ({timing} is off)"
        share = needed(counted, unknown)
    elif counted is not None and seen < NOTICED <= counted - seen:
        raise LackingError(
            f"the server counted reads for {percent(counted)} of client time, "
            f"the session samples show {percent(seen)}: other sessions may have "
            "read, or waits for reads are not reported"
        )
    per_transaction, hit_share = read / committed(run), hit / max(hit + read, 1.0)
    if share < NOTICED:
        return NotFound(
            f"{percent(hit_share)} of buffers were in the cache, and reading the others "
            f"took {percent(share)} of client time"
        )
    cache_bytes, touched_bytes = _cache_and_data(run)
    return DataRead(
        share=share,
        reads_per_transaction=per_transaction,
        hit_share=hit_share,
        read_ms=read_ms / max(read, 1.0),
        share_counted=counted,
        share_seen=seen,
        cache_setting=run.database.terms.cache_setting,
        cache_bytes=cache_bytes,
        touched_bytes=touched_bytes,
        gains=gains_of_waits_in(run),
    )


def _of_database(run: Run) -> tuple[float, float, float]:
    """Pages read and found, and the milliseconds of the reads."""
    return (
        grown(run, PgDatabase.blks_read),
        grown(run, PgDatabase.blks_hit),
        grown(run, PgDatabase.blk_read_time),
    )


def _of_innodb(run: Run) -> tuple[float, float, float]:
    """The same for InnoDB; reads are timed if the performance schema is on."""
    read = grown(run, GlobalStatus.Innodb_buffer_pool_reads)
    requests = grown(run, GlobalStatus.Innodb_buffer_pool_read_requests)
    read_us = growth_if_reported(run, FileIo.read_us, "innodb_data_file") or 0.0
    return read, max(requests - read, 0.0), read_us / 1e3


def _seen_share(budget: Budget) -> float:
    waits = (part for part in budget.parts if part.wait_event.lower().startswith(_READ_EVENTS))
    return sum(part.seconds for part in waits) / budget.total


def _cache_and_data(run: Run) -> tuple[float, float]:
    """Bytes of the cache and of all that the statements could touch; 0 if either is not known."""
    try:
        facts = server_facts(run)
        cache = size_bytes(facts, run.database.terms.cache_setting)
    except LackingError:
        return 0.0, 0.0
    return cache, sum(
        table.bytes + sum(index.bytes for index in table.indexes) for table in facts.tables
    )


RULE = Rule(
    id="data_read",
    title="Read-bound: the working set exceeds the cache",
    look=look,
    accounts_for=frozenset({"io"}),
)
