"""Data on MariaDB: its own load phases; by INSERT, with a message, where it accepts no files."""

from collections.abc import Callable, Iterator

import pytest

from dbdyno import engine
from dbdyno.databases.adapters import native_adapter
from dbdyno.errors import DbdynoError
from dbdyno.run.data_preparation import load_summary
from dbdyno.servers.base import Server
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.registry import find_workload


@pytest.fixture
def server(mariadb_server: Server, new_database: Callable[[Server], Server]) -> Server:
    return new_database(mariadb_server)


@pytest.fixture
def forbidden(server: Server) -> Iterator[None]:
    with server.connect() as connection:
        connection.execute("set global local_infile = off")
    yield
    with server.connect() as connection:
        connection.execute("set global local_infile = on")


def load_tpcb(server: Server, *, replace: bool = False) -> Prepared:
    with server.connect() as connection:
        return prepare_data(
            find_workload("tpcb"),
            {"scale": 1},
            Place(native_adapter("mysql"), connection, server.endpoint()),
            bulk=engine.load,
            options=LoadOptions(seed=1, jobs=1, replace=replace),
            watch=lambda _progress: None,
        )


def sums_of(server: Server) -> list[tuple[object, ...]]:
    """Checksums, which differ if two loads do not have the same rows."""
    tables = ("pgbench_accounts", "pgbench_tellers", "pgbench_branches")
    with server.connect() as connection:
        return connection.execute(f"checksum table {', '.join(tables)}").fetchall()


@pytest.mark.usefixtures("forbidden")
def test_rows_come_by_insert_where_files_are_not_taken(server: Server):
    report = load_tpcb(server).report
    assert "local_infile is off" in report.detour
    assert load_summary(report).endswith("SET GLOBAL local_infile = ON is faster")
    by_insert = [checksum for _, checksum in sums_of(server)]
    with server.connect() as connection:
        connection.execute("set global local_infile = on")
        connection.execute("drop table pgbench_accounts, pgbench_tellers, pgbench_branches")
        connection.execute("drop table pgbench_history")
    report = load_tpcb(server).report
    assert report.detour == ""
    assert [checksum for _, checksum in sums_of(server)] == by_insert


def test_errors_after_the_rows_are_reported_in_the_servers_words(server: Server):
    names = [phase.name for phase in load_tpcb(server).report.phases]
    assert names == ["create", "fill", "analyze", "keys", "foreign keys", "mark"]


def test_replace_drops_nothing_if_others_refer_to_it(server: Server):
    """The server itself drops the tables one by one, up to the one that a foreign key needs."""
    load_tpcb(server)
    sums = sums_of(server)
    with server.connect() as connection:
        connection.execute(
            "create table mine (b int, foreign key (b) references pgbench_branches (bid))"
        )
        connection.execute("insert into mine values (1)")
    with pytest.raises(DbdynoError) as caught:
        load_tpcb(server, replace=True)
    assert caught.value.code == "table_needed"
    assert ".mine depends on table pgbench_branches" in caught.value.message
    assert sums_of(server) == sums
    with server.connect() as connection:
        connection.execute("drop table mine")
    assert load_tpcb(server, replace=True).report
