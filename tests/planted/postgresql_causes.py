"""The truth set on PostgreSQL: problems of its heap, its WAL and its cache, planted in it."""

from tests.planted import disturbances
from tests.planted.causes import Cause, script, shared_causes
from tests.planted.postgresql_ground import POSTGRESQL, filled, in_partitions
from tests.planted.postgresql_work import causes_of_work


def postgresql_causes() -> list[Cause]:
    """Return its causes: its own first, the clean runs last."""
    return [
        *_writing(),
        *_reading(),
        *_reading_unseen(),
        _crashes(),
        _far_away(),
        *causes_of_work(),
        *shared_causes(POSTGRESQL),
        _clean(),
    ]


def _writing() -> list[Cause]:
    return [
        POSTGRESQL.cause(
            "full-page-writes",
            "full-page writes after checkpoints every two seconds, WAL on a disk of 33 MB/s",
            *(script("update_many"), "-c", "4"),
            finding="full_page_writes",
            sql=filled(100, 100_000, fillfactor=50),
            disturb=disturbances.checkpoints,
            seconds=9,
            slow={"SLOW_WAL_NS_A_BYTE": "30"},
            proves="pg_stat_wal, and checkpoints from the server's log",
        ),
        POSTGRESQL.cause(
            "indexed-column",
            "an index on the updated column",
            *(script("update_value"), "-c", "4"),
            finding="hot_updates",
            sql=filled(10, 20_000, fillfactor=50)
            + "; create index planted_value on planted (value)",
            proves="pg_stat_user_tables",
        ),
        POSTGRESQL.cause(
            "indexed-partitions",
            "an index on the updated column of a partitioned table",
            *(script("update_value"), "-c", "4"),
            finding="hot_updates",
            sql=in_partitions(20_000, 8) + "; create index planted_value on planted (value)",
            settings=POSTGRESQL.relaxed,
        ),
        POSTGRESQL.cause(
            "no-room",
            "fillfactor 100 with wide rows and three further indexes, WAL on a disk of 50 MB/s",
            *(script("update_long_rows"), "-c", "4"),
            finding="hot_updates",
            sql=filled(1800, 100_000) + "; create index on planted (id)" * 3,
            slow={"SLOW_WAL_NS_A_BYTE": "20"},
        ),
        POSTGRESQL.cause(
            "forgotten-transaction",
            "an abandoned prepared transaction",
            *(script("update_hot"), "-c", "4"),
            finding="long_transaction",
            sql=filled(10, 50),
            settings={**POSTGRESQL.relaxed, "max_prepared_transactions": "1"},
            disturb=disturbances.prepared_transaction,
            proves="pg_prepared_xacts",
        ),
    ]


def _reading() -> list[Cause]:
    return [
        POSTGRESQL.cause(
            "small-cache",
            "a working set larger than the cache, on slow storage",
            *("select-only", "-s", "3", "-c", "4"),
            finding="data_read",
            settings={"shared_buffers": "1MB"},
            slow={"SLOW_READ_US": "500"},
            proves="waits for reads, and pg_stat_database's blocks",
        ),
        POSTGRESQL.cause(
            "converted-column",
            "lookups that convert an indexed column",
            *(script("select_by_number"), "-c", "4"),
            finding="missing_index",
            sql=filled(10, 20_000),
            proves="plans of the script's statements",
        ),
        POSTGRESQL.cause(
            "temporary-files",
            "sorts that do not fit into work_mem",
            *(script("sort"), "-c", "2"),
            finding="temporary_files",
            sql=filled(100, 20_000),
            settings={"work_mem": "64kB", "max_parallel_workers_per_gather": "0"},
            proves="pg_stat_database's temporary files",
        ),
    ]


def _reading_unseen() -> list[Cause]:
    """Lookups without an index by statements that the script does not contain."""
    return [
        POSTGRESQL.cause(
            "view-without-index",
            "lookups in a view, by a column without an index",
            *(script("select_from_view"), "-c", "4"),
            finding="missing_index",
            sql=f"{POSTGRESQL.keyless(10, 20_000)}; create view planted_view as table planted",
            seconds=3,
            proves="sequential scans of tables that no script names",
        ),
        POSTGRESQL.cause(
            "foreign-key-without-index",
            "deletes from a table that a column without an index references",
            *(script("delete_referenced"), "-c", "4"),
            finding="missing_index",
            sql=f"""{filled(10, 20_000)};
            create table planted_details as select id as planted_id from planted;
            alter table planted_details add foreign key (planted_id) references planted""",
            settings=POSTGRESQL.relaxed,
            seconds=3,
        ),
        POSTGRESQL.cause(
            "trigger-without-index",
            "updates with a trigger that looks for rows without an index",
            *(script("update_value"), "-c", "4"),
            finding="missing_index",
            sql=f"""{filled(10, 20_000)};
            create table planted_details as select id as planted_id from planted;
            create function planted_check() returns trigger language plpgsql as $$
                begin perform from planted_details where planted_id = new.id; return new; end $$;
            create trigger planted_check before update on planted
                for each row execute function planted_check()""",
            settings=POSTGRESQL.relaxed,
            seconds=3,
        ),
        POSTGRESQL.cause(
            "function-without-index",
            "a function that looks for rows without an index",
            *(script("select_by_function"), "-c", "4"),
            finding="missing_index",
            sql=f"""{POSTGRESQL.keyless(10, 20_000)};
            create function planted_value(int) returns int stable language sql
                as 'select value from planted where id = $1'""",
            seconds=3,
        ),
    ]


def _crashes() -> Cause:
    return POSTGRESQL.cause(
        "crashes",
        "a server process killed every four seconds",
        *("select-only", "-s", "1", "-c", "4", "--max-failures", "100%"),
        finding="outage",
        disturb=disturbances.crashes,
        seconds=8,
        proves="the server's restart",
    )


def _far_away() -> Cause:
    return POSTGRESQL.cause(
        "far-away",
        "a network round trip of two milliseconds between load generator and server",
        *("tpcb", "-s", "20", "-c", "4"),
        finding="round_trips",
        load=("tpcb", "-s", "20"),
        settings=POSTGRESQL.relaxed,
        round_trip_ms=2.0,
        proves="round trips of the network",
    )


def _clean() -> Cause:
    return POSTGRESQL.cause("clean-tpcb", "tpcb at scale 20, 50/s", "tpcb", "-s", "20", "-R", "50")
