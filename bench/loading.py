"""Loading a peer's tables: rows per second against the peer's own command, to the same end state.

dbdyno ends with a checkpoint. After ``pgbench -i`` and the like the next checkpoint would write the
tables during the measurement, so the bench adds a checkpoint to its time.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.ceiling import Report
from bench.pgbench import initialize
from bench.process import run_to_end
from bench.ratio import ratio_of_pairs
from bench.server import BenchServer
from bench.sysbench_tpcc import WAREHOUSES, prepare
from bench.tool import dbdyno_path
from dbdyno.databases.connecting import url_of
from dbdyno.model.plan import Endpoint

DATABASE = "loading"


@dataclass(frozen=True)
class Loading:
    """The same number of rows, loaded by a peer and by dbdyno."""

    name: str
    """As it is printed, and matched by ``--only``."""
    peer: str
    rows: int
    by_peer: Callable[[Endpoint], float]
    """Returns the seconds that it took."""
    by_dbdyno: tuple[str, ...]
    ratio_at_least: float


SCALE = 100
# Of a warehouse, with ten lines of an order on average, besides the items.
ROWS_OF_A_WAREHOUSE = 1 + 10 + 3 * 30_000 + 300_000 + 9_000 + 100_000
LOADINGS = (
    Loading(
        name="loading",
        peer="pgbench",
        rows=100_011 * SCALE,
        by_peer=lambda endpoint: initialize(endpoint, SCALE),
        by_dbdyno=("tpcb", "-s", str(SCALE)),
        ratio_at_least=1.3,
    ),
    Loading(
        name="loading of tpcc",
        peer="sysbench-tpcc",
        rows=WAREHOUSES * ROWS_OF_A_WAREHOUSE + 100_000,
        by_peer=prepare,
        by_dbdyno=("tpcc", "-s", str(WAREHOUSES)),
        ratio_at_least=1.5,
    ),
)


def measure(report: Report, pairs: int, loading: Loading, at: BenchServer) -> None:
    """Loads alternately, each into a new database."""
    own, peers = [], []
    for _ in range(pairs):
        with _database(at) as endpoint:
            peers.append(loading.rows / (loading.by_peer(endpoint) + _checkpoint_s(at)))
        with _database(at) as endpoint:
            load = [dbdyno_path(), "load", *loading.by_dbdyno, "--target", url_of(endpoint)]
            own.append(loading.rows / run_to_end(load).elapsed_s)
    ratio = ratio_of_pairs(own, peers)
    text = f"{max(own):,.0f} rows/s (best run), {loading.peer} {max(peers):,.0f}; ratio {ratio}"
    report(f"{loading.name}, rows/s", text, ratio.value >= loading.ratio_at_least)


def _checkpoint_s(at: BenchServer) -> float:
    with at.server.connect() as connection:
        began_s = time.monotonic()
        connection.execute("checkpoint")
        return time.monotonic() - began_s


@contextmanager
def _database(at: BenchServer) -> Iterator[Endpoint]:
    """A new database, dropped in the end; no checkpoint of earlier rows runs meanwhile."""
    _checkpoint_s(at)
    at.create(DATABASE)
    yield at.endpoint("socket", DATABASE)
    with at.server.connect() as connection:
        connection.execute(f"drop database {DATABASE}")
