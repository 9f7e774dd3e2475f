"""A MariaDB for a test: with every kind of login, with TLS, and with crashes.

It is frozen, killed and restarted, and always stopped. All waiting is bounded. The load logs in as
``loader``, the tests themselves as ``root``, both without a password.
"""

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from dbdyno.model.plan import Address, Endpoint, TcpAddress, Tls, UnixSocket
from dbdyno.servers.privileges import server_identity
from tests.engine.postgres import free_port
from tests.support.patience import PATIENCE_S, wait_until

SETTINGS = {
    "innodb_buffer_pool_size": "64M",
    "innodb_log_file_size": "48M",
    "innodb_flush_log_at_trx_commit": "0",  # data of a killed server is thrown away
    "innodb_fast_shutdown": "2",
    "innodb_lock_wait_timeout": "5",
    "bind_address": "127.0.0.1",
    "skip_name_resolve": "ON",
    "max_connections": "200",
    "character_set_server": "utf8mb4",
}


class MariaDB:
    """One server in a folder with a short path."""

    def __init__(self, **settings: str) -> None:
        self.program = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        assert self.program, "install MariaDB: apt-get install mariadb-server"
        self.folder = Path(tempfile.mkdtemp(prefix="dbdyno-test-", dir="/tmp"))
        self.data = self.folder / "data"
        self.settings = {**SETTINGS, **settings}
        server_identity().take_over(self.folder)
        install = ("mariadb-install-db", "--no-defaults", *self._places())
        options = ("--auth-root-authentication-method=normal", "--skip-test-db")
        subprocess.run(
            server_identity().command(*install, *options),
            check=True,
            capture_output=True,
            cwd=self.folder,
            **server_identity().credentials(),
        )
        self.port = free_port()
        try:
            self.start()
            self._admit_the_load()
        except BaseException:
            self.remove()
            raise

    def _admit_the_load(self) -> None:
        with self.connect() as control, control.cursor() as cursor:
            cursor.execute("create database load_test")
            cursor.execute("create user loader")
            cursor.execute("grant all on *.* to loader")

    def start(self) -> None:
        settings = {"socket": self.socket_path, "port": self.port, **self.settings}
        options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                server_identity().command(self.program, "--no-defaults", *self._places(), *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **server_identity().credentials(),
            )
        wait_until(self.answers, "the server's start")

    def _places(self) -> tuple[str, ...]:
        """Return where its files are; a start removes every server's ``#sql*`` in ``tmpdir``."""
        return (f"--datadir={self.data}", f"--tmpdir={self.folder}")

    def answers(self) -> bool:
        """Whether it sends a greeting; PyMySQL would leak its socket if there is none."""
        with socket.socket(socket.AF_UNIX) as visitor, contextlib.suppress(OSError):
            visitor.connect(str(self.socket_path))
            return bool(visitor.recv(1))
        return False

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as the kernel does when memory runs out: without goodbyes."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def restart(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.start()

    def recover(self) -> None:
        """Make it answer again, whatever was done to it."""
        if self.process.poll() is None:
            self.thaw()
        else:
            self.start()

    def encrypt(self, certificates: Path, name: str) -> None:
        """Serve TLS from now on, with the certificate of that name."""
        for source in ("root.crt", f"{name}.crt", f"{name}.key"):
            shutil.copy(certificates / source, self.data / source)
        server_identity().take_over(self.data)
        files = {"ssl_ca": "root.crt", "ssl_cert": f"{name}.crt", "ssl_key": f"{name}.key"}
        self.settings |= {setting: str(self.data / file) for setting, file in files.items()}
        self.restart()

    def remove(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.process.kill()
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.folder)

    @property
    def socket_path(self) -> Path:
        return self.folder / "socket"

    def connect(self, **options: Any) -> "Connection[Any]":
        known = {"unix_socket": str(self.socket_path), "user": "root", "connect_timeout": 5}
        return pymysql.connect(**{**known, "autocommit": True, **options})

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements; return the rows of the last."""
        with self.holding(*statements) as cursor:
            return list(cursor.fetchall())

    @contextlib.contextmanager
    def holding(self, *statements: str) -> Iterator[Cursor]:
        """Provide a session that has run these statements, and keeps its locks."""
        with self.connect(database="load_test") as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            yield cursor

    def endpoint(self, host: str = "", **changes: Any) -> Endpoint:
        """Return the engine's endpoint: the Unix socket unless a host is given."""
        unix = Address(unix=UnixSocket(path=str(self.socket_path)))
        address = Address(tcp=TcpAddress(host=host, port=self.port)) if host else unix
        known = {"protocol": "mysql", "user": "loader", "database": "load_test", "tls": Tls()}
        return Endpoint(**{**known, "address": address, **changes})

    def backends(self) -> list[int]:
        """Return the IDs of the load's connections."""
        query = "select id from information_schema.processlist where user = 'loader'"
        return [row[0] for row in self.execute(query)]
