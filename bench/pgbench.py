"""pgbench, on its own tables and those of ``pk``."""

import re

from bench.peer import Peer, match_line, on_path
from bench.tools import Load, Outcome, load_data, tree_cpu_s
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server
from dbdyno.servers.connecting import url_of

SCALE = 50


def initialize(endpoint: Endpoint, scale: int) -> float:
    """Creates its tables; returns the seconds that this took."""
    arguments = ["-i", "-q", "-s", str(scale), url_of(endpoint)]
    return tree_cpu_s([PGBENCH.find(), *arguments])[2]


def _prepare(endpoint: Endpoint) -> None:
    initialize(endpoint, SCALE)
    load_data(endpoint, "pk", "-s", str(SCALE))


def _settle(server: Server) -> None:
    """No dead rows in the small tables, no dirty pages."""
    with server.connect() as connection:
        connection.execute("vacuum pgbench_branches, pgbench_tellers")
        connection.execute("truncate pgbench_history")
        connection.execute("checkpoint")


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = ["-c", str(load.clients), "-j", str(load.threads), "-T", str(load.seconds)]
    return ["-n", "-M", "prepared", *load.peer_options, *numbers, url_of(endpoint)]


def _read(out: str) -> Outcome:
    tps = match_line(r"^tps = ([\d.]+)", out)
    count = match_line(r"actually processed: (\d+)", out)
    failed = re.search(r"failed transactions: (\d+)", out)  # printed since 15
    return Outcome(float(tps[1]), int(count[1]), int(failed[1]) if failed else 0)


PGBENCH = Peer(
    name="pgbench",
    find=on_path("pgbench", "postgresql-contrib"),
    prepare=_prepare,
    settle=_settle,
    arguments=_arguments,
    read=_read,
)
