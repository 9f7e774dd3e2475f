"""Listing and querying many runs: ten thousand copies of the folder of a real run.

The first listing makes the index and the first query merges the table; the others are what a user
waits for.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.ceiling import Report
from bench.process import run_to_end
from bench.tool import dbdyno_path
from dbdyno.home import VARIABLE
from dbdyno.servers.base import Server

RUNS = 10_000
TIMES = 5
LISTED_WITHIN_S, QUERIED_WITHIN_S = 0.3, 1.0


def measure(report: Report, server: Server) -> None:
    """Measures the best of several calls, each in a process of its own."""
    version_s = _best_s("--version")
    with own_home() as home:
        _fill(home / "runs", server)
        listed_s = _best_s("runs")
        queried_s = _best_s("sql", "select count(*) from intervals")
    text = f"{listed_s:.2f} s for {RUNS} runs; --version alone {version_s:.2f} s"
    report("home: runs", text, listed_s < LISTED_WITHIN_S)
    report("home: sql over intervals", f"{queried_s:.2f} s", queried_s < QUERIED_WITHIN_S)


@contextmanager
def own_home() -> Iterator[Path]:
    """A home for the commands and the functions of dbdyno within the block."""
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as home:
        os.environ[VARIABLE] = home
        try:
            yield Path(home)
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def _fill(runs: Path, server: Server) -> None:
    run_to_end([dbdyno_path(), "run", "pk", "--target", server.url, "-T", "2"])
    (folder,) = (path for path in runs.iterdir() if not path.name.startswith("."))
    for number in range(1, RUNS):
        copy = runs / f"{folder.name}-{number}"
        shutil.copytree(folder, copy, copy_function=os.link)  # no copies: they fill the disk cache


def _best_s(*words: str) -> float:
    return min(run_to_end([dbdyno_path(), *words]).elapsed_s for _ in range(TIMES))
