"""Loading pgbench's tables: rows a second against ``pgbench -i``, both to the same end state."""

from bench.ceiling import Told
from bench.ratio import ratio_of_pairs
from bench.tools import Place, dbdyno_path, pgbench_path, tree_cpu_s
from dbdyno.servers.base import Server

SCALE = 100
RATIO_AT_LEAST = 1.3


def measure(told: Told, server: Server, place: Place, pairs: int) -> None:
    """Loads in turn, each after the tables of the other were dropped."""
    rows = 100_011 * SCALE
    ours, theirs = [], []
    for _ in range(pairs):
        _clear(server)
        initialise = [pgbench_path(), "-i", "-q", "-s", str(SCALE), *place.flags]
        theirs.append(rows / tree_cpu_s(initialise)[2])
        _clear(server)
        load = [dbdyno_path(), "load", "tpcb", "--target", place.url, "-s", str(SCALE)]
        ours.append(rows / tree_cpu_s(load)[2])
    _clear(server)
    ratio = ratio_of_pairs(ours, theirs)
    words = f"{max(ours):,.0f} rows/s at best, pgbench {max(theirs):,.0f}; ratio {ratio}"
    told("loading, rows/s", words, ratio.value >= RATIO_AT_LEAST)


def _clear(server: Server) -> None:
    tables = "pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history"
    with server.connect() as connection:
        connection.execute(f"drop table if exists {tables}")
        connection.execute("checkpoint")
