"""ODBC connection strings: how they are parsed, and what is never shown."""

import pytest

from dbdyno.databases.connecting import protocol_of
from dbdyno.databases.odbc.driver import manager
from dbdyno.databases.odbc.driver.attributes import connection_string, read_target
from dbdyno.errors import DbdynoError
from dbdyno.store.secrets import without_password
from tests.support.endpoints import endpoint_at


@pytest.mark.parametrize(
    ("target", "place", "user", "password"),
    [
        ("odbc:DSN=x", "DSN=x", "", None),
        ("odbc:Driver={A b};Server=s;UID=u;PWD=p", "Driver={A b};Server=s", "u", "p"),
        ("ODBC: uid = u ; DSN=x ; pwd={a;b}}c};", "DSN=x", "u", "a;b}c"),
        ("odbc:DSN=x;User=u;Password=;Port=1", "DSN=x;Port=1", "u", ""),
    ],
)
def test_user_and_password_are_separated_from_an_odbc_target(target, place, user, password) -> None:
    assert protocol_of(target) == "odbc"
    found = read_target(target)
    assert (found.place, found.user, found.password) == (place, user, password)
    assert read_target("odbc:" + connection_string(found)) == found


@pytest.mark.parametrize("target", ["odbc:", "odbc:;;", "odbc:UID=u", "odbc:nothing", "odbc:{a}=b"])
def test_a_malformed_connection_string_is_refused(target) -> None:
    with pytest.raises(DbdynoError, match="not an ODBC connection string"):
        read_target(target)


def test_other_secrets_are_refused_and_not_repeated() -> None:
    with pytest.raises(DbdynoError, match="AccessToken looks like a secret") as caught:
        read_target("odbc:DSN=x;AccessToken=very-private")
    assert "very-private" not in str(caught.value)


def test_a_password_in_a_connection_string_is_masked() -> None:
    for text in ("odbc:DSN=x;PWD=tiger;Port=1", "odbc:DSN=x;pwd={ti ger};Port=1"):
        assert "ger" not in without_password(text)


def test_a_missing_driver_names_what_to_install() -> None:
    with pytest.raises(DbdynoError) as caught:
        endpoint_at("odbc:Driver={Nobody's};Server=nowhere;PWD=tiger")
    assert "install the database's ODBC driver" in caught.value.hint
    assert "tiger" not in str(caught.value)


def test_a_missing_driver_manager_names_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(manager, "NAMES", ("libodbc-of-nobody.so",))
    manager.library.cache_clear()
    with pytest.raises(DbdynoError) as caught:
        endpoint_at("odbc:DSN=x")
    manager.library.cache_clear()
    assert "apt-get install unixodbc" in caught.value.hint
