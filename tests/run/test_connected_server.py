"""Control connections have no limits on time, which are for the load; the record still has them."""

from dbdyno.run.connected_server import connect_to
from dbdyno.servers.base import Server

LIMITS = ("statement_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout")


def test_postgresql(database: Server) -> None:
    name = database.endpoint().database
    with database.connect() as connection:
        for limit in LIMITS:
            connection.execute(f"alter database {name} set {limit} = '1min'".encode())
    with connect_to(database) as connected:
        for limit in LIMITS:
            assert connected.control.execute(f"show {limit}".encode()).fetchone() == ("0",)
        recorded = {one.name: one.value for one in connected.description().settings}
    assert recorded["statement_timeout"] == "60000"


def test_mariadb(mariadb_server: Server) -> None:
    with mariadb_server.connect() as administrator:
        administrator.execute("set global max_statement_time = 60")
        try:
            with connect_to(mariadb_server) as connected:
                limit = connected.control.execute("select @@max_statement_time").fetchone()
                recorded = {one.name: one.value for one in connected.description().settings}
        finally:
            administrator.execute("set global max_statement_time = 0")
    assert limit == (0,)
    assert float(recorded["max_statement_time"]) == 60
