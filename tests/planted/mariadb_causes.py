"""The truth set on MariaDB: what InnoDB suffers from, planted in it, and clean runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dbdyno.servers.base import Server
from tests.planted import disturbances
from tests.planted.causes import CLEAN, Cause, script

FILLED = """
    create table planted (id int {key}, value int not null, filler varchar(2000) not null);
    insert into planted select seq, 0, repeat('x', {width}) from seq_1_to_{rows};
    analyze table planted"""

# The kernel cannot see a read that is slowed down before it is made: the server must tell.
WAITS_ARE_TOLD = {
    "performance_schema": "ON",
    "performance_schema_consumer_events_waits_current": "ON",
}

_cause = partial(Cause, kind="mariadb")


@contextmanager
def idle_transaction(server: Server) -> Iterator[None]:
    """Somebody has looked at a table and gone to lunch."""
    with server.connect() as connection:
        connection.execute("start transaction with consistent snapshot")
        yield
        connection.execute("rollback")


def mariadb_causes() -> list[Cause]:
    """All of them, the clean ones last."""
    return [*_locking(), *_writing(), *_processing(), *_reading(), *_clean()]


def _locking() -> list[Cause]:
    return [
        _cause(
            name="mariadb-hot-rows",
            title="TPC-B at scale 1 with 16 clients",
            run=("tpcb", "-s", "1", "-c", "16"),
            expected=frozenset({"row_lock_convoy"}),
        ),
        _cause(
            name="mariadb-foreign-lock",
            title="a foreign session holding row locks",
            load=("tpcb", "-s", "1"),
            run=("tpcb", "-s", "1", "-c", "4"),
            disturb=disturbances.foreign_row_lock,
            expected=frozenset({"foreign_lock"}),
        ),
        _cause(
            name="mariadb-deadlocks",
            title="two scripts that lock two rows in opposite orders",
            run=(script("lock_up"), script("lock_down"), "-c", "8", "--max-failures", "100%"),
            sql=FILLED.format(key="primary key", width=10, rows=20),
            expected=frozenset({"deadlocks"}),
        ),
    ]


def _writing() -> list[Cause]:
    return [
        _cause(
            name="mariadb-slow-commit",
            title="durable commits on slow storage",
            run=("simple-update", "-s", "1", "-c", "4"),
            slow={"SLOW_SYNC_US": "5000"},
            expected=frozenset({"wal_write"}),
        ),
        _cause(
            name="mariadb-small-redo",
            title="a redo log that the load goes through in seconds",
            run=(script("update_value"), "-c", "4"),
            sql=FILLED.format(key="primary key", width=1800, rows=20_000),
            settings={"innodb_log_file_size": "4M"},
            expected=frozenset({"furious_flushing"}),
        ),
        _cause(
            name="mariadb-idle-transaction",
            title="an idle transaction while rows are updated",
            run=(script("update_hot"), "-c", "4"),
            sql=FILLED.format(key="primary key", width=10, rows=50),
            settings={"innodb_flush_log_at_trx_commit": "2"},
            disturb=idle_transaction,
            expected=frozenset({"long_transaction"}),
        ),
        _cause(
            name="mariadb-no-purge",
            title="a purge that does not run",
            run=(script("update_value"), "-c", "4"),
            sql=FILLED.format(key="primary key", width=10, rows=20_000),
            settings={"innodb_flush_log_at_trx_commit": "2", "innodb_force_recovery": "2"},
            expected=frozenset({"purge_lag"}),
        ),
    ]


def _processing() -> list[Cause]:
    return [
        _cause(
            name="mariadb-churn",
            title="a connection for each transaction",
            run=("select-only", "-s", "1", "-c", "4", "-C"),
            expected=frozenset({"connection_churn"}),
        ),
        _cause(
            name="mariadb-throttled",
            title="a server held down by its control group, or by signals",
            run=("select-only", "-s", "1", "-c", "4"),
            disturb=disturbances.throttled,
            expected=frozenset({"cpu_throttled"}),
        ),
        _cause(
            name="mariadb-burners",
            title="other programs on the server's processors",
            run=("select-only", "-s", "1", "-c", "4"),
            disturb=disturbances.burners,
            expected=frozenset({"cpu_others"}),
        ),
        _cause(
            name="mariadb-crowd",
            title="two hundred clients on a machine of few processors",
            run=("select-only", "-s", "1", "-c", "200"),
            clients_max=200,
            expected=frozenset({"too_many_connections"}),
        ),
        _cause(
            name="mariadb-overrun",
            title="a rate that the clients cannot carry",
            run=(script("nap"), "-c", "4", "-R", "1000"),
            expected=frozenset({"schedule_lag"}),
        ),
    ]


def _reading() -> list[Cause]:
    return [
        _cause(
            name="mariadb-missing-index",
            title="a key without an index",
            run=(script("select_by_id"), "-c", "4"),
            sql=FILLED.format(key="not null", width=10, rows=20_000),
            expected=frozenset({"missing_index"}),
        ),
        _cause(
            name="mariadb-small-pool",
            title="a working set larger than the buffer pool, on slow storage",
            run=("select-only", "-s", "3", "-c", "4"),
            settings={"innodb_buffer_pool_size": "8M", **WAITS_ARE_TOLD},
            slow={"SLOW_READ_US": "500"},
            expected=frozenset({"data_read"}),
        ),
        _cause(
            name="mariadb-temporary-tables",
            title="sorts that do not fit into sort_buffer_size",
            run=(script("sort"), "-c", "2"),
            sql=FILLED.format(key="primary key", width=100, rows=20_000),
            settings={"sort_buffer_size": "32768", "tmp_table_size": "1M"},
            expected=frozenset({"temporary_files"}),
        ),
    ]


def _clean() -> list[Cause]:
    def clean(name: str, title: str, *run: str) -> Cause:
        return _cause(name=name, title=title, run=run, expected=CLEAN)

    return [
        clean("mariadb-clean-select", "select-only, 200/s", "select-only", "-s", "1", "-R", "200"),
        clean("mariadb-clean-pk", "pk select, 300/s", "pk", "-D", "operation=select", "-R", "300"),
        clean(
            "mariadb-clean-update", "simple-update, 100/s", "simple-update", "-s", "5", "-R", "100"
        ),
    ]
