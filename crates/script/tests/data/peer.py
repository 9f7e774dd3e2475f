"""A throw-away PostgreSQL for asking the real pgbench: it wants a connection for everything."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

BIN = "/usr/lib/postgresql/15/bin"


@contextlib.contextmanager
def server(folder: Path, *settings: str) -> Iterator[None]:
    """A server with its socket and its data in the folder, while the context lasts."""
    data = folder / "data"
    init = [f"{BIN}/initdb", f"--pgdata={data}", "--username=postgres", "--no-sync"]
    subprocess.run([*unprivileged(), *init], check=True, capture_output=True)
    options = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", *settings]
    serve = [f"{BIN}/postgres", f"-D{data}", *(f"--{option}" for option in options)]
    process = subprocess.Popen([*unprivileged(), *serve], stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(folder, process)
        yield
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Returns when the server accepts connections."""
    ready = [f"{BIN}/pg_isready", "--quiet", f"--host={folder}"]
    while subprocess.run(ready, check=False).returncode:
        if process.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.1)


def unprivileged() -> list[str]:
    """PostgreSQL refuses root; in a user namespace nobody is root."""
    as_nobody = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]
    return as_nobody if os.getuid() == 0 else []
