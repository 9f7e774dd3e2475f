"""Faults of a server and of the way to it, during a run of the whole program."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pymysql
import pytest

from dbdyno.store.run import open_run
from dbdyno.store.summary import list_runs
from tests.engine.certificates import make_certificates
from tests.engine.postgres import Postgres
from tests.reliability.conftest import CONNECTIONS_MAX, SOON, AnyServer, url_of
from tests.reliability.matrix import ROWS
from tests.reliability.network import Network
from tests.run.test_end_to_end import dbdyno

Suffer = Callable[..., None]


def test_killed_for_good(server: AnyServer, suffer: Suffer) -> None:
    suffer("the server is killed", url_of(server), server.kill, "-T", "600", *SOON)


def test_killed_and_restarted(server: AnyServer, suffer: Suffer) -> None:
    def happen() -> None:
        server.kill()
        time.sleep(0.5)
        server.start()

    suffer("the server is killed and restarted", url_of(server), happen, "-T", "15")


def test_stopped_for_five_seconds(server: AnyServer, suffer: Suffer) -> None:
    def happen() -> None:
        server.freeze()
        time.sleep(5)
        server.thaw()

    suffer("the server is stopped for 5 s", url_of(server), happen, "-T", "7")


def test_stopped_for_good(server: AnyServer, suffer: Suffer) -> None:
    suffer("the server is stopped for good", url_of(server), server.freeze, "-T", "600", *SOON)


@pytest.fixture
def network(server: AnyServer) -> Iterator[Network]:
    network = Network(server.port)
    with network.running():
        yield network


def test_cut_for_good(server: AnyServer, network: Network, suffer: Suffer) -> None:
    url = url_of(server, network.port)
    suffer("the network is cut", url, network.cut, "-T", "600", *SOON)


def test_cut_and_mended(server: AnyServer, network: Network, suffer: Suffer) -> None:
    def happen() -> None:
        network.cut()
        time.sleep(1)
        network.mend()

    url = url_of(server, network.port)
    suffer("the network is cut for 1 s", url, happen, "-T", "5")


def test_silent_for_good(server: AnyServer, network: Network, suffer: Suffer) -> None:
    url = url_of(server, network.port)
    suffer("the network loses every packet", url, network.silence, "-T", "600", *SOON)


def test_half_open(server: AnyServer, network: Network, suffer: Suffer) -> None:
    url = url_of(server, network.port)
    suffer("connections are half-open", url, network.leave_half_open, "-T", "600", *SOON)


def test_delayed(server: AnyServer, network: Network, suffer: Suffer) -> None:
    def happen() -> None:
        network.delay_s = 0.02

    suffer("the network delays each packet", url_of(server, network.port), happen, "-T", "3")
    latency = open_run("last").record.response_ms
    assert latency is not None
    assert latency.max >= 40


def test_reset(server: AnyServer, network: Network, suffer: Suffer) -> None:
    url = url_of(server, network.port)
    suffer("connections are reset", url, network.reset, "-T", "5")


def test_another_certificate(server: AnyServer, tmp_path: Path, suffer: Suffer) -> None:
    certificates = make_certificates(tmp_path)
    server.encrypt(certificates, "server")
    root = str(certificates / "root.crt")
    options = (
        {"sslmode": "verify-ca", "sslrootcert": root}
        if isinstance(server, Postgres)
        else {"ssl_mode": "VERIFY_CA", "ssl_ca": root}
    )
    url = url_of(server, **options)

    def happen() -> None:
        server.encrypt(certificates, "stranger")

    # Only once it has been started again does the server show it.
    load = ("-T", "600", "--stall-limit", "10s")
    suffer("the server's certificate changes", url, happen, *load)


def test_no_connections_at_the_start(server: AnyServer, home: Path, script: Path) -> None:
    clients = str(int(CONNECTIONS_MAX) + 1)
    ended = dbdyno("run", script, "--target", url_of(server), "-c", clients, "-T", "1")
    row = ROWS["more clients than the server admits"]
    row.is_met_by(ended.returncode, ended.stderr)
    assert list_runs() == []


def test_no_connections_in_the_middle(server: AnyServer, suffer: Suffer) -> None:
    def happen() -> None:
        """Once there is no room, the crowd takes what the clients give back, for a while."""
        with contextlib.ExitStack() as crowd:
            ends_at = None
            while ends_at is None or time.monotonic() < ends_at:
                try:
                    crowd.enter_context(contextlib.closing(server.connect()))
                except (psycopg.OperationalError, pymysql.err.OperationalError):
                    ends_at = ends_at or time.monotonic() + 1

    suffer("all connections are taken", url_of(server), happen, "-C", "-T", "15")
