"""Logins with each method that a server may request, and helpful messages if they are refused."""

import itertools
import socket
import threading
import time

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.model.frame import Connected, Hello
from dbdyno.model.plan import Address, TcpAddress, UnixSocket
from tests.engine.postgres import Postgres
from tests.engine.proxies import forward_to, listening
from tests.engine.running import plan_for, run, times

ACCESS = """
local all postgres trust
local all plain password
local all md5 md5
local all scram scram-sha-256
host all scram all scram-sha-256
host all postgres all trust
local all shut reject
"""
SECRET = "s3cret; naïve"
LOGIN_HINT = "check user and password, or the client's certificate"


@pytest.fixture(scope="module")
def server():

    server = Postgres(
        local_binaries()[0].folder,
        ACCESS,
        listen_addresses="127.0.0.1,::1",
        max_connections="10",
        superuser_reserved_connections="3",
    )
    with server.connect() as connection:
        for name in ("plain", "md5", "scram"):
            kind = "md5" if name == "md5" else "scram-sha-256"
            connection.execute(f"set password_encryption = '{kind}'")
            connection.execute(f"create role {name} login password '{SECRET}'")
        connection.execute("create role shut login")
    yield server
    server.remove()


@pytest.mark.parametrize("user", ["postgres", "plain", "md5", "scram"])
def test_each_method(server, checked, user):
    endpoint = server.endpoint(user=user, password=SECRET)
    result = checked(plan_for(endpoint, "select 1;", **times(3)))
    assert result.counters.ok == 6


def test_through_a_proxy_that_closes_if_it_does_not_know_the_version(server, tmp_path, checked, io):
    def forward_3_0(visitor: socket.socket) -> None:
        if visitor.recv(8, socket.MSG_PEEK)[4:] == b"\x00\x03\x00\x00":
            forward_to(server.socket_path)(visitor)

    with listening(tmp_path / ".s.PGSQL.5432", forward_3_0) as address:
        plan = plan_for(server.endpoint(address=address), "select 1;", io=io, **times(3))
        assert checked(plan).counters.ok == 6


def test_a_client_that_is_turned_away_late_asks_for_the_older_version(
    server, tmp_path, checked, io
):
    """Another client, turned away at once, has logged in with the older version meanwhile."""
    newer = itertools.count(1)
    both_asked = threading.Event()
    logged_in = threading.Event()

    def noted(sent: bytes) -> bytes:
        if b"Z\0\0\0\x05" in sent:
            logged_in.set()
        return sent

    def forward_3_0(visitor: socket.socket) -> None:
        version = visitor.recv(8, socket.MSG_PEEK)[4:]  # empty: only whether it listens
        if version == b"\x00\x03\x00\x00":
            forward_to(server.socket_path, noted)(visitor)
        elif version and next(newer) == 1:
            assert both_asked.wait(30)
        elif version:
            both_asked.set()
            assert logged_in.wait(30)
            time.sleep(0.2)  # the engine reads that

    with listening(tmp_path / ".s.PGSQL.5432", forward_3_0) as address:
        plan = plan_for(server.endpoint(address=address), "select 1;", io=io, **times(3))
        assert checked(plan).counters.ok == 6
    assert next(newer) == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_over_tcp(server, checked, io, host):
    endpoint = server.endpoint(host, user="scram", password=SECRET)
    result = checked(plan_for(endpoint, "select 1;", io=io, **times(3)))
    assert result.counters.ok == 6
    assert result.one(Connected).tls == ""


@pytest.mark.parametrize("user", ["plain", "md5", "scram"])
def test_a_wrong_password(server, refused, io, user):
    failed = refused(plan_for(server.endpoint(user=user, password="wrong"), "select 1;", io=io))
    assert failed.code == "cannot_connect"
    assert f'password authentication failed for user "{user}"' in failed.message
    assert failed.hint == LOGIN_HINT


@pytest.mark.parametrize("user", ["plain", "md5", "scram"])
def test_no_password(server, refused, user):
    failed = refused(plan_for(server.endpoint(user=user), "select 1;"))
    assert "password" in failed.message
    assert failed.hint == LOGIN_HINT


def test_the_password_is_nowhere_to_be_seen(server, refused, log):
    result = refused(plan_for(server.endpoint(user="shut", password=SECRET), "select 1;"))
    assert SECRET not in f"{result} {log.read()}"
    assert "rejects connection" in result.message


def test_a_missing_database(server, refused):
    failed = refused(plan_for(server.endpoint(database="atlantis"), "select 1;"))
    assert failed.message == 'database "atlantis" does not exist'
    assert failed.hint == "create the database, or name another"


def test_too_many_connections(server, refused, io):
    failed = refused(plan_for(server.endpoint(), "select 1;", clients=20, io=io))
    assert failed.message == "sorry, too many clients already"
    assert failed.hint == "raise max_connections on the server, or use fewer clients (-c)"


@pytest.mark.parametrize("name", ["local", "mariadb"])
@pytest.mark.parametrize("place", ["unix", "tcp"])
def test_a_port_without_a_listener_is_refused(request, refused, tmp_path, name, place):
    server = request.getfixturevalue(name)
    unix = Address(unix=UnixSocket(path=str(tmp_path / "none")))
    with socket.socket() as mute:  # it occupies the port without listening
        mute.bind(("127.0.0.1", 0))
        tcp = Address(tcp=TcpAddress(host="127.0.0.1", port=mute.getsockname()[1]))
        address = unix if place == "unix" else tcp
        failed = refused(plan_for(server.endpoint(address=address), "select 1;"))
    assert failed.code == "cannot_connect"
    assert failed.hint == "check that the server runs and listens there"


def test_an_unknown_host(server, refused):
    failed = refused(plan_for(server.endpoint("no-such-host.invalid"), "select 1;"))
    assert (failed.code, failed.hint) == ("unknown_host", "check the host name")
    assert "no-such-host.invalid" in failed.message


def test_a_known_address_is_not_looked_up(server, checked):
    """One name may stand for several servers: the load uses the one that answered."""
    known = TcpAddress(host="no-such-host.invalid", port=server.port, numeric="127.0.0.1")
    endpoint = server.endpoint(address=Address(tcp=known), user="scram", password=SECRET)
    assert checked(plan_for(endpoint, "select 1;", **times(3))).counters.ok == 6


def test_the_engine_sends_hello_before_it_connects(server, log):

    result = run(plan_for(server.endpoint(user="shut"), "select 1;"), log)
    assert result.one(Hello).threads == 2
    assert "lets them in from where the load runs (PostgreSQL: pg_hba.conf" in result.failed.hint
