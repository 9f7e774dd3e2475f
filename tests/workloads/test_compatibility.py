"""pgbench's tables and dbdyno's are the same in the catalog, and each tool runs on the other's."""

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.errors import DbdynoError
from dbdyno.servers.base import Server
from dbdyno.workloads.invariants import violations
from dbdyno.workloads.registry import find_workload
from tests.workloads.conftest import Prepare, no_rows, preparer, run_pgbench

CATALOG = {
    "tables": """
        select relname, relkind, relpersistence, reloptions,
            coalesce(pg_get_expr(relpartbound, oid), ''),
            case when relkind = 'p' then pg_get_partkeydef(oid) end
        from pg_class
        where relkind in ('r', 'p', 'i', 'I') and relnamespace = 'public'::regnamespace
        order by 1""",
    "columns": """
        select attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod),
            attnotnull, attstorage, attcompression, atthasdef
        from pg_attribute join pg_class c on c.oid = attrelid
        where relnamespace = 'public'::regnamespace and attnum > 0 order by 1, 2""",
    "constraints": """
        select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated
        from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2""",
}
PAGES = """
    select relname, relpages, relallvisible, reltuples::bigint
    from pg_class where relname like 'pgbench%' and relkind = 'r' order by 1"""


def catalog(server: Server) -> dict[str, list[Any]]:
    with server.connect() as connection:
        return {name: connection.execute(query).fetchall() for name, query in CATALOG.items()}


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({}, []),
        ({"unlogged": True}, ["--unlogged-tables"]),
        ({"fillfactor": 80, "foreign_keys": True}, ["-F", "80", "-I", "dtgvpf"]),
        ({"partitions": 3}, ["--partitions=3"]),
        (
            {"partitions": 2, "partition_method": "hash", "unlogged": True, "foreign_keys": True},
            ["--partitions=2", "--partition-method=hash", "--unlogged-tables", "-I", "dtgvpf"],
        ),
    ],
)
def test_the_catalog_sees_no_difference(
    embedded_server: Server,
    new_database: Callable[[Server], Server],
    given: dict[str, Any],
    options: list[str],
) -> None:
    own, pgbench_database = new_database(embedded_server), new_database(embedded_server)
    run_pgbench(pgbench_database, "-i", "-q", *options)
    with own.connect() as connection:
        preparer(own, connection)("tpcb", bulk=no_rows, **given)
    assert catalog(own) == catalog(pgbench_database)


def test_rows_and_pages_are_the_same(
    any_server: Server, new_database: Callable[[Server], Server]
) -> None:
    own, pgbench_database = new_database(any_server), new_database(any_server)
    run_pgbench(pgbench_database, "-i", "-q")
    with own.connect() as connection:
        preparer(own, connection)("tpcb")
    assert facts(own) == facts(pgbench_database)


def facts(server: Server) -> dict[str, Any]:
    """Contents, sizes, and the numbers of all-visible and all-frozen pages."""
    with server.connect() as connection:
        connection.execute("create extension pg_visibility")
        contents = {
            table: connection.execute(
                f"select count(*), md5(string_agg(t::text, ',' order by t::text)) from {table} t"
            ).fetchone()
            for table in ("pgbench_accounts", "pgbench_tellers", "pgbench_branches")
        }
        visible = connection.execute(
            "select count(*), count(*) filter (where all_visible), "
            "count(*) filter (where all_frozen) from pg_visibility('pgbench_accounts')"
        ).fetchone()
        pages = connection.execute(PAGES).fetchall()
    return {"contents": contents, "visible": visible, "pages": pages}


def test_pieces_end_up_as_frozen(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", jobs=4)
    connection.execute("create extension pg_visibility")
    query = "select bool_and(all_visible and all_frozen) from pg_visibility('pgbench_accounts')"
    assert connection.execute(query).fetchone() == (True,)


def test_partitions_are_frozen_too(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", partitions=2)
    connection.execute("create extension pg_visibility")
    query = "select bool_and(all_frozen) from pg_visibility('pgbench_accounts_2')"
    assert connection.execute(query).fetchone() == (True,)


def test_pgbench_runs_on_our_tables(prepare: Prepare, database: Server) -> None:
    prepare("tpcb", scale=1)
    output = run_pgbench(database, "-t", "20", "-c", "2", "-n")
    assert "scaling factor: 1" in output
    assert "number of transactions actually processed: 40/40" in output
    with database.connect() as connection:
        workload = find_workload("tpcb")
        assert violations(workload.check(ADAPTER, connection, workload.complete({}))) == []


def test_pgbenchs_tables_are_used_as_they_are(prepare: Prepare, database: Server) -> None:
    run_pgbench(database, "-i", "-q", "-s", "2", "-F", "90")
    prepared = prepare("select-only")
    assert prepared.values["scale"] == 2
    assert prepared.made_by == "pgbench"
    assert not prepared.is_loaded_by_dbdyno
    assert prepared.report is None


@pytest.mark.parametrize("rest", ["aid <= 500", "aid % 200 = 0", "false"])
def test_tables_that_lack_most_rows_of_their_scale_are_refused(
    prepare: Prepare, connection: Connection, database: Server, rest: str
) -> None:
    """A load that was interrupted, a sample, an emptied table: reads would find nothing."""
    run_pgbench(database, "-i", "-q", "-s", "1")
    connection.execute(f"delete from pgbench_accounts where not ({rest})")
    with pytest.raises(DbdynoError, match=r"pgbench_accounts has [0-5] of 1000 rows") as caught:
        prepare("select-only")
    assert "--replace" in caught.value.hint


def test_keys_widen_at_large_scale(
    embedded_server: Server, new_database: Callable[[Server], Server]
) -> None:
    own, pgbench_database = new_database(embedded_server), new_database(embedded_server)
    run_pgbench(pgbench_database, "-i", "-q", "-I", "dtp", "-s", "20000")
    with own.connect() as connection:
        preparer(own, connection)("tpcb", bulk=no_rows, scale=20_000)
    assert catalog(own) == catalog(pgbench_database)
