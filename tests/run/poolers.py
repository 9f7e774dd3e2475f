"""A test's own PgBouncer, which lends a server's sessions."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from dbdyno.servers.privileges import server_identity
from tests.support.patience import PATIENCE_S, wait_until

PORT = 6432  # only part of the socket's name
CONFIGURATION = """\
[databases]
* = host={server} port={port} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {own_port}
auth_type = any
pool_mode = {mode}
default_pool_size = {sessions}
max_client_conn = 100
logfile = {folder}/log.txt
ignore_startup_parameters = {ignored}
"""


@contextmanager
def pooler(
    server: Path, port: int, sessions: int, mode: str = "transaction", ignored: str = ""
) -> Iterator[str]:
    """Runs a pooler in front of the server with that socket; yields the pooler's target."""
    with TemporaryDirectory(prefix="dbdyno-test-", dir="/tmp") as name:
        folder = Path(name)
        text = CONFIGURATION.format(
            server=server,
            port=port,
            folder=folder,
            own_port=PORT,
            sessions=sessions,
            mode=mode,
            ignored=ignored,
        )
        (folder / "pgbouncer.ini").write_text(text)
        identity = server_identity()
        identity.take_over(folder)
        command = identity.command("/usr/sbin/pgbouncer", folder / "pgbouncer.ini")
        credentials: dict[str, Any] = identity.credentials()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **credentials
        )
        target = f"postgresql://postgres@/postgres?host={folder}&port={PORT}"
        try:
            wait_until(lambda: _answers(target), "the pooler's start")
            yield target
        finally:
            process.kill()
            process.wait(PATIENCE_S)


def _answers(target: str) -> bool:
    try:
        psycopg.connect(target).close()
    except psycopg.OperationalError:
        return False
    return True
