"""TLS as ``sslmode`` defines it, with servers that have certificates of every kind."""

import socket
import struct
import threading

import pytest
from msgspec import structs

from dbdyno.databases.postgresql.server.binaries import local_binaries
from tests.engine.certificates import locked, tls
from tests.engine.postgres import Postgres
from tests.engine.proxies import forward_to, intercept, listening_tcp
from tests.engine.running import plan_for, times
from tests.support.patience import wait_until

ACCESS = """
local all all trust
hostssl all certified all cert
hostssl all scram all scram-sha-256
hostssl all postgres all trust
hostnossl all postgres 127.0.0.1/32 trust
"""
SECRET = "s3cret"
TLS_REQUEST = struct.pack(">II", 8, 80877103)
CANCEL_REQUEST = struct.pack(">II", 16, 80877102)
HINT = "check sslmode, sslrootcert, sslcert and sslkey"


@pytest.fixture(scope="module")
def server(certificates):
    server = Postgres(local_binaries()[0].folder, ACCESS, listen_addresses="127.0.0.1,::1")
    with server.connect() as connection:
        connection.execute("create role certified login")
        connection.execute(f"create role scram login password '{SECRET}'")
    server.encrypt(certificates, "server")
    yield server
    server.remove()


@pytest.fixture(scope="module", params=["elsewhere", "alone"])
def odd_server(request, certificates):
    """A server with a certificate for another host, or with a self-signed one."""
    server = Postgres(local_binaries()[0].folder, ACCESS, listen_addresses="127.0.0.1")
    server.encrypt(certificates, request.param)
    yield request.param, server
    server.remove()


@pytest.mark.parametrize("mode", ["disable", "allow"])
def test_without(server, certificates, greeting, mode):
    assert greeting(server.endpoint("127.0.0.1", tls=tls(certificates, mode))) == ""


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_with(server, certificates, greeting, io, mode):
    wanted = tls(certificates, mode, root="root" if "verify" in mode else None)
    assert greeting(server.endpoint("localhost", tls=wanted), io=io).startswith("TLSv1.3 TLS13_AES")


def test_an_address_in_the_certificate_is_a_name(server, certificates, greeting):
    wanted = tls(certificates, "verify-full")
    assert greeting(server.endpoint("127.0.0.1", tls=wanted))


def test_an_address_that_is_not_in_it_is_refused(server, certificates, refused):
    wanted = tls(certificates, "verify-full")
    failed = refused(plan_for(server.endpoint("::1", tls=wanted), "select 1;"))
    assert "not valid for name" in failed.message
    assert failed.hint == HINT


def test_an_unknown_authority_is_refused(server, certificates, refused, io):
    wanted = tls(certificates, "verify-ca", root="stranger")
    failed = refused(plan_for(server.endpoint("localhost", tls=wanted), "select 1;", io=io))
    assert failed.message.startswith("TLS: invalid peer certificate")
    assert failed.hint == HINT


def test_the_name_matters_to_verify_full_alone(odd_server, certificates, greeting, refused):
    name, server = odd_server
    root = "alone" if name == "alone" else "root"
    assert greeting(server.endpoint("127.0.0.1", tls=tls(certificates, "verify-ca", root)))
    full = server.endpoint("127.0.0.1", tls=tls(certificates, "verify-full", root))
    if name == "alone":
        assert greeting(full)
    else:
        assert "not valid for name" in refused(plan_for(full, "select 1;")).message


def test_a_self_signed_certificate_is_not_trusted_by_itself(odd_server, certificates, refused):
    _, server = odd_server
    wanted = tls(certificates, "verify-ca", "stranger")
    failed = refused(plan_for(server.endpoint("127.0.0.1", tls=wanted), "select 1;"))
    assert failed.message.startswith("TLS: invalid peer certificate")


def test_scram_binds_to_the_channel(server, certificates, greeting, refused, io):
    """A man in the middle is detected, even if no certificate is checked."""
    login = {"user": "scram", "password": SECRET, "tls": tls(certificates, "require", root=None)}
    assert greeting(server.endpoint("127.0.0.1", **login), io=io)
    files = (certificates / "alone.crt", certificates / "alone.key")
    with listening_tcp(intercept(server.port, *files)) as address:
        failed = refused(plan_for(server.endpoint(address=address, **login), "select 1;", io=io))
        assert failed.message == "SCRAM channel binding check failed"
        trusting = {**login, "user": "postgres"}
        assert greeting(server.endpoint(address=address, **trusting), io=io)


def test_a_client_certificate_logs_in(server, certificates, greeting, refused):
    address = {"host": "127.0.0.1", "user": "certified"}
    with_it = tls(certificates, "verify-full", client="client")
    assert greeting(server.endpoint(**address, tls=with_it))
    without = server.endpoint(**address, tls=tls(certificates, "verify-full"))
    failed = refused(plan_for(without, "select 1;"))
    assert failed.message == "connection requires a valid client certificate"
    assert failed.hint.startswith("check user and password, or the client's certificate, and that")


def test_a_server_without_tls(local, certificates, greeting, refused):
    endpoint = local.endpoint("127.0.0.1", tls=tls(certificates, "prefer", root=None))
    assert greeting(endpoint) == ""
    endpoint = local.endpoint("127.0.0.1", tls=tls(certificates, "require", root=None))
    failed = refused(plan_for(endpoint, "select 1;"))
    assert failed.message == "the server does not support TLS, but it was required"
    assert failed.hint == HINT


def test_a_server_that_insists(server, refused):
    failed = refused(plan_for(server.endpoint("127.0.0.1", user="scram"), "select 1;"))
    assert "no encryption" in failed.message


def test_files_that_are_not_there(server, certificates, refused):
    wanted = tls(certificates, "verify-full", root="nowhere")
    failed = refused(plan_for(server.endpoint("localhost", tls=wanted), "select 1;"))
    assert (failed.code, failed.hint) == ("bad_tls", HINT)
    assert "nowhere.crt" in failed.message


@pytest.mark.parametrize("form", ["pkey", "ec"], ids=["newer", "older"])
def test_a_key_behind_a_passphrase(server, certificates, refused, tmp_path, form):
    key = locked(certificates / "client.key", tmp_path, form)
    wanted = structs.replace(tls(certificates, "require", client="client"), key=str(key))
    failed = refused(plan_for(server.endpoint("localhost", tls=wanted), "select 1;"))
    assert f"openssl pkey -in {key}" in failed.message


@pytest.mark.parametrize("size", [10, 20_000, 3_000_000])
def test_large_messages_both_ways(server, certificates, checked, io, size):
    script = "select length(:text), repeat('y', :size) as y;"
    variables = {"text": "x" * size, "size": size}
    endpoint = server.endpoint("127.0.0.1", tls=tls(certificates, "require", root=None))
    plan = plan_for(endpoint, script, io=io, variables=variables, **times(3))
    assert checked(plan).counters.ok == 6


def test_cancelled_inside(server, certificates, checked, io):
    """Who listens sees the requests for encryption, and nothing of the cancellations."""
    heard = []

    def overhear(data: bytes) -> bytes:
        heard.append(data)
        return data

    with listening_tcp(forward_to(server.port, overhear=overhear)) as address:
        endpoint = server.endpoint(address=address, tls=tls(certificates, "verify-full"))
        plan = plan_for(endpoint, "select pg_sleep(60);", seconds=0.5, clients=90, io=io)
        result = checked(plan)
    assert (result.done.end, result.counters.unfinished) == ("complete", 90)
    wait_until(lambda: server.backends() == [], "the backends' end")
    assert CANCEL_REQUEST not in b"".join(heard)
    assert heard.count(TLS_REQUEST) == 90 + 90


def test_cancelled_where_nothing_is_encrypted(local, certificates, checked, io):
    endpoint = local.endpoint("127.0.0.1", tls=tls(certificates, "prefer", root=None))
    result = checked(plan_for(endpoint, "select pg_sleep(60);", seconds=0.5, io=io))
    assert (result.done.end, result.counters.unfinished) == ("complete", 2)


@pytest.mark.parametrize("mode", ["prefer", "require"])
def test_a_pooler_that_encrypts_no_cancellations(server, certificates, checked, mode):
    """It gets one in the clear only if encryption is not required."""
    heard, sessions = [], threading.Semaphore(2)

    def overhear(data: bytes) -> bytes:
        heard.append(data)
        return data

    def pool(visitor: socket.socket) -> None:
        beginning = visitor.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL)
        if beginning == TLS_REQUEST and not sessions.acquire(blocking=False):
            visitor.recv(8)
            visitor.sendall(b"N")
        forward_to(server.port, overhear=overhear)(visitor)

    with listening_tcp(pool) as address:
        endpoint = server.endpoint(address=address, tls=tls(certificates, mode, root=None))
        result = checked(plan_for(endpoint, "select pg_sleep(20);", seconds=0.5))
    assert result.counters.unfinished == 2
    if mode == "prefer":
        assert result.done.end == "complete"
    else:
        assert result.done.reason == (
            "the server did not answer a cancellation: cancelling needs one more connection, "
            "which was refused: the server does not support TLS, but it was required"
        )
    assert (CANCEL_REQUEST in b"".join(heard)) == (mode == "prefer")
