"""Servers behind their ODBC drivers: the same servers, reached in another way."""

from typing import Any

import pytest
from msgspec import Struct

from dbdyno.model.plan import Address, Endpoint, OdbcAddress
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres


class Behind(Struct, frozen=True):
    """A server, and the attributes that its driver needs."""

    server: Any
    attributes: str
    user: str
    product: str

    def endpoint(self, more: str = "", **changes: Any) -> Endpoint:
        address = Address(odbc=OdbcAddress(attributes=self.attributes + more))
        known = {"protocol": "odbc", "address": address, "user": self.user, "database": ""}
        return Endpoint(**{**known, **changes})

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements beside the load; return the rows of the last."""
        if isinstance(self.server, MariaDB):
            return self.server.execute(*statements)
        with self.server.connect() as connection:
            cursor = None
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor and cursor.description else []


def behind_psqlodbc(server: Postgres) -> Behind:
    place = f"Servername=127.0.0.1;Port={server.port};Database=postgres"
    return Behind(server, f"Driver={{PostgreSQL Unicode}};{place}", "postgres", "PostgreSQL")


def behind_maodbc(server: MariaDB) -> Behind:
    place = f"Socket={server.socket_path};Database=load_test"
    return Behind(server, f"Driver={{MariaDB Unicode}};{place}", "loader", "MariaDB")


@pytest.fixture(params=["postgresql", "mariadb"])
def behind(request: pytest.FixtureRequest) -> Behind:
    """Each driver in turn."""
    if request.param == "postgresql":
        return behind_psqlodbc(request.getfixturevalue("local"))
    return behind_maodbc(request.getfixturevalue("mariadb"))
