"""Where a ``mysql://`` target leads, with typical option files and environments."""

import gc
import socket
from pathlib import Path

import pytest

from dbdyno.databases.mysql.driver import login as logins, option_files
from dbdyno.databases.mysql.driver.connecting import open_connection
from dbdyno.databases.mysql.driver.login import login_of
from dbdyno.databases.mysql.driver.url import login_url
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, TcpAddress, UnixSocket

SECRET = "s3cret # word"


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the option files of the machine that runs the tests."""
    monkeypatch.setattr(option_files, "SYSTEM_FILES", (tmp_path / "etc.cnf",))
    monkeypatch.setattr(logins, "SOCKETS", (str(tmp_path / "usual.sock"),))
    monkeypatch.setenv("HOME", str(tmp_path))


def tcp(host: str, port: int) -> Address:
    return Address(tcp=TcpAddress(host=host, port=port))


def unix(path: str | Path) -> Address:
    return Address(unix=UnixSocket(path=str(path)))


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("mysql://u@db.example:3307/d", tcp("db.example", 3307)),
        ("mariadb://u@db.example/d", tcp("db.example", 3306)),
        ("mysql://u@[::1]:3307/d", tcp("::1", 3307)),
        ("mysql://u@localhost:3307/d", tcp("localhost", 3307)),
        ("mysql://u@127.0.0.1/d", tcp("127.0.0.1", 3306)),
        ("mysql://u@localhost/d?socket=/run/x.sock", unix("/run/x.sock")),
        ("mysql://u@/d?socket=/run/x%20y.sock", unix("/run/x y.sock")),
    ],
)
def test_host_port_and_socket(target: str, address: Address) -> None:
    assert login_of(target, {}).address == address


def test_this_machine_means_its_socket(tmp_path: Path) -> None:
    assert login_of("mysql://u@localhost/d", {}).address == unix(tmp_path / "usual.sock")
    given = {"MYSQL_UNIX_PORT": "/run/given.sock"}
    assert login_of("mysql://", given).address == unix("/run/given.sock")


def test_words_are_decoded() -> None:
    login = login_of("mysql://some%40one:p%2Fw%3A%25@h/d%20b", {})
    assert (login.user, login.password, login.database) == ("some@one", "p/w:%", "d b")


def test_option_files_complete_what_the_target_leaves_open(tmp_path: Path) -> None:
    (tmp_path / "etc.cnf").write_text("[client]\nuser=system\nhost=far\nport = 3310\n")
    (tmp_path / ".my.cnf").write_text(
        "# mine\n[mysqld]\nuser=mysql\n\n[client]\nuser = 'clerk'\n"
        f'password = "{SECRET}"\nssl-mode=required # always\n[mysql]\nuser=other\n'
    )
    login = login_of("mysql:///bench", {})
    assert (login.user, login.password, login.tls) == ("clerk", SECRET, "REQUIRED")
    assert login.address == tcp("far", 3310)
    assert login_of("mysql://me:mine@near:1/d", {}).password == "mine"
    assert login_of("mysql://me@near/d?no-defaults", {}).password == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"pa\Dss", r"pa\Dss"),
        (r"pa\sss", "pa ss"),
        (r'"q\"x"', 'q"x'),
        ('"a"b', '"a"b'),
        ("'it's'", "it's"),
        ("x'y#z' # comment", "x'y#z'"),
        ("x#y", "x"),
    ],
)
def test_values_in_files_are_read_as_the_clients_read_them(
    tmp_path: Path, written: str, read: str
) -> None:
    (tmp_path / ".my.cnf").write_text(f"[client]\npassword = {written}\n")
    assert login_of("mysql://me@near/d", {}).password == read


def test_files_include_others(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "b.cnf").write_text("[client-server]\nport=2\nhost=h\n")
    (folder / "a.cnf").write_text(f"[client]\nport=1\nuser=included\n!include {tmp_path}/.my.cnf\n")
    (folder / "c.txt").write_text("[client]\nport=3\n")
    (tmp_path / ".my.cnf").write_text(f"!includedir {folder}\n!include {tmp_path}/missing.cnf\n")
    login = login_of("mysql://", {})
    assert (login.user, login.address) == ("included", tcp("h", 2))


def test_a_file_that_others_may_write_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".my.cnf").write_text("[client]\nuser=planted\n")
    (tmp_path / ".my.cnf").chmod(0o666)
    assert login_of("mysql://", {}).user != "planted"


def test_files_come_before_the_environment(tmp_path: Path) -> None:
    given = {"MYSQL_HOST": "given", "MYSQL_TCP_PORT": "3311", "MYSQL_PWD": "word"}
    assert login_of("mysql://u@/d", given).address == tcp("given", 3311)
    (tmp_path / ".my.cnf").write_text("[client]\nhost=filed\n")
    login = login_of("mysql://u@/d", given)
    assert (login.address, login.password) == (tcp("filed", 3311), "word")


def test_the_origin_of_an_address_without_a_server_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few people remember what an option file contains that another program has written."""
    socket, mine = tmp_path / "gone.sock", tmp_path / ".my.cnf"

    def given(target: str) -> str:
        with pytest.raises(DbdynoError) as caught:
            open_connection(target)
        assert caught.value.code == "unreachable"
        return caught.value.message

    assert given(f"mysql://u@localhost/d?socket={socket}") == (
        f"cannot connect: socket {socket}: No such file or directory"
    )
    monkeypatch.setenv("MYSQL_UNIX_PORT", str(socket))
    assert f"socket {socket} (MYSQL_UNIX_PORT): No such file" in given("mysql://u@localhost/d")
    mine.write_text(f"[client]\nsocket={socket}/deep\n")
    assert f"socket {socket}/deep ({mine}): No such file" in given("mysql://u@localhost/d")
    socket.write_text("a file")
    assert f"socket {socket}/deep ({mine}): Not a directory" in given("mysql://u@localhost/d")
    mine.write_text("[client]\nhost=127.0.0.1\nport=1\n")
    assert given("mysql://u@/d").startswith(f"cannot connect: host ({mine}): Can't connect to")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("host=h\nport=many", "port (FILE) must be"),
        ("host=h\nport=99999", "port (FILE) must be a number up to 65535"),
        ("ssl-mode=MAYBE", "ssl-mode (FILE) cannot be"),
        ("password=gr\xfcn", "password (FILE) is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, options: str, expected: str) -> None:
    mine = tmp_path / ".my.cnf"
    mine.write_text(f"[client]\n{options}\n", encoding="latin-1")
    with pytest.raises(DbdynoError) as caught:
        login_of("mysql://u@/d", {})
    assert expected.replace("FILE", str(mine)) in caught.value.message


def test_an_empty_socket_is_the_usual_one(tmp_path: Path) -> None:
    usual = login_of("mysql://localhost/d?no-defaults", {}).address
    (tmp_path / ".my.cnf").write_text("[client]\nsocket=/mine\n")
    assert login_of("mysql:///d?socket=", {}).address == usual


def test_a_byte_order_mark_hides_no_group(tmp_path: Path) -> None:
    (tmp_path / ".my.cnf").write_text("[client]\nuser=clerk\n", encoding="utf-8-sig")
    assert login_of("mysql:///d", {}).user == "clerk"


def test_an_option_of_no_group_is_refused_without_its_value(tmp_path: Path) -> None:
    mine = tmp_path / ".my.cnf"
    mine.write_text("# mine\npassword=hush\n[client]\n")
    with pytest.raises(DbdynoError) as caught:
        login_of("mysql://u@/d", {})
    assert f"{mine}, line 2: " in caught.value.message
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("", "PREFERRED"),
        ("skip-ssl", "DISABLED"),
        ("ssl", "REQUIRED"),
        ("ssl=1", "REQUIRED"),
        ("ssl=0", "DISABLED"),
        ("skip-ssl=FALSE", "PREFERRED"),
        ("ssl\nssl-verify-server-cert = off", "REQUIRED"),
        ("ssl-verify-server-cert = ON", "VERIFY_IDENTITY"),
        ("ssl_ca=/ca.pem", "VERIFY_CA"),
        ("ssl-verify-server-cert\nssl-ca=/ca.pem", "VERIFY_IDENTITY"),
        ("ssl-mode=verify_ca", "VERIFY_CA"),
    ],
)
def test_tls_in_the_words_of_both(tmp_path: Path, options: str, mode: str) -> None:
    (tmp_path / ".my.cnf").write_text(f"[client]\n{options}\n")
    assert login_of("mysql://", {}).tls == mode


def test_a_login_is_written_down_whole() -> None:
    target = "mysql://u:p%40w@h:1/d?ssl-mode=VERIFY_CA&ssl-ca=/a%20b.pem&connect-timeout=3"
    login = login_of(target, {})
    assert login_of(login_url(login), {"MYSQL_PWD": "other"}) == login


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("mysql://clerk:hush@host:port/db", "its port must be a number up to 65535"),
        ("mysql://clerk:hush@host:99999/db", "its port must be a number up to 65535"),
        ("mysql://clerk:hu/sh@host/db", "a character of its password is not encoded"),
        ("mysql://clerk:12/34@host/db", "a character of its password is not encoded"),
        ("mysql://clerk:hush@[::1/db", "it is not a URL"),
        ("mysql://cl%ffrk:hush@host/db", "user is not UTF-8 text"),
        ("mysql://clerk:hush@host/db?soket=/x", "'soket'"),
        ("mysql://clerk:hush@host/db?ssl-mode=MAYBE", "ssl-mode cannot be MAYBE"),
        ("mysql://clerk:hush@host/db?connect-timeout=soon", "connect-timeout must be a number"),
        ("mysql://clerk:hush@host/db?connect-timeout=99999999", "a number up to 31536000"),
    ],
)
def test_a_malformed_target_is_explained_without_the_password(target: str, expected: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        login_of(target, {})
    assert caught.value.code == "bad_target"
    assert expected in caught.value.message
    assert caught.value.hint
    assert not {"hush", "hu"} & set(f"{caught.value.message} {caught.value.hint}".split())


def test_a_unix_socket_that_nobody_answers_is_closed(tmp_path: Path) -> None:
    """A witness of an outage tries again and again: what it left open would be a warning."""
    path = tmp_path / "refusing.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    with pytest.raises(DbdynoError, match="Connection refused"):
        open_connection(f"mysql://u@localhost/d?socket={path}")
    gc.collect()
