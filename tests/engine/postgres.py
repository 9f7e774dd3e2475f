"""A PostgreSQL for a test: with every kind of login, with TLS, and with crashes.

The private servers of ``dbdyno.servers`` always shut down cleanly; these are frozen, killed and
restarted. All waiting is bounded.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from dbdyno.databases.postgresql.server.shared_memory import release
from dbdyno.model.plan import Address, Endpoint, TcpAddress, Tls, UnixSocket
from dbdyno.servers.privileges import server_identity
from tests.support.patience import PATIENCE_S, wait_until

SETTINGS = {
    "shared_buffers": "32MB",
    "fsync": "off",  # data of a killed server is thrown away
    "logging_collector": "off",
    "log_min_messages": "warning",
}


PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORTS = range(20_000 + 1000 * (PROCESS % 12), 21_000 + 1000 * (PROCESS % 12))
"""Each process of pytest has its own, below those that the kernel gives to connections."""
NEXT_PORTS = itertools.cycle(random.sample(PORTS, len(PORTS)))


def free_port() -> int:
    """Return a port that is free, and that nobody else takes before the server has started."""
    for port in itertools.islice(NEXT_PORTS, len(PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"none of {PORTS} is free")


class Postgres:
    """One cluster in a folder with a short path. ``access`` replaces pg_hba.conf."""

    def __init__(self, binaries: Path, access: str = "", **settings: str) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="dbdyno-test-", dir="/tmp"))
        self.data = self.folder / "data"
        server_identity().take_over(self.folder)
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync")
        self.port = free_port()
        self._configure({**SETTINGS, "port": str(self.port), **settings})
        if access:
            (self.data / "pg_hba.conf").write_text(access)
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = server_identity().command(self.binaries / program, *arguments)
        identity: dict[str, Any] = server_identity().credentials()
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **identity)

    def _configure(self, settings: dict[str, str]) -> None:
        settings = {"unix_socket_directories": str(self.folder), **settings}
        lines = [f"{name} = '{value}'\n" for name, value in settings.items()]
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(lines)

    def start(self, *, wait: bool = True) -> None:
        identity: dict[str, Any] = server_identity().credentials()
        command = server_identity().command(self.binaries / "postgres", "-D", self.data)
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **identity
            )
        if wait:
            wait_until(self.answers, "the server's start")

    def answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError), self.connect():
            return True
        return False

    def processes(self) -> list[int]:
        """Return the postmaster, then its children."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text().split())]

    def signal_all(self, number: signal.Signals) -> None:
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):  # a backend may exit at any time
                os.kill(process, number)

    def freeze(self) -> None:
        """Freeze all processes, the postmaster first: the list of its children must not change."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        self.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal_all(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as the kernel does when memory runs out: without goodbyes."""
        processes = self.processes()
        self.signal_all(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        wait_until(lambda: not any(map(_is_alive, processes)), "the server's death")

    def recover(self) -> None:
        """Make it answer again, whatever was done to it."""
        if self.process.poll() is None:
            self.thaw()
        else:
            self.start()

    def restart(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_S)
        self.start()

    def encrypt(self, certificates: Path, name: str) -> None:
        """Serve TLS from now on, with the certificate of that name."""
        for source, target in (("root.crt", "root.crt"), (f"{name}.crt", "server.crt")):
            shutil.copy(certificates / source, self.data / target)
        shutil.copy(certificates / f"{name}.key", self.data / "server.key")
        (self.data / "server.key").chmod(0o600)
        server_identity().take_over(self.data)
        self._configure({"ssl": "on", "ssl_ca_file": "root.crt"})
        self.restart()

    def remove(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE_S)
        release(self.data)  # if it was killed
        shutil.rmtree(self.folder)

    @property
    def socket_path(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"

    def connect(self, **options: object) -> psycopg.Connection:
        wanted = {"host": str(self.folder), "port": self.port, "user": "postgres", **options}
        conninfo = make_conninfo("", dbname="postgres", connect_timeout=5)
        return psycopg.connect(make_conninfo(conninfo, **wanted), autocommit=True)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements; return the rows of the last."""
        with self.holding(*statements) as cursor:
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def holding(self, *statements: str) -> Iterator[psycopg.Cursor]:
        """Provide a session that has run these statements, and keeps its locks."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            yield cursor

    def endpoint(self, host: str = "", **changes: Any) -> Endpoint:
        """Return the engine's endpoint: the Unix socket unless a host is given."""
        unix = Address(unix=UnixSocket(path=str(self.socket_path)))
        address = Address(tcp=TcpAddress(host=host, port=self.port)) if host else unix
        known = {"user": "postgres", "database": "postgres", "tls": Tls()}
        parameters = {"application_name": "load"}
        return Endpoint(**{**known, "address": address, "parameters": parameters, **changes})

    def backends(self) -> list[int]:
        """Return the processes that serve the load."""
        query = "select pid from pg_stat_activity where application_name = 'load'"
        with self.connect() as connection:
            return [row[0] for row in connection.execute(query)]


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
