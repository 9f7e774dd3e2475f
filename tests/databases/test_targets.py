"""Targets as people write them, beside the URL of the connection that was made."""

import pytest

from dbdyno.databases.connecting import names_database, repeatable

POSTGRESQL = "postgresql://me@db:5432/app"
SOCKET = "postgresql://me@/app?host=/run/postgresql&port=5432"
MYSQL = "mysql://me@db:3306/app"
ODBC = "odbc:DSN=bench;UID=me"


@pytest.mark.parametrize(
    ("target", "url", "is_named"),
    [
        ("postgresql://db/app", POSTGRESQL, True),
        ("postgres://me:s3cret@db:5432/app?sslmode=require", POSTGRESQL, True),
        ("host=db dbname=app password=s3cret", POSTGRESQL, True),
        ("postgresql://db/other", POSTGRESQL, False),
        ("postgresql://db:5433/app", POSTGRESQL, False),
        ("postgresql:///app?host=/run/postgresql", SOCKET, True),
        ("postgresql://db/app", SOCKET, False),
        ("mariadb://db/app", MYSQL, True),
        ("mysql://you@db/app", MYSQL, False),
        ("mysql://db/app", POSTGRESQL, False),
        ("odbc:DSN=bench;PWD=s3cret", ODBC, True),
        ("odbc:DSN=other", ODBC, False),
    ],
)
def test_a_target_names_a_database_by_what_it_says(
    target: str, url: str, *, is_named: bool
) -> None:
    assert names_database(target, url) == is_named


@pytest.mark.parametrize(
    ("target", "url", "expected"),
    [
        ("postgresql://db/app", POSTGRESQL, POSTGRESQL),
        (
            "postgresql://me:s3cret@db/app?sslmode=verify-full&options=-c%20jit%3Doff",
            POSTGRESQL,
            f"{POSTGRESQL}?options=-c%20jit%3Doff&sslmode=verify-full",
        ),
        ("dbname=app sslpassword=s3cret sslmode=require", SOCKET, f"{SOCKET}&sslmode=require"),
        ("mysql://me:s3cret@db/app?ssl-ca=/ca.pem", MYSQL, f"{MYSQL}?ssl-ca=/ca.pem"),
        ("odbc:DSN=bench;UID=me;PWD=s3cret", ODBC, ODBC),
    ],
)
def test_a_repeatable_target_has_all_but_secrets(target: str, url: str, expected: str) -> None:
    assert repeatable(target, url) == expected
