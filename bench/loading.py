"""Loading pgbench's tables: rows per second against ``pgbench -i``, to the same end state.

dbdyno ends with a checkpoint. After ``pgbench -i`` the next checkpoint would write the tables
during the measurement, so the bench adds a checkpoint to its time.
"""

import time

from bench.ceiling import Report
from bench.pgbench import initialize
from bench.process import run_to_end
from bench.ratio import ratio_of_pairs
from bench.tool import dbdyno_path
from dbdyno.databases.connecting import url_of
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server

SCALE = 100
RATIO_AT_LEAST = 1.3


def measure(report: Report, server: Server, endpoint: Endpoint, pairs: int) -> None:
    """Loads alternately, each after the tables of the other were dropped."""
    rows = 100_011 * SCALE
    own, peers = [], []
    for _ in range(pairs):
        _clear(server)
        peers.append(rows / (initialize(endpoint, SCALE) + _checkpoint_s(server)))
        _clear(server)
        load = [dbdyno_path(), "load", "tpcb", "--target", url_of(endpoint), "-s", str(SCALE)]
        own.append(rows / run_to_end(load).elapsed_s)
    _clear(server)
    ratio = ratio_of_pairs(own, peers)
    text = f"{max(own):,.0f} rows/s (best run), pgbench {max(peers):,.0f}; ratio {ratio}"
    report("loading, rows/s", text, ratio.value >= RATIO_AT_LEAST)


def _checkpoint_s(server: Server) -> float:
    with server.connect() as connection:
        began_s = time.monotonic()
        connection.execute("checkpoint")
        return time.monotonic() - began_s


def _clear(server: Server) -> None:
    tables = "pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history"
    with server.connect() as connection:
        connection.execute(f"drop table if exists {tables}")
        connection.execute("checkpoint")
