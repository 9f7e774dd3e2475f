"""Passwords in targets: no error quotes one, or tells which letters it has."""

import socket
from pathlib import Path

import msgspec
import pymysql
import pytest

from dbdyno.databases.mysql.driver.connecting import open_connection as open_mysql
from dbdyno.databases.passwords import refuse_unencoded
from dbdyno.databases.postgresql.driver.connecting import open_connection
from dbdyno.errors import DbdynoError
from dbdyno.model.secrets import Masker


@pytest.mark.parametrize("password", ["hu@sh", "hu/sh", "12/34", "hu%sh", "h@u/sh", "hu?s/h"])
def test_an_unencoded_password_is_refused_without_a_part_of_it(password: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        open_connection(f"postgresql://clerk:{password}@127.0.0.1:1/db")
    assert "is not encoded" in caught.value.message
    assert "%40 for @" in caught.value.hint
    assert not {"hu", "sh", "12", "34"} & {*str(caught.value).replace("@", " ").split()}


@pytest.mark.parametrize(
    "target",
    [
        "postgresql://clerk:hu%40sh@host:1/db?options=-cx%3Dy@z",
        "postgresql://clerk@host/d@b",
        "postgresql://host:1,other:2/db",
        "host=h password=a@b/c%",
    ],
)
def test_what_can_be_read_is_not_refused(target: str) -> None:
    refuse_unencoded(target)


def test_a_driver_that_ends_the_login_at_the_last_at_takes_it_as_it_is() -> None:
    refuse_unencoded("mysql://clerk:hu@sh%@host/db", ends_at_last_at=True)


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (["s"], "Access denied for user 'clerk'", "Access denied for user 'clerk'"),
        (["hush"], "no host hush: denied", "no host ***: denied"),
        (["(+"], "not (+ here", "not *** here"),
        (["a", "a b"], "a bit of 'a b'", "*** bit of '***'"),
        (["", None], "as it is", "as it is"),
    ],
)
def test_secrets_are_masked_where_they_stand_alone(
    secrets: list[str], text: str, expected: str
) -> None:
    masker = Masker(secrets)
    assert masker.text(text) == expected
    message = msgspec.msgpack.encode({"text": [text], "user": secrets[0], "octets": b"\0\xff"})
    kept = {"text": [expected], "user": secrets[0], "octets": b"\0\xff"}
    assert msgspec.msgpack.decode(masker.packed(message)) == kept


@pytest.mark.parametrize(
    "given",
    [
        "?client_encoding=LATIN1",
        "?options=-c%20client_encoding%3Dlatin1",
        "?service=western",
        "PGSERVICE",
        "PGCLIENTENCODING",
        "PGOPTIONS",
    ],
)
def test_another_encoding_is_refused_wherever_it_is_given(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pg_service.conf"
    file.write_text("[western]\nport=1\nclient_encoding=LATIN1\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    if not given.startswith("?"):
        values = {"PGSERVICE": "western", "PGOPTIONS": "-cclient_encoding=latin1"}
        monkeypatch.setenv(given, values.get(given, "latin1"))
        given = ""
    with pytest.raises(DbdynoError, match=r"(?i)client_encoding=latin1"):
        open_connection(f"postgresql://clerk@127.0.0.1/db{given}")


def test_utf8_in_any_spelling_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "utf-8")
    monkeypatch.setenv("PGOPTIONS", "-c client_encoding=UTF8")
    with pytest.raises(DbdynoError, match="refused"):
        open_connection("postgresql://clerk@127.0.0.1:1/db")


@pytest.mark.parametrize("error", [RuntimeError("a library is missing"), IndexError("short")])
def test_what_a_login_plugin_raises_is_an_error_with_a_next_step(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(_driver: object, _socket: socket.socket | None) -> None:
        raise error

    monkeypatch.setattr(pymysql.Connection, "connect", connect)
    with pytest.raises(DbdynoError) as caught:
        open_mysql("mysql://clerk:hush@127.0.0.1:1/db?no-defaults")
    assert caught.value.code == "no_rights"
    assert str(error) in caught.value.message
    assert "use another" in caught.value.hint
