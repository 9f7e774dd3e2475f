"""A process that outlives the tests, however they end, and stops the kept servers that they left.

A kept server is there to outlive the command that starts it, so that no guard of dbdyno's stops it
where a test is killed. The watchman reads homes, one per line, until the tests' process has ended
and its end of the pipe is closed.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path


def watch(home: Path) -> None:
    """Have the kept servers of this home stopped when this process has ended."""
    order = _watchman().stdin
    assert order is not None
    order.write(f"{home}\n")
    order.flush()


@cache
def _watchman() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.watchman"]
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, text=True, cwd=root, start_new_session=True
    )


def _stop(home: str) -> None:
    from dbdyno.servers.kept import list_kept, stop_kept  # noqa: PLC0415 - seldom needed

    os.environ["DBDYNO_HOME"] = home
    for server in list_kept():
        stop_kept(server.name)


if __name__ == "__main__":
    for home in sys.stdin.read().splitlines():
        if any(Path(home).glob("servers/*/server.json")):
            _stop(home)
