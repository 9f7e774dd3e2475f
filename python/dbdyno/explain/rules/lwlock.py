"""LWLock contention: sessions wait for the server's own internal locks.

Looks for: waits of type LWLock, in MariaDB and MySQL for mutexes and latches of InnoDB, by name:
each protects something, and says what to change.
Those of the WAL are the business of ``wal_write``, those of the lock manager beside a queue for
rows that of ``row_lock_convoy``. A wait of which only the kernel tells (futex) has no name: it is
a hint, and minor at most.

Arithmetic: the share of the clients' time in such waits, lock waits behind a holder in such a
wait included. Removing it gains a factor of up to 1/(1 − w).

Source: the PostgreSQL manual, wait events of type LWLock; A. Freund, Analyzing the Limits of
Connection Scalability in Postgres, 2020.

Wrong when: processors are full: a session that holds such a lock and has lost its processor makes
all others wait, and the cause is the crowd (see too many connections).
"""

from dbdyno.analysis.budget import Budget
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import client_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.settings import is_on
from dbdyno.explain.words import gain_of_waits
from dbdyno.model.record import Finding
from dbdyno.words import percent

FEWER = "Use fewer connections, by a pool."
# How an event's name begins, in small letters without underscores: what it guards, what to do.
KNOWN: dict[str, tuple[str, str]] = {
    "buffermapping": (
        "the table that says which page is in which buffer",
        "Raise shared_buffers: each page that is read in takes this lock twice.",
    ),
    "buffercontent": (
        "single pages that many change at once",
        "Spread hot rows and the right edge of indexes over more pages: a lower fillfactor, hash "
        "partitions.",
    ),
    "procarray": ("the list of running transactions, from which snapshots are made", FEWER),
    "xidgen": ("the next transaction's number", FEWER),
    "lockmanager": (
        "the table of heavyweight locks, beyond a session's own fast places (16 before version 18)",
        "Touch fewer tables, partitions and indexes in a statement, and prepare statements; from "
        "version 18 on a larger max_locks_per_transaction gives more fast places.",
    ),
    "lockfastpath": (
        "a session's own fast places for locks",
        "Touch fewer tables, partitions and indexes in a statement.",
    ),
    "subtrans": (
        "the parents of subtransactions",
        "Use fewer savepoints and exception blocks; end long transactions.",
    ),
    "multixact": (
        "lists of several lockers of one row",
        "Avoid shared row locks (foreign keys, FOR SHARE) on hot rows.",
    ),
    "xact": ("the commit log", "End long transactions, and let vacuum freeze."),
}
# Of MariaDB and MySQL, whose names begin with what has them.
KNOWN_INNODB: dict[str, tuple[str, str]] = {
    "innodb/bufpool": (
        "the lists of the buffer pool",
        "Raise innodb_buffer_pool_size; in MySQL use several innodb_buffer_pool_instances.",
    ),
    "innodb/flushlist": (
        "the list of pages to be written",
        "A larger redo log lets pages wait longer before they are written.",
    ),
    "innodb/log": (
        "the end of the redo log",
        "Write less redo: fewer indexes, larger transactions; raise innodb_log_buffer_size.",
    ),
    "innodb/lock": (
        "the table of row locks",
        "Lock fewer rows: READ COMMITTED, indexes for what is searched; use fewer connections.",
    ),
    "innodb/trx": ("the list of running transactions", FEWER),
    "innodb/indextree": (
        "the upper levels of one index",
        "Partition the table: changes that split pages hold this latch.",
    ),
    "innodb/btrsearch": (
        "the adaptive hash index",
        "Set innodb_adaptive_hash_index = OFF, and compare.",
    ),
}
# All that the kernel knows of a wait within a process: it may be a latch, or something else.
NAMELESS = "futex"
# Behind a queue for rows, these are a part of it: the kernel sees the queue itself as a futex.
_OF_QUEUES = frozenset({"lockmanager", "lockmanagerlock", NAMELESS})
UNKNOWN = ("something inside the server", FEWER)


def look(case: Case) -> Outcome:
    """The event with the largest share gives its name."""
    events = _events(client_time(case))
    share = sum(part for _, part in events)
    if share < NOTICED:
        return NotFound(f"waits for internal locks took {percent(share)} of the clients' time")
    worst, of_worst = events[0]
    if worst == NAMELESS:
        return _nameless(case, share, events)
    guards, advice = _known(worst)
    database = database_of(case)
    return found(
        f"Sessions wait for the {database.internal_lock} {worst}, which guards {guards}: "
        f"{percent(of_worst)} of the clients' time, {percent(share)} with all "
        f"{database.internal_locks}.",
        title=f"{database.internal_lock} contention: {worst}",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"events": dict(events)},
        seen=_told(events),
        why="Internal locks are held for microseconds; that they are waited for at all means that "
        "all do the same at once.",
        advice=[advice],
        gain=gain_of_waits(case, share),
        refute="Run with half the connections: the share must fall by more than half.",
    )


def _nameless(case: Case, share: float, events: list[tuple[str, float]]) -> Finding:
    """What the kernel alone has seen is no more than a hint."""
    facts = case.before or case.after
    switch = "" if facts and is_on(facts, "performance_schema") else "performance_schema = ON with "
    return found(
        f"Sessions wait for other threads of the server {percent(share)} of the clients' time: for "
        "a latch, or for work that another thread does. It does not say which.",
        title="Waits inside the server that have no name",
        share=share,
        share_of="client time",
        severity=at_most("minor", severity_of(share)),
        certainty="hint",
        evidence={"events": dict(events)},
        seen=_told(events),
        why="What many wait for within their statements bounds them all, whatever it is.",
        advice=[
            f"Let the server name its waits, on a test server: {switch}the instruments "
            "wait/synch/% and the consumer events_waits_current.",
        ],
        refute="Run with half the connections: where a latch is the cause, the share must fall by "
        "more than half.",
    )


def _told(events: list[tuple[str, float]]) -> list[str]:
    return [f"{event}: {percent(part)} of the clients' time." for event, part in events]


def _events(spent: Budget) -> list[tuple[str, float]]:
    """Shares by event, lock waits included; the largest first.

    Each who queues for a row goes through the lock manager: where clients do, its waits are a
    part of that queue, and none of their own.
    """
    own = {part.wait_event for part in spent.parts if part.kind == "lwlock"}
    roots = {charge.root_wait for charge in spent.charges if charge.root_kind == "lwlock"}
    is_queue = spent.share("lock") >= NOTICED
    events = (event for event in own | roots if not (is_queue and _plain(event) in _OF_QUEUES))
    shares = {event: spent.charged("lwlock", event) for event in events}
    return sorted(shares.items(), key=lambda event: -event[1])


def _plain(event: str) -> str:
    """As in every version: in small letters, without underscores."""
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
