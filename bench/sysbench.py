"""sysbench, on tables that dbdyno has loaded.

Both tools draw uniform keys (sysbench 1.0 would not) and prepare their statements on the server.
"""

from bench.peer import Peer, match_line, on_path
from bench.tools import Load, Outcome, load_data
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server
from dbdyno.targets.registry import find_target

TABLES = 4
TABLE_ROWS = 100_000


def _prepare(endpoint: Endpoint) -> None:
    size = ("-D", f"tables={TABLES}", "-D", f"table_size={TABLE_ROWS}")
    load_data(endpoint, "oltp_read_write", *size)


def _settle(server: Server) -> None:
    """As dbdyno prepares a private server before a run."""
    names = [f"sbtest{number}" for number in range(1, TABLES + 1)]
    with server.connect() as connection:
        find_target(server.target_name(connection)).settle(connection, names)


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = [f"--threads={load.clients}", f"--time={load.seconds}"]
    alike = ["--rand-type=uniform", "--db-ps-mode=auto"]
    return [*load.peer_options, *numbers, *alike, *_login(endpoint), "run"]


def _login(endpoint: Endpoint) -> list[str]:
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


SYSBENCH = Peer(
    name="sysbench",
    find=on_path("sysbench", "sysbench"),
    prepare=_prepare,
    settle=_settle,
    arguments=_arguments,
    read=_read,
)
