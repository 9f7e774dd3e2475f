"""The truth set on MariaDB: problems of InnoDB, planted in it."""

from collections.abc import Iterator
from contextlib import contextmanager

from dbdyno.servers.base import Server
from tests.planted.causes import Cause, Ground, script, shared_causes

# The kernel cannot see a read that is delayed before it is issued: the server must report it.
WAITS_ARE_TOLD = {
    "performance_schema": "ON",
    "performance_schema_consumer_events_waits_current": "ON",
}

ALL_INSTRUMENTS = {
    "performance_schema": "ON",
    "performance_schema_instrument": "%=ON",
    **{
        f"performance_schema_consumer_events_{events}_{kept}": "ON"
        for events in ("waits", "stages", "statements", "transactions")
        for kept in ("current", "history")
    },
}
COPIED = """;
    create table copied (id int primary key, value int not null);
    insert into copied select id, value from planted;
    create trigger copy_value after update on planted for each row
        update copied set value = value + 1 where id = new.id"""


def filled(width: int, rows: int, key: str = "int primary key") -> str:
    """Return the SQL of a table."""
    return f"""
    create table planted (id {key}, value int not null, filler varchar(2000) not null);
    insert into planted select seq, 0, repeat('x', {width}) from seq_1_to_{rows};
    analyze table planted"""


@contextmanager
def idle_transaction(server: Server) -> Iterator[None]:
    """Keep a transaction open that has read a table."""
    with server.connect() as connection:
        connection.execute("start transaction with consistent snapshot")
        yield
        connection.execute("rollback")


MARIADB = Ground(
    kind="mariadb",
    filled=filled,
    keyless=lambda width, rows: filled(width, rows, key="int not null"),
    relaxed={"innodb_flush_log_at_trx_commit": "2"},
    deadlocks_seen_soon={},
    idle_transaction=idle_transaction,
    lock_by_name="get_lock",
)


def mariadb_causes() -> list[Cause]:
    """Return its causes: its own first, the clean runs last."""
    return [*_writing(), *_reading(), _locking_all(), *_working(), *shared_causes(MARIADB)]


def _writing() -> list[Cause]:
    return [
        MARIADB.cause(
            "small-redo",
            "a redo log that the load fills in seconds",
            *(script("update_value"), "-c", "4"),
            finding="furious_flushing",
            sql=filled(1800, 20_000),
            settings={"innodb_log_file_size": "4M"},
            proves="InnoDB's flushing and the age of its checkpoint",
        ),
        MARIADB.cause(
            "no-purge",
            "a stopped InnoDB purge",
            *(script("update_value"), "-c", "4"),
            finding="purge_lag",
            sql=filled(10, 20_000),
            settings={**MARIADB.relaxed, "innodb_force_recovery": "2"},
            proves="InnoDB's history list",
        ),
    ]


def _reading() -> list[Cause]:
    return [
        MARIADB.cause(
            "small-pool",
            "a working set larger than the buffer pool, on slow storage",
            *("select-only", "-s", "3", "-c", "4"),
            finding="data_read",
            settings={"innodb_buffer_pool_size": "8M", **WAITS_ARE_TOLD},
            slow={"SLOW_READ_US": "500"},
            proves="waits of the performance schema, and the buffer pool's reads",
        ),
        MARIADB.cause(
            "converted-column",
            "lookups by a number in an indexed text column",
            *(script("select_by_id"), "-c", "4"),
            finding="missing_index",
            sql=filled(10, 20_000, key="varchar(10) primary key"),
        ),
        MARIADB.cause(
            "view-without-index",
            "lookups in a view, by a column without an index",
            *(script("select_from_view"), "-c", "4"),
            finding="missing_index",
            sql=f"""{MARIADB.keyless(10, 20_000)};
            create view planted_view as select id, value from planted as behind""",
            seconds=3,
            proves="rows that handlers read",
        ),
        MARIADB.cause(
            "temporary-tables",
            "sorts that do not fit into sort_buffer_size",
            *(script("sort"), "-c", "2"),
            finding="temporary_files",
            sql=filled(100, 20_000),
            settings={"sort_buffer_size": "32768", "tmp_table_size": "1M"},
            proves="temporary tables and merge passes",
        ),
    ]


def _locking_all() -> Cause:
    return MARIADB.cause(
        "locks-all",
        "updates that find their rows without an index",
        *(script("update_by_group"), "-c", "8"),
        finding="row_lock_convoy",
        sql="""
        create table planted (id int primary key, part int not null, value int not null);
        insert into planted select seq, seq % 20, 0 from seq_1_to_400;
        analyze table planted""",
        settings=MARIADB.relaxed,
    )


def _working() -> list[Cause]:
    """Return work that a transaction could do without; each has the same run without it."""
    return [
        MARIADB.cause(
            "statements-logged",
            "every statement in the general log",
            *(script("select_one"), "-c", "4"),
            finding="statement_logging",
            settings={"general_log": "ON"},
            otherwise={"settings": {}},
        ),
        MARIADB.cause(
            "instruments",
            "the performance schema with all of its instruments",
            *("select-only", "-s", "1", "-c", "4"),
            finding="instruments",
            settings=ALL_INSTRUMENTS,
            otherwise={"settings": {}},
        ),
        MARIADB.cause(
            "triggers",
            "updates with a trigger that updates a second table",
            *(script("update_value"), "-c", "4"),
            finding="trigger_work",
            sql=filled(10, 20_000) + COPIED,
            settings=MARIADB.relaxed,
            otherwise={"sql": filled(10, 20_000)},
        ),
        MARIADB.cause(
            "cache-of-the-kernel",
            "a buffer pool of 8 MB for 100,000 wide rows in the kernel's cache",
            *(script("select_many"), "-c", "4"),
            finding="page_copies",
            sql=filled(1000, 100_000),
            settings={"innodb_buffer_pool_size": "8M", "innodb_flush_method": "fsync"},
            otherwise={
                "settings": {"innodb_buffer_pool_size": "512M", "innodb_flush_method": "fsync"}
            },
        ),
    ]
