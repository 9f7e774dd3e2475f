"""Existing MySQL and MariaDB servers, and refusals that say what to do."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pymysql import OperationalError

from dbdyno.cli import main
from dbdyno.databases.mysql.driver.login import login_of
from dbdyno.databases.mysql.driver.refusals import refusal
from dbdyno.databases.mysql.over_mysql import ADAPTER
from dbdyno.errors import DbdynoError
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL_INNODB
from tests.engine.certificates import locked
from tests.engine.proxies import listening_tcp
from tests.support.ended import ENDED
from tests.support.patience import eventually

SECRET = "s3cret wörd"
PART_OF_A_GREETING = b"\x4a\x00\x00\x00\x0a10.11"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-keyout", folder / "server.key", "-out", folder / "server.crt"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, *files, *names], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tcp_server(certificate: Path) -> Iterator[Server]:
    settings = {
        **SMALL_INNODB,
        "ssl_cert": str(certificate / "server.crt"),
        "ssl_key": str(certificate / "server.key"),
        "ssl_ca": str(certificate / "server.crt"),
        "extra_max_connections": "1",
        "plugin_load_add": "auth_pam_v1",
    }
    spec = ServerSpec("mariadb", settings=settings)
    with start_private(spec, connections=8, tcp=True) as server:
        with server.connect() as connection:
            accounts = {"clerk": "none", "guarded": "ssl", "certified": "x509"}
            for account, needs in accounts.items():
                connection.execute(
                    f"create user {account}@'%' identified by '{SECRET}' require {needs}"
                )
                connection.execute(f"grant all on dbdyno.* to {account}@'%'")
            connection.execute("install soname 'auth_ed25519'")
            connection.execute(
                f"create user signer@'%' identified via ed25519 using password('{SECRET}')"
            )
            connection.execute("create user questioned@'%' identified via pam")
            connection.execute("grant all on dbdyno.* to signer@'%', questioned@'%'")
            connection.execute("create user busy@'%' with max_user_connections 1")
            connection.execute("create user closed@'%' account lock")
        yield server


def port_of(server: Server) -> int:
    address = server.endpoint().address.tcp
    assert address
    return address.port


@pytest.fixture
def url(tcp_server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's address, with the password in the environment."""
    monkeypatch.setenv("MYSQL_PWD", SECRET)
    return f"127.0.0.1:{port_of(tcp_server)}"


def test_a_socket_leads_to_the_same_server(mariadb_server: Server) -> None:
    server = use_existing(mariadb_server.url)
    assert not server.is_private
    assert server.url == mariadb_server.url
    assert server.process_id == mariadb_server.process_id
    assert server.data_directory == mariadb_server.data_directory
    with server.connect() as connection:
        assert connection.execute("select database()").fetchone() == ("dbdyno",)


def test_tcp_with_a_password_beyond_latin(tcp_server: Server, url: str) -> None:
    server = use_existing(f"mysql://clerk@{url}/dbdyno")
    endpoint = server.endpoint()
    assert (endpoint.user, endpoint.password, endpoint.database) == ("clerk", SECRET, "dbdyno")
    assert server.process_id == tcp_server.process_id
    assert SECRET not in server.url
    assert SECRET not in repr(server)


def test_later_connections_go_to_the_address_that_answered(url: str) -> None:
    """The same name may lead to another server the next time."""
    server = use_existing(f"mysql://clerk@{url.replace('127.0.0.1', 'localhost')}/dbdyno")
    tcp = server.endpoint().address.tcp
    assert tcp
    assert (tcp.host, tcp.numeric) == ("localhost", "127.0.0.1")
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert "hostaddr=127.0.0.1" in server.conninfo


def test_a_name_that_need_not_be_looked_up(tcp_server: Server, url: str) -> None:
    named = f"mysql://clerk@name.invalid:{port_of(tcp_server)}/dbdyno?hostaddr=127.0.0.1"
    server = use_existing(named)
    assert server.process_id == tcp_server.process_id
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_an_address_that_nobody_answers_at_is_named() -> None:
    with pytest.raises(DbdynoError, match=r"on '127\.0\.0\.1' .*refused"):
        use_existing("mysql://clerk@name.invalid:1/dbdyno?hostaddr=127.0.0.1")


def test_later_connections_need_no_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = use_existing(f"mysql://clerk@{url}/dbdyno")
    monkeypatch.delenv("MYSQL_PWD")
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("requested", "agreed"),
    [
        ("DISABLED", "disable"),
        ("PREFERRED", "require"),
        ("REQUIRED", "require"),
        ("VERIFY_CA", "verify-ca"),
        ("VERIFY_IDENTITY", "verify-full"),
    ],
)
def test_the_tls_mode_is_the_one_agreed(
    url: str, certificate: Path, requested: str, agreed: str
) -> None:
    roots = certificate / "server.crt"
    tls = use_existing(f"mysql://clerk@{url}/?ssl-mode={requested}&ssl-ca={roots}").endpoint().tls
    assert tls.mode == agreed
    assert tls.root_certificates == (str(roots) if agreed.startswith("verify") else None)


@pytest.mark.parametrize(
    ("who", "rest", "code", "expected"),
    [
        ("clerk:wrong", "/dbdyno", "wrong_password", "clerk"),
        ("nobody", "/dbdyno", "wrong_password", "nobody"),
        ("guarded", "/dbdyno?ssl-mode=DISABLED", "wrong_password", "guarded"),
        ("clerk", "/none_such", "no_rights", "none_such"),
        ("closed:", "/?no-defaults", "no_rights", "locked"),
        ("clerk", "/dbdyno?ssl-mode=VERIFY_CA&no-defaults", "tls_failed", "certificate"),
        ("clerk", "/dbdyno?ssl-ca=/nowhere.pem", "tls_failed", "/nowhere.pem"),
    ],
)
def test_a_refusal_states_the_problem_and_the_remedy(
    url: str, who: str, rest: str, code: str, expected: str
) -> None:
    with pytest.raises(DbdynoError) as caught:
        use_existing(f"mysql://{who}@{url}{rest}")
    assert (caught.value.code, expected in caught.value.message) == (code, True), caught.value
    assert caught.value.hint
    assert SECRET not in str(caught.value)


def test_a_run_with_an_account_of_ed25519(url: str, home: Path, tmp_path: Path) -> None:
    """Telemetry, the checks and the load: each logs in by it."""
    script = tmp_path / "one.sql"
    script.write_text("select 1;")
    load = ["run", str(script), "-c", "2", "-t", "5", "--warmup", "0", "--telemetry", "full"]
    assert main([*load, "--target", f"mysql://signer@{url}/dbdyno"]) in ENDED


def test_a_wrong_password_of_an_account_of_ed25519(url: str) -> None:
    with pytest.raises(DbdynoError, match="Access denied for user 'signer'") as caught:
        use_existing(f"mysql://signer:wrong@{url}/dbdyno")
    assert caught.value.code == "wrong_password"


@pytest.mark.parametrize("command", ["run", "load", "check"])
def test_an_account_of_pam_is_refused_by_the_name_of_its_method(
    url: str, home: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "tpcb", "--target", f"mysql://questioned@{url}/dbdyno"]) == 1
    said = capsys.readouterr().err
    assert "the authentication method dialog, which is not supported" in said
    assert "use an account with one of mysql_native_password" in said
    assert "PAM" in said


@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED"])
def test_a_certificate_is_presented_however_strict_the_encryption(
    url: str, certificate: Path, mode: str
) -> None:
    files = [str(certificate / name) for name in ("server.crt", "server.key")]
    given = f"ssl-mode={mode}&ssl-cert={files[0]}&ssl-key={files[1]}"
    tls = use_existing(f"mysql://certified@{url}/dbdyno?{given}").endpoint().tls
    assert [tls.mode, tls.certificate, tls.key] == ["require", *files]


def test_no_prompt_for_the_passphrase_of_a_key(url: str, certificate: Path, tmp_path: Path) -> None:
    key = locked(certificate / "server.key", tmp_path)
    given = f"ssl-mode=REQUIRED&ssl-cert={certificate / 'server.crt'}&ssl-key={key}"
    with pytest.raises(DbdynoError) as caught:
        use_existing(f"mysql://clerk@{url}/dbdyno?{given}")
    assert (caught.value.code, str(key) in caught.value.message) == ("tls_failed", True)
    assert f"openssl pkey -in {key} -out FILE" in caught.value.hint


def test_a_target_that_requires_tls_gets_it(url: str) -> None:
    assert use_existing(f"mysql://guarded@{url}/dbdyno").endpoint().tls.mode == "require"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("mysql://u@127.0.0.1:1/d", "refused"),
        ("mysql://u@name.invalid/d", "name.invalid"),
        ("mysql://u@localhost/d?socket=/nowhere/mysql.sock", "socket /nowhere/mysql.sock: "),
    ],
)
def test_a_server_that_is_not_there(target: str, expected: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        use_existing(target)
    assert caught.value.code == "unreachable"
    assert expected in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("first", [b"", PART_OF_A_GREETING])
def test_a_server_that_accepts_and_sends_nothing(first: bytes) -> None:
    def fall_silent(visitor: socket.socket) -> None:
        visitor.sendall(first)
        visitor.recv(1)

    with listening_tcp(fall_silent) as address:
        assert address.tcp
        with pytest.raises(DbdynoError) as caught:
            use_existing(f"mysql://u@127.0.0.1:{address.tcp.port}/d?connect-timeout=1")
    assert caught.value.code == "unreachable"
    assert "timed out" in caught.value.message


def test_patience_with_a_login_does_not_limit_statements(tcp_server: Server, url: str) -> None:
    server = use_existing(f"mysql://clerk@{url}/dbdyno?connect-timeout=1")
    with server.connect() as connection:
        assert connection.execute("select sleep(1.5)").fetchone() == (0,)


def test_a_session_may_be_idle_for_longer_than_the_server_lets_others(
    mariadb_server: Server,
) -> None:
    with mariadb_server.connect() as control:
        control.execute("set global wait_timeout = 1")
        try:
            with mariadb_server.connect() as idle:
                control.execute("select sleep(2.5)")
                assert idle.execute("select 1").fetchone() == (1,)
        finally:
            control.execute("set global wait_timeout = default")


def test_a_database_that_is_not_there(mariadb_server: Server) -> None:
    with pytest.raises(DbdynoError) as caught:
        use_existing(mariadb_server.url.replace("localhost/dbdyno", "localhost/none_such"))
    assert caught.value.code == "missing_database"


def wait_until_none_is(server: Server, user: str) -> None:
    """Waits for closed sessions: they count as the user's until the server notices."""
    query = "select count(*) from information_schema.processlist where user = %s"
    with server.connect() as connection:
        eventually(
            lambda: connection.execute(query, [user]).fetchone(), lambda found: found == (0,)
        )


def test_a_user_who_has_all_their_connections(tcp_server: Server) -> None:
    target = f"mysql://busy@127.0.0.1:{port_of(tcp_server)}/?no-defaults"
    server = use_existing(target)
    wait_until_none_is(tcp_server, "busy")
    with server.connect(), pytest.raises(DbdynoError) as caught:
        server.connect()
    assert caught.value.code == "too_many_connections"


def test_connections_that_an_account_has_left(tcp_server: Server) -> None:
    target = f"mysql://busy@127.0.0.1:{port_of(tcp_server)}/?no-defaults"
    server = use_existing(target)
    wait_until_none_is(tcp_server, "busy")
    with server.connect() as connection:
        free = ADAPTER.free_connections(connection)
    assert free.count == 0
    assert free.reason == "the user's max_user_connections 1, 0 in use and one by us"


def test_a_statement_of_a_load_is_a_transaction_whatever_the_servers_default(
    mariadb_server: Server, new_database: Callable[[Server], Server], home: Path, tmp_path: Path
) -> None:
    database = new_database(mariadb_server)
    script = tmp_path / "insert.sql"
    script.write_text("insert into seen values (1);")
    load = ["run", str(script), "-c", "2", "-t", "5", "--warmup", "0", "--telemetry", "off"]
    with database.connect() as connection:
        connection.execute("create table seen (number int)")
        connection.execute("set global autocommit = off")
        try:
            assert main([*load, "--target", database.url]) in ENDED
        finally:
            connection.execute("set global autocommit = on")
        assert connection.execute("select count(*) from seen").fetchone() == (10,)


def test_mariadb_does_not_report_that_it_requires_tls(tcp_server: Server) -> None:
    target = f"mysql://busy@127.0.0.1:{port_of(tcp_server)}/?no-defaults&ssl-mode=DISABLED"
    with tcp_server.connect() as connection:
        connection.execute("set global require_secure_transport = on")
        try:
            with pytest.raises(DbdynoError) as caught:
                use_existing(target)
        finally:
            connection.execute("set global require_secure_transport = off")
    assert caught.value.code == "wrong_password"
    assert "ssl-mode=REQUIRED" in caught.value.hint


def test_mysql_reports_that_it_requires_tls() -> None:
    message = "Connections using insecure transport are prohibited"
    error = refusal(OperationalError(3159, message), login_of("mysql://u:hush@h/d?no-defaults"))
    assert error.code == "tls_required"
    assert "ssl-mode=REQUIRED" in error.hint
