"""A load generator of a few lines, for one client: this file, run as a program."""

import sys
import time

from bench.data import Data, load_data
from bench.tool import Load, Outcome, Tool, match_line
from dbdyno.databases.connecting import open_connection, url_of
from dbdyno.model.plan import Endpoint


def drive(seconds: float, url: str) -> None:
    """Reads the same row until the time is over."""
    done, began_at = 0, time.monotonic()
    with open_connection(url) as connection:
        while (elapsed_s := time.monotonic() - began_at) < seconds:
            connection.execute("select id from anything where id = 1")
            done += 1
    print(f"{done} transactions in {elapsed_s} s")


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    return ["-m", __name__, str(load.seconds), url_of(endpoint)]


def _read(out: str) -> Outcome:
    found = match_line(r"^(\d+) transactions in ([\d.]+) s", out)
    return Outcome(tps=int(found[1]) / float(found[2]), transactions=int(found[1]), failed=0)


def _find() -> str:
    return sys.executable


def _load(endpoint: Endpoint) -> None:
    load_data(endpoint, "read-any")


def _settle(endpoint: Endpoint) -> None:
    """Reading leaves nothing to settle."""


READ_ANY = Data(name="read_any", load=_load, settle=_settle)
ONE_THREAD = Tool(name="one thread", find=_find, arguments=_arguments, read=_read)

if __name__ == "__main__":
    drive(float(sys.argv[1]), sys.argv[2])
