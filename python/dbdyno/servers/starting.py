"""Waits until a started process is a running server; the same for private and kept servers."""

import time

from dbdyno.errors import DbdynoError
from dbdyno.servers.cluster import not_started
from dbdyno.servers.processes import ProcessMark, is_running
from dbdyno.servers.product import Cluster

START_PATIENCE_S = 120


def wait_until_ready(cluster: Cluster, process: ProcessMark) -> None:
    """Wait until the server accepts connections; raise an error if it ends before."""
    product = cluster.blueprint.product
    deadline = time.monotonic() + START_PATIENCE_S
    while not product.is_ready(cluster, process.pid):
        if not is_running(process):
            raise not_started(cluster)
        if time.monotonic() > deadline:
            raise DbdynoError(
                "server_slow",
                f"{product.title} was not ready after {START_PATIENCE_S} s",
                "is the disk very slow, or the host out of memory?",
            )
        time.sleep(0.01)
