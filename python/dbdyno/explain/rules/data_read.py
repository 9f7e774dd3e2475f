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

from msgspec import Struct

from dbdyno.analysis.bounds import cached_share
from dbdyno.analysis.budget import Budget
from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.session_samples import client_time_s
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import (
    LackingError,
    committed,
    grown,
    growth_if_reported,
    reported_waits,
    server_facts,
)
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_of_waits
from dbdyno.explain.settings import size_bytes
from dbdyno.formatting import milliseconds, percent, significant, size
from dbdyno.model.record import Finding

# Prefixes of the waits of sessions that read, or wait for another to read the same page.
_READ_EVENTS = (
    "datafileread",
    "bufferio",
    "buffer_io",
    "aioio",
    "innodb/innodb_data_file read",
    "pread",  # as the kernel of the server's host reports it
)
_DATABASE = "pg_stat_database"
_STATUS = "global_status"
_POOL_READS, _POOL_REQUESTS = "Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests"


class _Reads(Struct, frozen=True):
    """Buffers that were not in shared_buffers, and the time it took to read them."""

    per_transaction: float
    hit_share: float
    mean_ms: float
    """0 if the server does not time reads."""
    counted_share: float | None
    seen_share: float | None

    @property
    def is_contradictory(self) -> bool:
        """Reads were counted but no session was seen waiting: they are others', or not visible."""
        if self.seen_share is None or self.counted_share is None:
            return False
        return self.seen_share < NOTICED <= self.counted_share - self.seen_share

    @property
    def share(self) -> float:
        """Share of client time; the sampled one takes precedence over the counted one."""
        return self.counted_share or 0.0 if self.seen_share is None else self.seen_share


def look(case: Case) -> Outcome:
    """Examine both measurements, if there are two."""
    reads = _reads(case)
    if reads.seen_share is None and reads.counted_share is None:
        timing = database_of(case).read_timing
        raise LackingError(f"neither waits nor read times were recorded ({timing} is off)")
    if reads.is_contradictory:
        raise LackingError(
            f"the server counted reads for {percent(reads.counted_share or 0.0)} of client time, "
            f"the session samples show {percent(reads.seen_share or 0.0)}: other sessions may have "
            "read, or waits for reads are not reported"
        )
    if reads.share < NOTICED:
        return NotFound(
            f"{percent(reads.hit_share)} of buffers were in the cache, and reading the others "
            f"took {percent(reads.share)} of client time"
        )
    return _finding(case, reads)


def _reads(case: Case) -> _Reads:
    read, hit, read_ms = _of_innodb(case) if case.protocol == MYSQL else _of_database(case)
    budget = reported_waits(case)
    client_ms = client_time_s(case.recording) * 1e3
    return _Reads(
        per_transaction=read / committed(case),
        hit_share=hit / max(hit + read, 1.0),
        mean_ms=read_ms / max(read, 1.0),
        counted_share=read_ms / client_ms if read_ms and client_ms else None,
        seen_share=_seen_share(budget) if budget else None,
    )


def _of_database(case: Case) -> tuple[float, float, float]:
    """Pages read and found, and the milliseconds of the reads."""
    read, hit, read_ms = (
        grown(case, _DATABASE, name) for name in ("blks_read", "blks_hit", "blk_read_time")
    )
    return read, hit, read_ms


def _of_innodb(case: Case) -> tuple[float, float, float]:
    """The same for InnoDB; reads are timed if the performance schema is on."""
    read, requests = (grown(case, _STATUS, name) for name in (_POOL_READS, _POOL_REQUESTS))
    read_us = growth_if_reported(case, "file_io", "read_us", "innodb_data_file") or 0.0
    return read, max(requests - read, 0.0), read_us / 1e3


def _seen_share(budget: Budget) -> float:
    waits = (part for part in budget.parts if part.wait_event.lower().startswith(_READ_EVENTS))
    return sum(part.seconds for part in waits) / budget.total


def _finding(case: Case, reads: _Reads) -> Finding:
    cache, cache_setting = _cache_text(case), database_of(case).cache_setting
    agree = reads.counted_share is not None and reads.seen_share is not None
    return found(
        f"Each transaction waits for {significant(reads.per_transaction)} pages from storage: "
        f"{percent(reads.share)} of client time.",
        share=reads.share,
        share_of="client time",
        certainty="sure" if agree and (reads.counted_share or 0.0) >= NOTICED else "likely",
        evidence={
            "reads_per_transaction": reads.per_transaction,
            "hit_share": reads.hit_share,
            "read_ms": reads.mean_ms,
            "share_counted": reads.counted_share,
            "share_seen": reads.seen_share,
        },
        seen=[
            f"Cache hit ratio ({cache_setting}): {percent(reads.hit_share)}.",
            *([f"A read took {milliseconds(reads.mean_ms)} on average."] * bool(reads.mean_ms)),
            *cache,
        ],
        why="A client that waits for storage keeps its locks and its connection meanwhile.",
        advice=[
            f"Raise {cache_setting} towards the size of the data that the statements touch, or use "
            "faster storage.",
            "Touch fewer pages: narrower rows, a covering index, keys that repeat.",
        ],
        gain=gain_of_waits(case, reads.share),
        refute=f"Run again with {cache_setting} above the size of the data: the reads must "
        "disappear.",
    )


def _cache_text(case: Case) -> list[str]:
    """The cache against all that the statements could touch, if both are known."""
    try:
        facts = server_facts(case)
        setting = database_of(case).cache_setting
        cache = size_bytes(facts, setting)
    except LackingError:
        return []
    touched = sum(
        table.bytes + sum(index.bytes for index in table.indexes) for table in facts.tables
    )
    if not touched:
        return []
    return [
        f"{setting} is {size(cache)}, the tables and indexes of the statements are "
        f"{size(touched)}: with uniform keys it holds {percent(cached_share(cache, touched))}."
    ]


RULE = Rule(
    id="data_read",
    title="Read-bound: the working set exceeds the cache",
    look=look,
    accounts_for=frozenset({"io"}),
)
