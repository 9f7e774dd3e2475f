"""What a database is, as plain data: what it can do, and its words for it.

Three things differ and are kept apart: the protocol by which a server is reached, which database it
is, and what that database does. A rule asks for a capability, and takes its words from the terms;
no one asks for a name. The values are in ``databases/NAME/database.py``.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.model.counters import Counter
from dbdyno.model.plan import IsolationLevel, Protocol, QueryMode

Capability: TypeAlias = Literal[
    "statistics_views",  # counts by database, table and statement (pg_stat_database …)
    "innodb",  # its storage engine is InnoDB, with its counters
    "log_flushes",  # commits wait for flushes of a log, and these are counted
    "full_page_images",  # the first change of a page after a checkpoint logs the whole page
    "checkpoints",  # writes out all changed pages every so often
    "autovacuum",  # removes dead rows from tables in the background
    "hot_updates",  # an update that changes no indexed column can leave the indexes alone
    "purge",  # keeps old versions apart from the rows, and removes them in the background
    "redo_capacity",  # writes out pages in haste when its log of fixed size fills up
    "late_counters",  # sessions publish what they have counted late
    "all_waits_named",  # a session that is active and waits for nothing named is on a CPU
    "row_estimates",  # plans estimate the rows found, not those read
    "statement_evictions",  # forgets the counts of rare statements
    "parallel_queries",  # one statement may use several processes
    "function_indexes",  # an index can be on an expression
    "deadlock_timeout",  # looks for deadlocks when a wait has lasted for a time
    "replanning",  # plans a prepared statement at each execution as well
    "gap_locks",  # locks what lies between rows, and each row that it reads to change some
    "predicate_locks",  # SERIALIZABLE tracks what was read, and locks none of it
]

Promise: TypeAlias = Literal["full", "relaxed", "none"]
"""A durability level: what survives, in the same words for every database."""

PartKind: TypeAlias = Literal[
    "cpu",  # active, waiting for nothing the server reports, and on a CPU
    "cpu_queue",  # the same, but waiting for a CPU
    "lock",  # heavyweight locks: rows, transactions, relations
    "lwlock",
    "io",
    "wal",  # WAL write and sync, LWLocks of the WAL
    "client_or_network",  # sent by the engine, not being processed by the server
    "other_wait",
    "pause",
    "idle",
    "unconnected",
]

WaitKinds: TypeAlias = tuple[tuple[str, str, PartKind], ...]
"""Lines of (type of wait, prefix of the event, kind); the first that matches gives the kind.

Names are compared case-insensitively, because servers change the spelling of their events from
version to version but keep the words. An event that no line matches is ``other_wait``.
"""


Subsystem: TypeAlias = Literal[
    "protocol",
    "parsing",
    "planning",
    "partitions",
    "execution",
    "values",
    "procedures",
    "triggers",
    "indexes",
    "rows",
    "buffers",
    "storage_engine",
    "locks",
    "internal_locks",
    "transactions",
    "snapshots",
    "log",
    "catalog",
    "hash_tables",
    "memory",
    "logging",
    "statistics",
    "compilation",
    "sorting",
    "connecting",
    "tls",
    "compression",
    "vacuum",
    "replication",
    "clocks",
    "library",
    "kernel_network",
    "kernel_files",
    "kernel_syncs",
    "kernel_scheduling",
    "kernel_memory",
    "kernel_futexes",
    "kernel_interrupts",
    "kernel_processes",
    "kernel_other",
    "other",
]
"""What a function of a server is for, in the same words for every database.

``analysis/processor/subsystems.py`` has their meaning.
"""

FunctionKind: TypeAlias = Literal["named", "near", "unnamed", "jit", "kernel"]
"""How a function is known to a profile (``ProfileFunctions``)."""

Subsystems: TypeAlias = Mapping[Subsystem, str]
"""For each the beginnings of its functions' names, between spaces; the longest one decides.

A library is its file's name in brackets (``[libz.]``). A tilde before a beginning means functions
that have no name of their own and lie behind one with this name.
"""


class Terms(Struct, frozen=True, kw_only=True):
    """Settings, commands and counters with the same meaning; counters are (source, name).

    A rule whose arithmetic is the same for all databases takes its words from here. The defaults
    are true of any database.
    """

    log: str = "log of changes"
    """The log that is written before a commit is acknowledged."""
    commit_setting: str = "the setting for the durability of commits"
    commit_relaxed: str = "its relaxed value"
    """The recommended value at which a commit does not wait for its log."""
    commit_setting_reach: str = "as far as it reaches"
    """The scope in which the setting can be set."""
    commit_unflushed: frozenset[str] = frozenset()
    """All such values."""
    cache_setting: str = "the size of the cache"
    cache_usual: str = "what production servers have"
    """Its usual size on production servers."""
    read_timing: str = "timing of reads"
    """The setting that enables timing of reads."""
    internal_lock: str = "internal lock"
    internal_locks: str = "internal locks"
    session: str = "session"
    """What the server creates for each connection."""
    sessions_opened: Counter | None = None
    pooler: str = "a connection pooler"
    end_session: str = "Find it in the list of sessions and end it: COMMIT, or end its session."
    """How to find and end a session that holds locks."""
    end_by_itself: str = "timeouts for idle transactions and for waits"
    """The settings that end such transactions."""
    online_ddl: str = (
        "Run DDL in a form that lets others write, if there is one, or while there is little load."
    )
    """How to run DDL without locking others out."""
    create_index: str = "CREATE INDEX ON {table} ({key});"
    full_reads: frozenset[str] = frozenset()
    """Plan steps that read a whole table."""
    put_off: str = "work in the background"
    """Work that the server does rarely, and then in bulk."""
    against_conflicts: tuple[str, ...] = ()
    """What a database advises against serialization failures, the best first."""


class Isolation(Struct, frozen=True, kw_only=True):
    """The isolation levels of a database, and how a session gets one.

    ``{level}`` is its name in SQL: REPEATABLE READ. What is empty is not known of a database, or
    it has no such thing.
    """

    levels: tuple[IsolationLevel, ...] = ()
    """Those that it has, the weakest first; not those that it takes for another one."""
    level: str = ""
    """The statement that gives the transactions of a session their level."""
    read_only: str = ""
    """The statement that makes the transactions of a session read only."""
    level_parameter: str = ""
    """The parameter of PostgreSQL's startup message that does the same as ``level``."""
    read_only_parameter: str = ""
    """The one that does the same as ``read_only``."""
    in_force: str = ""
    """The query for level and access mode of the present transaction, in the server's words."""


class LossWindow(Struct, frozen=True, kw_only=True):
    """A setting, a whole number of units, and how much longer than that commits may be lost."""

    setting: str
    unit_ms: float
    more_ms: float = 0.0


class Database(Struct, frozen=True, kw_only=True):
    """One database, whichever way it is reached.

    ``name`` is that of its folder, ``base`` the database that it is built from: what it does not
    have itself, such as an adapter, is that one's. ``protocol`` is the one that it was made for.
    ``durability`` has the settings by which it provides each level. A server is this database if
    what it says of itself (``select version()``) matches ``says`` and if it answers ``witness``, if
    there is one, with something true; of several, the one that is built from the others.
    ``product`` is its word in records and after ``--server``.
    """

    name: str
    title: str
    protocol: Protocol
    base: str = ""
    product: str = ""
    known_from: Literal["servers", "documentation", "nothing"] = "servers"
    """What this rests on: tests on its servers, or documentation alone."""
    says: str = ""
    witness: str = ""
    capabilities: frozenset[Capability] = frozenset()
    terms: Terms = Terms()
    wait_kinds: WaitKinds = ()
    subsystems: Subsystems = {}
    isolation: Isolation = Isolation()
    lacks_modes: Mapping[QueryMode, str] = {}
    """The query modes that its protocol does not have, each with what to use instead."""
    durability: Mapping[Promise, Mapping[str, str]] = {}
    levels_permitted: Mapping[str, Mapping[str, Promise]] = {}
    """By setting: the strongest level that each of its values permits on one host, in lower case,
    and all others (``other``), if there are any."""
    durability_limits: Mapping[Promise, str] = {}
    """What a level does not include."""
    loss_window: LossWindow | None = None
    """For how long before a crash of the host ``relaxed`` may lose commits."""
    page_bytes: int = 8192
    """The default; a server may be built or initialized with another size."""
    session_bytes: int = 4 << 20
    """Private memory per session, measured with prepared statements on small tables."""
    sessions_are_threads: bool = False
    """Of one process, which the kernel schedules among themselves."""

    def has(self, capability: Capability) -> bool:
        """Whether it can do this."""
        return capability in self.capabilities
