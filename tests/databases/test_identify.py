"""Which database a server is, by what it says of itself and by what it answers."""

from typing import Any

import psycopg
import pytest

from dbdyno.databases.adapters import adapter_of
from dbdyno.databases.identify import identify
from dbdyno.databases.known import all_databases, native_database, recorded_database
from dbdyno.errors import DbdynoError
from dbdyno.explain.registry import all_rules
from dbdyno.servers.base import Server

POSTGRESQL = "PostgreSQL 16.4 (Debian 16.4-1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit"
STATISTICS, ENGINES, EXTENSION = "pg_stat_database", "information_schema.engines", "'citus'"


class Said:
    """A connection to a server that says this, and has these things."""

    closed = False

    def __init__(self, version: str, *has: str) -> None:
        self.version = version
        self.has = has
        self.product = version.split(maxsplit=1)[0]

    def execute(self, query: str) -> "Said":
        known = "version()" in query or any(thing in query for thing in self.has)
        if not known and "pg_extension" not in query:
            raise ValueError(query)
        self.answer = self.version if "version()" in query else int(known)
        return self

    def fetchone(self) -> tuple[Any]:
        return (self.answer,)


@pytest.mark.parametrize(
    ("protocol", "said", "name"),
    [
        ("postgresql", Said(POSTGRESQL, STATISTICS), "postgresql"),
        ("postgresql", Said(POSTGRESQL, STATISTICS, EXTENSION), "citus"),
        ("postgresql", Said(POSTGRESQL), "unknown"),
        (
            "postgresql",
            Said("CockroachDB CCL v24.1.3 (x86_64-pc-linux-gnu, built 2024/08/01, go1.22.5)"),
            "cockroachdb",
        ),
        (
            "postgresql",
            Said("PostgreSQL 11.2-YB-2024.1.1.0-b0 on x86_64-pc-linux-gnu", STATISTICS),
            "yugabytedb",
        ),
        ("mysql", Said("8.0.36", ENGINES), "mysql"),
        ("mysql", Said("8.0.36"), "unknown"),
        ("mysql", Said("10.11.6-MariaDB-0+deb12u1", ENGINES), "mariadb"),
        ("mysql", Said("8.0.11-TiDB-v8.1.0", ENGINES), "tidb"),
        ("odbc", Said("Oracle 19.0", STATISTICS), "oracle"),
        ("odbc", Said("SQLite 3.40"), "unknown"),
    ],
)
def test_what_servers_say(protocol, said, name) -> None:
    assert identify(protocol, said).name == name


@pytest.mark.parametrize(
    ("fixture", "name"), [("postgres_server", "postgresql"), ("mariadb_server", "mariadb")]
)
def test_real_servers(request: pytest.FixtureRequest, fixture: str, name: str) -> None:
    server: Server = request.getfixturevalue(fixture)
    with server.connect() as connection:
        assert server.database(connection).name == name


class Silent:
    """A connection to a server that understands no question, or has gone."""

    def __init__(self, closed: bool) -> None:
        self.closed = closed

    def execute(self, query: str) -> None:
        raise psycopg.OperationalError("server closed the connection unexpectedly")


def test_a_server_that_fails_to_answer_is_not_known() -> None:
    assert identify("postgresql", Silent(closed=False)).name == "unknown"


def test_a_connection_that_breaks_is_an_error() -> None:
    with pytest.raises(DbdynoError, match="cannot ask which database it is: server closed"):
        identify("postgresql", Silent(closed=True))


@pytest.mark.parametrize(
    ("server", "protocol", "name"),
    [
        ({"database": "citus", "product": "postgres"}, "postgresql", "citus"),
        ({"database": "one of tomorrow"}, "postgresql", "unknown"),
        ({"product": "mariadb"}, "mysql", "mariadb"),
        ({"product": "PostgreSQL"}, "odbc", "postgresql"),
        ({}, "mysql", "mysql"),
        ({}, "odbc", "unknown"),
    ],
)
def test_records_of_older_runs(server, protocol, name) -> None:
    assert recorded_database(server, protocol).name == name


@pytest.mark.parametrize("name", ["cockroachdb", "yugabytedb", "tidb", "citus"])
def test_those_from_documentation_say_so_and_have_their_own_words(name) -> None:
    database = all_databases()[name]
    assert database.known_from == "documentation"
    assert database.terms.against_conflicts
    assert database.terms.put_off != native_database(database.protocol).terms.put_off
    assert adapter_of(database, database.protocol)


@pytest.mark.parametrize("name", ["cockroachdb", "yugabytedb", "tidb", "unknown"])
def test_no_rule_about_what_it_does_not_do_looks(name) -> None:
    asked = {rule.id for rule in all_rules().values() if rule.is_for(all_databases()[name])}
    assert not asked & {
        "autovacuum_behind",
        "autovacuum_interference",
        "checkpoint_io",
        "full_page_writes",
        "hot_updates",
        "no_checkpoint_cycle",
        "purge_lag",
        "wal_write",
    }
