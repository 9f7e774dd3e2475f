"""pgbench, and the data of its comparisons: its own tables and those of ``pk``."""

import re

from bench.data import Data, load_data
from bench.process import run_to_end
from bench.tool import Load, Outcome, Tool, match_line, on_path
from dbdyno.databases.connecting import open_connection, url_of
from dbdyno.model.plan import Endpoint

SCALE = 50


def initialize(endpoint: Endpoint, scale: int) -> float:
    """Creates its tables; returns the seconds that this took."""
    arguments = ["-i", "-q", "-s", str(scale), url_of(endpoint)]
    return run_to_end([PGBENCH.find(), *arguments]).elapsed_s


def _load(endpoint: Endpoint) -> None:
    initialize(endpoint, SCALE)
    load_data(endpoint, "pk", "-s", str(SCALE))


def _settle(endpoint: Endpoint) -> None:
    """No dead rows in the small tables, no dirty pages."""
    with open_connection(url_of(endpoint)) as connection:
        connection.execute("vacuum pgbench_branches, pgbench_tellers")
        connection.execute("truncate pgbench_history")
        connection.execute("checkpoint")


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = ["-c", str(load.clients), "-j", str(load.threads), "-T", str(load.seconds)]
    return ["-n", "-M", "prepared", *load.options, *numbers, url_of(endpoint)]


def _read(out: str) -> Outcome:
    tps = match_line(r"^tps = ([\d.]+)", out)
    count = match_line(r"actually processed: (\d+)", out)
    failed = re.search(r"failed transactions: (\d+)", out)  # printed since 15
    return Outcome(float(tps[1]), int(count[1]), int(failed[1]) if failed else 0)


PGBENCH_DATA = Data(name="pgbench", load=_load, settle=_settle)
PGBENCH = Tool(
    name="pgbench",
    find=on_path("pgbench", "postgresql-contrib"),
    arguments=_arguments,
    read=_read,
)
