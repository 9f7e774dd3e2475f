"""The truth set: runs with a cause planted in them, and clean ones.

Each cause is small and takes seconds. ``expected`` are the rules that name the cause: one of
them must be the top finding. A clean run expects none: no finding above a note.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.servers.spec import Kind
from tests.planted import disturbances
from tests.planted.disturbances import Disturbance

SCRIPTS = Path(__file__).parent / "scripts"
CLEAN: frozenset[str] = frozenset()

UPDATED = """
    create table planted (id int primary key, value int not null, filler text not null)
        with (fillfactor = {fillfactor});
    insert into planted select i, 0, repeat('x', {width}) from generate_series(1, {rows}) i;
    vacuum (freeze, analyze) planted"""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One run: what is made ready, what runs, what disturbs it, and what is to be said of it.

    ``load`` names a workload that is loaded before ``sql`` runs; ``slow`` are the delays of
    the server's storage (see slow_storage.c).
    """

    name: str
    title: str
    run: tuple[str, ...]
    expected: frozenset[str]
    load: tuple[str, ...] = ()
    sql: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, str] = field(default_factory=dict)
    disturb: Disturbance = disturbances.nothing
    seconds: int = 5
    clients_max: int = 20
    kind: Kind = "postgres"


def script(name: str) -> str:
    """A script of this folder."""
    return str(SCRIPTS / f"{name}.sql")


def causes() -> list[Cause]:
    """All of them, the clean ones last."""
    return [*_writing(), *_locking(), *_processing(), *_reading(), *_clean()]


def _writing() -> list[Cause]:
    return [
        Cause(
            name="full-page-writes",
            title="checkpoints with full-page writes every two seconds",
            load=("pk", "-s", "3"),
            run=("pk", "-s", "3", "-c", "4"),
            disturb=disturbances.checkpoints,
            seconds=9,
            expected=frozenset({"full_page_writes"}),
        ),
        Cause(
            name="indexed-column",
            title="an index on the updated column",
            run=(script("update_value"), "-c", "4"),
            sql=UPDATED.format(fillfactor=50, width=10, rows=20_000)
            + "; create index planted_value on planted (value)",
            expected=frozenset({"hot_updates"}),
        ),
        Cause(
            name="no-room",
            title="fillfactor 100 with long rows",
            run=(script("update_long_rows"), "-c", "4"),
            sql=UPDATED.format(fillfactor=100, width=1800, rows=100_000),
            expected=frozenset({"hot_updates"}),
        ),
        Cause(
            name="slow-commit",
            title="synchronous commit on slow storage",
            run=("simple-update", "-s", "1", "-c", "4"),
            slow={"SLOW_SYNC_US": "5000"},
            expected=frozenset({"wal_write"}),
        ),
        Cause(
            name="idle-transaction",
            title="an idle transaction while rows are updated",
            run=(script("update_hot"), "-c", "4"),
            sql=UPDATED.format(fillfactor=100, width=10, rows=50),
            settings={"synchronous_commit": "off"},
            disturb=disturbances.idle_transaction,
            expected=frozenset({"long_transaction"}),
        ),
    ]


def _locking() -> list[Cause]:
    return [
        Cause(
            name="hot-rows",
            title="TPC-B at scale 1 with 16 clients",
            run=("tpcb", "-s", "1", "-c", "16"),
            expected=frozenset({"row_lock_convoy"}),
        ),
        Cause(
            name="foreign-lock",
            title="a foreign session holding row locks",
            load=("tpcb", "-s", "1"),
            run=("tpcb", "-s", "1", "-c", "4"),
            disturb=disturbances.foreign_row_lock,
            expected=frozenset({"foreign_lock"}),
        ),
        Cause(
            name="deadlocks",
            title="two scripts that lock two rows in opposite orders",
            run=(script("lock_up"), script("lock_down"), "-c", "8", "--max-failures", "100%"),
            sql=UPDATED.format(fillfactor=50, width=10, rows=20),
            settings={"deadlock_timeout": "100ms"},
            expected=frozenset({"deadlocks"}),
        ),
    ]


def _processing() -> list[Cause]:
    return [
        Cause(
            name="churn",
            title="a connection for each transaction",
            run=("select-only", "-s", "1", "-c", "4", "-C"),
            expected=frozenset({"connection_churn"}),
        ),
        Cause(
            name="throttled",
            title="a server held down by its control group, or by signals",
            run=("select-only", "-s", "1", "-c", "4"),
            disturb=disturbances.throttled,
            expected=frozenset({"cpu_throttled"}),
        ),
        Cause(
            name="burners",
            title="other programs on the server's processors",
            run=("select-only", "-s", "1", "-c", "4"),
            disturb=disturbances.burners,
            expected=frozenset({"cpu_others"}),
        ),
        Cause(
            name="crashes",
            title="a process of the server killed every four seconds",
            run=("select-only", "-s", "1", "-c", "4", "--max-failures", "100%"),
            disturb=disturbances.crashes,
            seconds=8,
            expected=frozenset({"outage"}),
        ),
        Cause(
            name="crowd",
            title="two hundred clients on a machine of few processors",
            run=("select-only", "-s", "1", "-c", "200"),
            clients_max=200,
            expected=frozenset({"too_many_connections"}),
        ),
        Cause(
            name="overrun",
            title="a rate that the clients cannot carry",
            run=(script("nap"), "-c", "4", "-R", "1000"),
            expected=frozenset({"schedule_lag"}),
        ),
    ]


def _reading() -> list[Cause]:
    return [
        Cause(
            name="missing-index",
            title="a key without an index",
            run=(script("select_by_id"), "-c", "4"),
            sql=UPDATED.format(fillfactor=100, width=10, rows=20_000)
            + "; alter table planted drop constraint planted_pkey",
            expected=frozenset({"missing_index"}),
        ),
        Cause(
            name="small-cache",
            title="a working set larger than the cache, on slow storage",
            run=("select-only", "-s", "3", "-c", "4"),
            settings={"shared_buffers": "1MB"},
            slow={"SLOW_READ_US": "500"},
            expected=frozenset({"data_read"}),
        ),
        Cause(
            name="temporary-files",
            title="sorts that do not fit into work_mem",
            run=(script("sort"), "-c", "2"),
            sql=UPDATED.format(fillfactor=100, width=100, rows=20_000),
            settings={"work_mem": "64kB", "max_parallel_workers_per_gather": "0"},
            expected=frozenset({"temporary_files"}),
        ),
    ]


def _clean() -> list[Cause]:
    def clean(name: str, title: str, *run: str) -> Cause:
        return Cause(name=name, title=title, run=run, expected=CLEAN)

    return [
        clean("clean-select", "select-only, 200/s", "select-only", "-s", "1", "-R", "200"),
        clean("clean-pk", "pk select, 300/s", "pk", "-D", "operation=select", "-R", "300"),
        clean("clean-update", "simple-update, 100/s", "simple-update", "-s", "5", "-R", "100"),
        clean("clean-tpcb", "tpcb at scale 20, 50/s", "tpcb", "-s", "20", "-R", "50"),
    ]
