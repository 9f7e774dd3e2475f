"""Which kernel interface is used if io_uring is refused: the other one, and it is reported."""

import json
import os
import subprocess
import sys
from pathlib import Path

from dbdyno.servers.base import Server

ROOT = Path(__file__).parents[2]


def run_without_uring(server: Server, home: Path, io: str) -> subprocess.CompletedProcess[str]:
    script = home.parent / "one.sql"
    script.write_text("select 1;\n")
    arguments = [
        "run",
        str(script),
        "--target",
        server.url,
        "--io",
        io,
        "-c",
        "2",
        "-t",
        "10",
        "--json",
    ]
    return subprocess.run(
        [sys.executable, "-m", "tests.engine.without_uring", *arguments],
        cwd=ROOT,
        env={**os.environ, "DBDYNO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_epoll_runs_where_io_uring_is_refused(database: Server, home: Path) -> None:
    ended = run_without_uring(database, home, "auto")
    assert ended.returncode == 0, ended.stderr
    record = json.loads(ended.stdout)
    assert record["transactions"]["ok"] == 20
    engine = json.loads((home / "runs" / record["run_id"] / "engine.json").read_text())
    assert engine["hello"]["io"] == "epoll"
    assert engine["hello"]["io_reason"].startswith("io_uring is forbidden here")


def test_requesting_an_unavailable_io_uring_reports_the_reason(
    database: Server, home: Path
) -> None:
    ended = run_without_uring(database, home, "uring")
    assert ended.returncode == 1
    error = json.loads(ended.stdout)["error"]
    assert error["code"] == "no_uring"
    assert error["message"].startswith("io_uring is forbidden here")
    assert error["hint"] == "use --io auto or --io epoll"
