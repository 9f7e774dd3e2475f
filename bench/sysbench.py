"""sysbench, and the data of its comparisons: tables that dbdyno has loaded.

Both tools draw uniform keys (sysbench 1.0 would not) and prepare their statements on the server.
"""

from collections.abc import Sequence

from bench.data import Data, load_data
from bench.tool import Load, Outcome, Tool, match_line, on_path
from dbdyno.databases.adapters import adapter_of
from dbdyno.databases.connecting import open_connection, url_of
from dbdyno.databases.identify import identify
from dbdyno.model.plan import Endpoint

TABLES = 4
TABLE_ROWS = 100_000


def _load(endpoint: Endpoint) -> None:
    size = ("-D", f"tables={TABLES}", "-D", f"table_size={TABLE_ROWS}")
    load_data(endpoint, "oltp_read_write", *size)


def _settle(endpoint: Endpoint) -> None:
    settle_tables(endpoint, [f"sbtest{number}" for number in range(1, TABLES + 1)])


def settle_tables(endpoint: Endpoint, names: Sequence[str]) -> None:
    """As dbdyno prepares a private server before a run."""
    with open_connection(url_of(endpoint)) as connection:
        target = adapter_of(identify(endpoint.protocol, connection), endpoint.protocol)
        target.settle(connection, [*names])


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = [f"--threads={load.clients}", f"--time={load.seconds}"]
    alike = ["--rand-type=uniform", "--db-ps-mode=auto"]
    return [*load.options, *numbers, *alike, *login(endpoint), "run"]


def login(endpoint: Endpoint) -> list[str]:
    """By Unix socket, where neither server requires a password."""
    unix = endpoint.address.unix
    assert unix
    if endpoint.protocol == "mysql":
        driver, place = "mysql", [f"--mysql-socket={unix.path}"]
    else:
        folder, _, socket = unix.path.rpartition("/")
        port = socket.rpartition(".")[2]
        driver, place = "pgsql", [f"--pgsql-host={folder}", f"--pgsql-port={port}"]
    who = [f"--{driver}-user={endpoint.user}", f"--{driver}-db={endpoint.database}"]
    return [f"--db-driver={driver}", *place, *who]


def _read(out: str) -> Outcome:
    done = match_line(r"transactions: +(\d+) +\(([\d.]+) per sec", out)
    ignored = match_line(r"ignored errors: +(\d+)", out)
    return Outcome(float(done[2]), int(done[1]), int(ignored[1]))


SYSBENCH_DATA = Data(name="sysbench", load=_load, settle=_settle)
SYSBENCH = Tool(
    name="sysbench",
    find=on_path("sysbench", "sysbench"),
    arguments=_arguments,
    read=_read,
)
