"""Planted causes: what a cause is, how it is made for a kind of server, and those of every kind.

Each cause is small and takes seconds. ``expected`` are the rules that name the cause: one of them
must be the top finding. A clean run expects none: no finding above a note. Causes of a single kind
of server are in a file of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dbdyno.servers.spec import Kind
from tests.planted import disturbances
from tests.planted.disturbances import Disturbance

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One run: its preparation, its load, its disturbance, and the expected findings.

    ``load`` names a workload that is loaded before ``sql`` runs; ``slow`` are the delays of the
    server's storage (see slow_storage.c); with ``round_trip_ms`` the load seems to be on another
    host (see network.py).
    """

    name: str
    title: str
    run: tuple[str, ...]
    expected: frozenset[str]
    about: str = ""
    """What the title of the top finding has to name, such as a table."""
    load: tuple[str, ...] = ()
    sql: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the server."""
    round_trip_ms: float = 0.0
    sslmode: str = ""
    """Not empty: the load reaches the server by TCP, with or without TLS."""
    disturb: Disturbance = disturbances.nothing
    seconds: int = 5
    clients_max: int = 20
    kind: Kind = "postgres"
    proves: str = ""
    """The telemetry, of those that findings need, that only this run shows to work on a server.

    ``make test`` plants the causes that prove something, ``make truth`` all of them.
    """
    otherwise: Mapping[str, Any] = field(default_factory=dict)
    """What is different in the same run without the cause, by field; empty if there is none.

    ``make truth`` makes both and compares what the cause costs with what its finding says.
    """

    def without(self) -> "Cause":
        """Return the same run without the cause."""
        return replace(self, **self.otherwise, otherwise={}, expected=frozenset())


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A kind of server, and what the causes that it shares with others need to know about it."""

    kind: Kind
    filled: Callable[[int, int], str]
    """Returns the SQL of a table with a primary key, given the width and the number of its rows."""
    keyless: Callable[[int, int], str]
    """The same without any index."""
    relaxed: Mapping[str, str]
    """The settings with which no commit waits for the disk."""
    deadlocks_seen_soon: Mapping[str, str]
    idle_transaction: Disturbance
    lock_by_name: str
    """The script of transactions that take turns by a named lock of the application."""

    def cause(
        self,
        name: str,
        title: str,
        *run: str,
        finding: str = "",
        proves: str = "",
        proves_once: str = "",
        **more: Any,
    ) -> Cause:
        """Return a cause for this kind of server, named after it unless it is PostgreSQL.

        What is the same telemetry on every kind of server is proved once, on PostgreSQL.
        """
        return Cause(
            proves=proves or (proves_once if self.kind == "postgres" else ""),
            name=name if self.kind == "postgres" else f"{self.kind}-{name}",
            title=title,
            run=run,
            expected=frozenset({finding} if finding else ()),
            kind=self.kind,
            **more,
        )


def script(name: str) -> str:
    """Return the path of a script in this folder."""
    return str(SCRIPTS / f"{name}.sql")


def shared_causes(ground: Ground) -> list[Cause]:
    """Return the causes that every kind of server has; clean runs come last."""
    return [
        *_locking(ground),
        *_storage(ground),
        *_processing(ground),
        _failing(ground),
        *_clean(ground),
    ]


def _locking(ground: Ground) -> list[Cause]:
    return [
        ground.cause(
            "hot-rows",
            "TPC-B at scale 1 with 16 clients",
            *("tpcb", "-s", "1", "-c", "16"),
            finding="row_lock_convoy",
            proves="samples of row locks and who holds them",
        ),
        ground.cause(
            "foreign-lock",
            "a session outside the load that holds row locks",
            *("tpcb", "-s", "1", "-c", "4"),
            finding="foreign_lock",
            load=("tpcb", "-s", "1"),
            disturb=disturbances.foreign_row_lock,
            proves="samples of sessions that are not the load's",
        ),
        ground.cause(
            "deadlocks",
            "two scripts that lock two rows in opposite order",
            *(script("lock_up"), script("lock_down"), "-c", "8", "--max-failures", "100%"),
            finding="deadlocks",
            sql=ground.filled(10, 20),
            settings=ground.deadlocks_seen_soon,
            proves="errors by their code, and the statements that met",
        ),
        ground.cause(
            "idle-transaction",
            "an idle transaction held open during updates",
            *(script("update_hot"), "-c", "4"),
            finding="long_transaction",
            sql=ground.filled(10, 50),
            settings=ground.relaxed,
            disturb=ground.idle_transaction,
            proves="the age of transactions",
        ),
        ground.cause(
            "lock-by-name",
            "an advisory (user-level) lock around each transaction",
            *(script(ground.lock_by_name), "-c", "8"),
            finding="other_waits",
            sql=ground.filled(10, 20_000),
            settings=ground.relaxed,
            proves_once="names of waits",
        ),
    ]


def _storage(ground: Ground) -> list[Cause]:
    return [
        ground.cause(
            "slow-commit",
            "durable commits on slow storage",
            *("simple-update", "-s", "1", "-c", "4"),
            finding="wal_write",
            slow={"SLOW_SYNC_US": "5000"},
            proves="waits for the log's flushes",
        ),
        ground.cause(
            "missing-index",
            "lookups by a column without an index",
            *(script("select_by_id"), "-c", "4"),
            finding="missing_index",
            sql=ground.keyless(10, 20_000),
        ),
    ]


def _processing(ground: Ground) -> list[Cause]:
    return [
        ground.cause(
            "churn",
            "a new connection for each transaction",
            *("select-only", "-s", "1", "-c", "4", "-C"),
            finding="connection_churn",
            proves_once="connects, as the engine times them",
        ),
        ground.cause(
            "throttled",
            "a server throttled by its control group, or by signals",
            *("select-only", "-s", "1", "-c", "4"),
            finding="cpu_throttled",
            disturb=disturbances.throttled,
            proves_once="the control group's throttling",
        ),
        ground.cause(
            "burners",
            "other programs on the server's CPUs",
            *("select-only", "-s", "1", "-c", "4"),
            finding="cpu_others",
            disturb=disturbances.burners,
            proves_once="CPU time of other programs",
        ),
        ground.cause(
            "crowd",
            "two hundred clients on a host with few cores",
            *("select-only", "-s", "1", "-c", "200"),
            finding="too_many_connections",
            clients_max=200,
            proves_once="the kernel's run queue",
        ),
        ground.cause(
            "overrun",
            "a rate that the clients cannot sustain",
            *(script("nap"), "-c", "4", "-R", "1000"),
            finding="schedule_lag",
            proves_once="the engine's lateness",
        ),
    ]


def _failing(ground: Ground) -> Cause:
    return ground.cause(
        "failing",
        "inserts of duplicate keys",
        *(script("insert_again"), "-c", "4", "--max-failures", "100%"),
        finding="failed_transactions",
        sql=ground.filled(10, 10),
        settings=ground.relaxed,
        proves_once="failures by class and code",
    )


def _clean(ground: Ground) -> list[Cause]:
    clean = ground.cause
    return [
        clean("clean-select", "select-only, 200/s", "select-only", "-s", "1", "-R", "200"),
        clean("clean-pk", "pk select, 300/s", "pk", "-D", "operation=select", "-R", "300"),
        clean("one-client", "select-only, 1 client: a core is idle", "select-only", "-c", "1"),
        clean(
            "clean-update",
            "simple-update, 100/s",
            *("simple-update", "-s", "5", "-R", "100"),
            proves="that no counter looks like a cause where there is none",
        ),
    ]
