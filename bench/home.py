"""Listing and querying many runs: ten thousand copies of the folder of a real run.

The first listing makes the index and the first query merges the table; the others are what a user
waits for.
"""

import os
import shutil
import tempfile
from pathlib import Path

from bench.ceiling import Report
from bench.process import run_to_end
from bench.tool import dbdyno_path
from dbdyno.servers.base import Server

RUNS = 10_000
TIMES = 5
LISTED_WITHIN_S, QUERIED_WITHIN_S = 0.3, 1.0


def measure(report: Report, server: Server) -> None:
    """Measures the best of several calls, each in a process of its own."""
    version_s = _best_s("--version")
    before = os.environ.get("DBDYNO_HOME")
    with tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as home:
        os.environ["DBDYNO_HOME"] = home
        try:
            _fill(Path(home, "runs"), server)
            listed_s = _best_s("runs")
            queried_s = _best_s("sql", "select count(*) from intervals")
        finally:
            os.environ.pop("DBDYNO_HOME")
            if before is not None:
                os.environ["DBDYNO_HOME"] = before
    text = f"{listed_s:.2f} s for {RUNS} runs; --version alone {version_s:.2f} s"
    report("home: runs", text, listed_s < LISTED_WITHIN_S)
    report("home: sql over intervals", f"{queried_s:.2f} s", queried_s < QUERIED_WITHIN_S)


def _fill(runs: Path, server: Server) -> None:
    run_to_end([dbdyno_path(), "run", "pk", "--target", server.url, "-T", "2"])
    (folder,) = (path for path in runs.iterdir() if not path.name.startswith("."))
    for number in range(1, RUNS):
        copy = runs / f"{folder.name}-{number}"
        shutil.copytree(folder, copy, copy_function=os.link)  # no copies: they fill the disk cache


def _best_s(*words: str) -> float:
    return min(run_to_end([dbdyno_path(), *words]).elapsed_s for _ in range(TIMES))
