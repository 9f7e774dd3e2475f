"""What clients beside the load leave on a server of the user's."""

from dataclasses import replace

from dbdyno.run.bystanders.bystander import Bystander
from dbdyno.servers.base import Server

TABLES = "select count(*) from pg_tables where tablename like 'dbdyno_witness_%'"


def test_a_table_that_cannot_be_dropped_is_named(database: Server) -> None:
    said: list[str] = []
    bystander = Bystander("witness", database.connect)
    with database.connect() as connection:
        connection.execute(f"create table {bystander.table} (n int)".encode())
        (name,) = connection.execute("select current_database()").fetchone()
        connection.execute(f"alter database {name} set default_transaction_read_only = on".encode())
    bystander.drop(replace(database, kind="existing"), said.append)
    (text,) = said
    assert "read-only transaction" in text
    assert text.endswith(f"to remove it: drop table {bystander.table};")
    with database.connect() as connection:
        assert connection.execute(TABLES).fetchone() == (1,)


def test_a_table_that_is_dropped_is_no_news(database: Server) -> None:
    said: list[str] = []
    bystander = Bystander("witness", database.connect)
    with database.connect() as connection:
        connection.execute(f"create table {bystander.table} (n int)".encode())
    bystander.drop(replace(database, kind="existing"), said.append)
    assert said == []
    with database.connect() as connection:
        assert connection.execute(TABLES).fetchone() == (0,)


def test_a_table_that_a_private_server_keeps_is_no_news(database: Server) -> None:
    """It goes with its server; a table that can be dropped is: further runs may use the server."""
    said: list[str] = []
    private = replace(database, kind="private")
    bystander = Bystander("witness", database.connect)
    with database.connect() as connection:
        connection.execute(f"create table {bystander.table} (n int)".encode())
    bystander.drop(private, said.append)
    with database.connect() as connection:
        assert connection.execute(TABLES).fetchone() == (0,)
    bystander.drop(private, said.append)
    assert said == []
