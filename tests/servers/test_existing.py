"""Existing servers: found in all of libpq's ways, and refusals that say what to do."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict

from dbdyno.databases.postgresql.driver.connecting import CONNECT_TIMEOUT_MAX_S
from dbdyno.databases.postgresql.driver.place import data_directory
from dbdyno.databases.postgresql.driver.refusals import refusal
from dbdyno.errors import DbdynoError
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.rights import another_account

SECRET = "s3cret word"
PIDS_MAX = 1 << 22
"""The kernel gives no process a higher number."""


@pytest.fixture(scope="module")
def tcp_server() -> Iterator[Server]:
    with start_private(ServerSpec(settings=SMALL), connections=8, tcp=True) as server:
        with server.connect() as connection:
            connection.execute(f"create role guest login password '{SECRET}' connection limit 0")
            connection.execute(f"create role clerk login password '{SECRET}'")
            connection.execute("create role closed nologin password 'x'")
        yield server


def port_of(server: Server) -> int:
    address = server.endpoint().address.tcp
    assert address
    return address.port


def socket_folder(server: Server) -> str:
    address = server.endpoint().address.unix
    assert address
    return str(Path(address.path).parent)


def is_same(one: Server, other: Server) -> bool:
    return one.process_id == other.process_id and one.data_directory == other.data_directory


def test_a_url_with_a_unix_socket(postgres_server: Server) -> None:
    server = use_existing(f"postgresql://postgres@/postgres?host={socket_folder(postgres_server)}")
    assert server.kind == "existing"
    assert not server.is_private
    assert server.endpoint().address == postgres_server.endpoint().address
    assert is_same(server, postgres_server)


def test_its_url_leads_back_to_it(postgres_server: Server, tcp_server: Server) -> None:
    assert use_existing(postgres_server.url).url == postgres_server.url
    with pytest.raises(DbdynoError, match="no password supplied"):
        use_existing(tcp_server.url)


def test_the_environment_alone(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", socket_folder(postgres_server))
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=7MB")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    monkeypatch.setenv("PGDATESTYLE", "default")
    server = use_existing()
    parameters = server.endpoint().parameters
    assert (parameters["options"], parameters["timezone"]) == ("-c work_mem=7MB", "Asia/Tokyo")
    assert "datestyle" not in parameters
    with server.connect() as connection:
        assert connection.execute("show work_mem").fetchone() == ("7MB",)


def test_the_environments_patience_is_kept(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert use_existing(postgres_server.conninfo).endpoint().connect_timeout_ns == 10 * 10**9
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    assert use_existing(postgres_server.conninfo).endpoint().connect_timeout_ns == 3 * 10**9


def test_a_timeout_may_be_a_fraction_or_longer_than_any_life(postgres_server: Server) -> None:
    server = use_existing(f"{postgres_server.conninfo} connect_timeout=2.5")
    assert server.endpoint().connect_timeout_ns == 2 * 10**9
    server = use_existing(f"{postgres_server.conninfo} connect_timeout=1e30")
    assert server.endpoint().connect_timeout_ns == CONNECT_TIMEOUT_MAX_S * 10**9


def test_a_service_file_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICEFILE", "/nowhere/services")
    with pytest.raises(DbdynoError) as caught:
        use_existing("service=mine")
    assert "/nowhere/services" in caught.value.message
    assert "PGSERVICEFILE" in caught.value.hint


@pytest.mark.parametrize(
    ("host", "tried", "is_named"),
    [
        ("10.0.0.1", ["no encryption"], True),
        ("10.0.0.1", ["SSL off"], True),
        ("10.0.0.1", ["SSL encryption", "no encryption"], False),
        ("[local]", ["no encryption"], False),
    ],
)
def test_encryption_is_named_where_it_was_not_tried(
    host: str, tried: list[str], is_named: bool
) -> None:
    entry = f'FATAL:  no pg_hba.conf entry for host "{host}", user "u", database "d", '
    text = "\n".join(entry + each for each in tried)
    assert ("sslmode" in refusal(psycopg.OperationalError(text), {}).hint) == is_named


def test_a_service_file_and_a_passfile(
    tcp_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = port_of(tcp_server)
    services, passwords = tmp_path / "services", tmp_path / "passwords"
    services.write_text(f"[bench]\nhost=127.0.0.1\nport={port}\nuser=clerk\ndbname=postgres\n")
    passwords.write_text(f"127.0.0.1:{port}:*:clerk:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    endpoint = use_existing("service=bench").endpoint()
    assert (endpoint.user, endpoint.password, endpoint.database) == ("clerk", SECRET, "postgres")


def test_the_answering_one_of_several_hosts_is_used(tcp_server: Server) -> None:
    port = port_of(tcp_server)
    target = f"host=127.0.0.1,127.0.0.1 port=1,{port} user=clerk dbname=postgres"
    server = use_existing(f"{target} password='{SECRET}'")
    assert server.endpoint().address.tcp == tcp_server.endpoint().address.tcp
    assert conninfo_to_dict(server.conninfo)["port"] == str(port)
    with server.connect() as connection:
        assert connection.info.port == port


def test_a_name_that_need_not_be_looked_up(tcp_server: Server) -> None:
    port = port_of(tcp_server)
    named = f"host=name.invalid hostaddr=127.0.0.1 port={port} user=clerk dbname=postgres"
    tcp = use_existing(f"{named} password='{SECRET}'").endpoint().address.tcp
    assert tcp
    assert (tcp.host, tcp.numeric) == ("name.invalid", "127.0.0.1")


def test_later_connections_go_to_the_address_that_answered(tcp_server: Server) -> None:
    """The same name may lead to another server the next time."""
    target = f"host=localhost port={port_of(tcp_server)} user=clerk dbname=postgres"
    server = use_existing(f"{target} password='{SECRET}'")
    later = conninfo_to_dict(server.conninfo)
    assert (later["host"], later["hostaddr"]) == ("localhost", "127.0.0.1")
    with server.connect() as connection:
        assert connection.info.hostaddr == "127.0.0.1"


@pytest.mark.parametrize("condition", ["require_auth=scram-sha-256", "sslcrl=/none.crl"])
def test_a_condition_that_the_load_would_not_keep_is_refused(
    tcp_server: Server, condition: str
) -> None:
    target = f"host=127.0.0.1 port={port_of(tcp_server)} user=clerk dbname=postgres"
    with pytest.raises(DbdynoError, match=condition) as raised:
        use_existing(f"{target} password='{SECRET}' sslmode=disable {condition}")
    assert "verify-full" in raised.value.hint


def test_a_folder_named_by_a_remote_server_is_not_taken_for_a_local_one(tmp_path: Path) -> None:
    """Two machines of one distribution store their data in the same place."""

    def execute(query: str) -> Any:
        answer = PIDS_MAX + 1 if "pg_backend_pid" in query else str(tmp_path)
        return SimpleNamespace(fetchone=lambda: (answer,))

    info = SimpleNamespace(backend_pid=PIDS_MAX + 1, dbname="postgres")
    elsewhere: Any = SimpleNamespace(info=info, execute=execute)
    assert data_directory(elsewhere) is None


def test_stopping_leaves_it_running(postgres_server: Server) -> None:
    with use_existing(postgres_server.conninfo):
        pass
    with postgres_server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_properties_hidden_from_a_user_are_unknown(tcp_server: Server) -> None:
    port = port_of(tcp_server)
    server = use_existing(
        f"host=127.0.0.1 port={port} user=clerk password='{SECRET}' dbname=postgres"
    )
    assert server.data_directory is None


@pytest.mark.parametrize(
    ("target", "code", "expected"),
    [
        ("host=127.0.0.1 port=1 user=clerk", "unreachable", "port 1 failed: Connection refused"),
        ("host=/nowhere user=clerk", "unreachable", "/nowhere/.s.PGSQL"),
        ("host=name.invalid user=clerk", "unreachable", "name.invalid"),
        ("user=clerk dbname=none", "missing_database", 'database "none" does not exist'),
        ("user=guest dbname=postgres", "too_many_connections", 'role "guest"'),
        ("user=clerk dbname=postgres password=wrong", "wrong_password", 'user "clerk"'),
        ("user=nobody_at_all dbname=postgres", "wrong_password", "nobody_at_all"),
        ("host=127.0.0.1 port=abc user=clerk", "bad_target", '"abc"'),
        ("host=localhost port=abc user=clerk", "bad_target", "failed to resolve host"),
        ("host=127.0.0.1 port=99999 user=clerk", "bad_target", '"99999"'),
        ("user=clerk dbname=postgres target_session_attrs=standby", "not_ready", "hot standby"),
        ("service=unheard_of", "bad_target", "unheard_of"),
        ("user=clerk connect_timeout=soon", "bad_target", "'soon'"),
        ("user=clerk sslmode=maybe", "bad_target", '"maybe"'),
        ("postgresql://cl%ffrk@host/db", "bad_target", "not UTF-8"),
        ("postgresql://clerk@host/db?colour=red", "bad_target", "colour"),
        ("just words", "bad_target", "just"),
    ],
)
def test_a_refusal_states_the_problem_and_the_remedy(
    tcp_server: Server, monkeypatch: pytest.MonkeyPatch, target: str, code: str, expected: str
) -> None:
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(port_of(tcp_server)))
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(DbdynoError) as caught:
        use_existing(target)
    assert caught.value.code == code
    assert expected in caught.value.message
    assert caught.value.hint
    assert SECRET not in str(caught.value)


@another_account
def test_a_socket_that_another_account_may_not_open(postgres_server: Server) -> None:
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        with pytest.raises(DbdynoError) as caught:
            use_existing(postgres_server.conninfo)
    finally:
        os.seteuid(0)
    assert caught.value.code == "no_rights"
    assert "the server's socket" in caught.value.hint


def test_a_role_that_does_not_exist(postgres_server: Server) -> None:
    with pytest.raises(DbdynoError) as caught:
        use_existing(f"host={socket_folder(postgres_server)} user=nobody_at_all dbname=postgres")
    assert caught.value.code == "missing_user"


@pytest.mark.parametrize(
    "target",
    [
        "postgresql://clerk:hush hush@host/db",
        "postgresql://clerk:hush%zzhush@host/db",
        "postgresql://clerk:hush@host/db?password=hush hush",
        "host=x password=hush hush",
        "postgresql://clerk:hush@host:port/db",
        "clerk:hush@host/db",
    ],
)
def test_no_message_holds_a_password(target: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        use_existing(target)
    assert "hush" not in str(caught.value)


def test_a_server_without_free_connections_is_reported(home: Path) -> None:
    settings = {**SMALL, "max_connections": "2", "superuser_reserved_connections": "0"}
    with start_private(ServerSpec(settings=settings), connections=1) as server:
        held: list[Connection] = [server.connect(), server.connect()]
        with pytest.raises(DbdynoError) as caught:
            server.connect()
        for connection in held:
            connection.close()
    assert caught.value.code == "too_many_connections"
