"""LWLock contention: sessions wait for the server's own internal locks.

Looks for: waits of type LWLock, in MariaDB and MySQL for mutexes and latches of InnoDB, by name:
each protects something, which decides what to change. Those of the WAL are reported by
``wal_write``, those for the lock table in a queue for locks with that queue. A wait that
only the kernel reports (futex) has no name: it is a hint, and minor at most.

Arithmetic: the share of client time in such waits, including lock waits behind a holder in such a
wait. Removing them gains a factor of up to 1/(1 − w).

Source: the PostgreSQL manual, wait events of type LWLock; A. Freund, Analyzing the Limits of
Connection Scalability in Postgres, 2020.

Wrong when: the CPU is saturated: a session that loses its core while holding such a lock makes all
others wait, and the cause is the number of clients (see too many connections).
"""

from collections.abc import Mapping
from typing import ClassVar

from dbdyno.analysis.waits.budget import Budget
from dbdyno.analysis.waits.lock_waits import is_at_lock_table
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import client_time
from dbdyno.explain.resources.settings import is_on
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule, at_most, severity_of
from dbdyno.formatting import percent
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

FEWER = "Use fewer connections, through a pool."
# By the event's prefix, in lower case without underscores: what it protects, and what to do.
KNOWN: dict[str, tuple[str, str]] = {
    "buffermapping": (
        "the mapping of pages to buffers",
        "Raise shared_buffers: each page that is read in takes this lock twice.",
    ),
    "buffercontent": (
        "single pages that many sessions change at once",
        "Spread hot rows and the right edge of indexes over more pages: a lower fillfactor, hash "
        "partitions.",
    ),
    "procarray": ("the list of running transactions, from which snapshots are made", FEWER),
    "xidgen": ("the next transaction ID", FEWER),
    "lockmanager": (
        "the heavyweight lock table, beyond a session's fast-path slots (16 before version 18)",
        "Touch fewer tables, partitions and indexes per statement, and prepare statements; from "
        "version 18 on a larger max_locks_per_transaction gives more fast-path slots.",
    ),
    "lockfastpath": (
        "a session's fast-path lock slots",
        "Touch fewer tables, partitions and indexes per statement.",
    ),
    "subtrans": (
        "the parents of subtransactions",
        "Use fewer savepoints and exception blocks; end long transactions.",
    ),
    "multixact": (
        "lists of transactions that lock the same row",
        "Avoid shared row locks (foreign keys, FOR SHARE) on hot rows.",
    ),
    "xact": ("the commit log", "End long transactions, and let vacuum freeze."),
}
# Of MariaDB and MySQL, whose names begin with the component.
KNOWN_INNODB: dict[str, tuple[str, str]] = {
    "innodb/bufpool": (
        "the lists of the buffer pool",
        "Raise innodb_buffer_pool_size; in MySQL use several innodb_buffer_pool_instances.",
    ),
    "innodb/flushlist": (
        "the list of dirty pages",
        "Enlarge the redo log: dirty pages can then wait longer before they are flushed.",
    ),
    "innodb/log": (
        "the end of the redo log",
        "Write less redo: fewer indexes, larger transactions; raise innodb_log_buffer_size.",
    ),
    "innodb/lock": (
        "the table of row locks",
        "Lock fewer rows: READ COMMITTED, indexes on the searched columns; use fewer connections.",
    ),
    "innodb/trx": ("the list of running transactions", FEWER),
    "innodb/indextree": (
        "the upper levels of one index",
        "Partition the table: page splits hold this latch.",
    ),
    "innodb/btrsearch": (
        "the adaptive hash index",
        "Set innodb_adaptive_hash_index = OFF and compare.",
    ),
}
# All that the kernel shows of a wait within a process: it may be a latch, or something else.
NAMELESS = "futex"
UNKNOWN = ("something inside the server", FEWER)


class LatchWaits(WaitClaim, frozen=True, kw_only=True):
    """Shares of client time by event; the first names the finding."""

    events: dict[str, float]
    internal_lock: Aside[str]
    internal_locks: Aside[str]

    @property
    def worst(self) -> str:
        """The event with the largest share."""
        return next(iter(self.events))

    @property
    def title(self) -> str:
        return f"{self.internal_lock} contention: {self.worst}"

    @property
    def summary(self) -> str:
        guards, _ = _known(self.worst)
        return (
            f"Sessions wait for the {self.internal_lock} {self.worst}, which protects {guards}: "
            f"{percent(self.events[self.worst])} of client time, {percent(self.share or 0.0)} with "
            f"all {self.internal_locks}."
        )

    @property
    def seen(self) -> list[str]:
        return events_text(self.events)

    why: ClassVar[str] = (
        "Internal locks are held for microseconds: waits for them mean that many sessions do the "
        "same thing at once."
    )

    @property
    def advice(self) -> list[str]:
        _, advice = _known(self.worst)
        return [advice]

    refute: ClassVar[str] = "Run with half the connections: the share must fall by more than half."


class UnnamedWaits(Claim, frozen=True, kw_only=True):
    """Waits that only the kernel reports: no more than a hint."""

    events: dict[str, float]
    is_schema_on: Aside[bool] = False
    """Whether performance_schema is."""
    title: ClassVar[str] = "Unnamed waits inside the server"
    certainty: ClassVar[Certainty] = "hint"

    @property
    def severity(self) -> Severity:
        return at_most("minor", severity_of(self.share or 0.0))

    @property
    def summary(self) -> str:
        return (
            f"Sessions wait for other threads of the server for {percent(self.share or 0.0)} of "
            "client time: for a latch, or for work that another thread does. The server does not "
            "report which."
        )

    @property
    def seen(self) -> list[str]:
        return events_text(self.events)

    why: ClassVar[str] = (
        "What many sessions wait for within their statements limits all of them, whatever it is."
    )

    @property
    def advice(self) -> list[str]:
        switch = "" if self.is_schema_on else "performance_schema = ON with "
        return [
            f"Have a test server name its waits: {switch}the instruments wait/synch/% and the "
            "consumer events_waits_current.",
        ]

    refute: ClassVar[str] = (
        "Run with half the connections: if a latch is the cause, the share must fall by more than "
        "half."
    )


def events_text(events: Mapping[str, float]) -> list[str]:
    """Named or not."""
    return [f"{event}: {percent(part)} of client time." for event, part in events.items()]


def look(run: Run) -> LatchWaits | UnnamedWaits | NotFound:
    """The event with the largest share names the finding."""
    events = _events(client_time(run))
    share = sum(events.values())
    if share < NOTICED:
        return NotFound(f"waits for internal locks took {percent(share)} of client time")
    if next(iter(events)) == NAMELESS:
        facts = run.before or run.after
        is_schema_on = bool(facts and is_on(facts, "performance_schema"))
        return UnnamedWaits(share=share, events=events, is_schema_on=is_schema_on)
    terms = run.database.terms
    return LatchWaits(
        share=share,
        events=events,
        internal_lock=terms.internal_lock,
        internal_locks=terms.internal_locks,
        gains=gains_of_waits_in(run),
    )


def _events(spent: Budget) -> dict[str, float]:
    """Shares by event, lock waits included; the largest first.

    If clients queue for locks, the kernel reports that as a futex, and those at the head of the
    queue are seen at the lock table: neither is contention of its own. The waits of the others
    there count as waits for locks already (``analysis/waits/lock_waits.py``).
    """
    own = {part.wait_event for part in spent.parts if part.kind == "lwlock"}
    roots = {charge.root_wait for charge in spent.charges if charge.root_kind == "lwlock"}
    if spent.share("lock") >= NOTICED:
        own -= {NAMELESS}
        roots = {event for event in roots if event != NAMELESS and not is_at_lock_table(event)}
    shares = {
        event: spent.charged("lwlock", event) if event in roots else spent.share("lwlock", event)
        for event in own | roots
    }
    return dict(sorted(shares.items(), key=lambda event: -event[1]))


def _plain(event: str) -> str:
    """The form common to all versions: lower case, without underscores."""
    return event.casefold().replace("_", "")


def _known(event: str) -> tuple[str, str]:
    everything = (KNOWN | KNOWN_INNODB).items()
    fitting = (known for begin, known in everything if _plain(event).startswith(begin))
    return next(fitting, UNKNOWN)


RULE = Rule(
    id="lwlock",
    title="LWLock contention",
    look=look,
    accounts_for=frozenset({"lwlock", "lock"}),
)
