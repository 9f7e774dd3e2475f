"""TLS as ``ssl-mode`` defines it: the server sends first, then both encrypt."""

import os

import pytest

from tests.engine.certificates import tls
from tests.engine.mariadb import MariaDB
from tests.engine.running import plan_for, times

HINT = "check ssl-mode, ssl-ca, ssl-cert and ssl-key"


@pytest.fixture(scope="module")
def server(certificates):
    server = MariaDB()
    server.execute(
        "create user certified require x509",
        "create user covered require ssl",
        "grant all on *.* to certified, covered",
    )
    server.encrypt(certificates, "server")
    yield server
    server.remove()


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_with(server, certificates, greeting, io, mode):
    wanted = tls(certificates, mode, root="root" if "verify" in mode else None)
    assert greeting(server.endpoint("localhost", tls=wanted), io=io).startswith("TLSv1.3")


def test_statements_travel_inside(server, certificates, greeting):
    endpoint = server.endpoint("127.0.0.1", tls=tls(certificates, "require", root=None))
    assert greeting(endpoint, query_mode="simple", reconnect_each_transaction=True)


def test_rows_of_all_lengths_arrive(server, certificates, checked, io):
    """Records end anywhere in the received bytes, and several may end in them."""
    script = "select repeat('x', seq) from seq_1_to_30000_step_97;"
    endpoint = server.endpoint("127.0.0.1", tls=tls(certificates, "require", root=None))
    result = checked(plan_for(endpoint, script, io=io, query_mode="simple", **times(5)))
    assert result.counters.ok == 10, result.done.failures


def test_cancelled_inside(server, certificates, checked, io):
    """The session that cancels is encrypted like all others."""
    endpoint = server.endpoint("127.0.0.1", tls=tls(certificates, "require", root=None))
    server.execute("alter user loader require ssl")
    result = checked(plan_for(endpoint, "select sleep(30);", seconds=0.5, io=io))
    assert (result.done.end, result.counters.unfinished) == ("complete", 2)
    server.execute("alter user loader require none")


def test_a_user_who_must_be_covered(server, certificates, greeting, refused):
    endpoint = server.endpoint("127.0.0.1", user="covered")
    assert "Access denied" in refused(plan_for(endpoint, "select 1;")).message
    wanted = tls(certificates, "prefer", root=None)
    assert greeting(server.endpoint("127.0.0.1", user="covered", tls=wanted))


def test_a_client_certificate_logs_in(server, certificates, greeting, refused):
    known = {"host": "127.0.0.1", "user": "certified"}
    assert greeting(server.endpoint(**known, tls=tls(certificates, "verify-full", client="client")))
    without = server.endpoint(**known, tls=tls(certificates, "verify-full"))
    assert "Access denied" in refused(plan_for(without, "select 1;")).message


def test_an_unknown_authority_is_refused(server, certificates, refused, io):
    wanted = tls(certificates, "verify-ca", root="stranger")
    failed = refused(plan_for(server.endpoint("localhost", tls=wanted), "select 1;", io=io))
    assert failed.message.startswith("TLS: invalid peer certificate")
    assert failed.hint == HINT


def test_without_roots_of_its_own_it_verifies_by_the_systems(
    server, certificates, greeting, refused, monkeypatch
):
    endpoint = server.endpoint("localhost", tls=tls(certificates, "verify-full", root=None))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "root.crt"))
    assert greeting(endpoint)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "stranger.crt"))
    assert refused(plan_for(endpoint, "select 1;")).message.startswith("TLS: invalid peer")
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    failed = refused(plan_for(endpoint, "select 1;"))
    assert (failed.code, failed.hint) == ("bad_tls", HINT)


def test_a_server_without_tls(mariadb, certificates, greeting, refused):
    assert greeting(mariadb.endpoint("127.0.0.1", tls=tls(certificates, "prefer", None))) == ""
    wanted = tls(certificates, "require", root=None)
    failed = refused(plan_for(mariadb.endpoint("127.0.0.1", tls=wanted), "select 1;"))
    assert failed.code == "cannot_connect"
    assert failed.hint == HINT
