"""From a started process to a server that answers; the same for private and kept ones."""

import time
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.servers.cluster import Cluster, not_started
from dbdyno.servers.processes import ProcessMark, is_running

START_PATIENCE_S = 120
STATUS_LINE = 7  # of postmaster.pid, counted from 0


def wait_until_ready(cluster: Cluster, process: ProcessMark) -> None:
    """Until the server says that it accepts connections; an error when it ends before."""
    deadline = time.monotonic() + START_PATIENCE_S
    while not _is_ready(cluster.data / "postmaster.pid", process.pid):
        if not is_running(process):
            raise not_started(cluster)
        if time.monotonic() > deadline:
            raise DbdynoError(
                "server_slow",
                f"PostgreSQL was not ready after {START_PATIENCE_S} s",
                "is the disk very slow, or the machine out of memory?",
            )
        time.sleep(0.01)


def _is_ready(status: Path, pid: int) -> bool:
    """PostgreSQL writes its state into postmaster.pid; a leftover file names another process."""
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return False
    return (
        len(lines) > STATUS_LINE and lines[0] == str(pid) and lines[STATUS_LINE].strip() == "ready"
    )
