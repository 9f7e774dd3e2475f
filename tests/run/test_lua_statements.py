"""Scripts of sysbench send the same statements here as in sysbench itself.

Both run each script for a few events with one client; the server's own log is compared, without
the values, which are drawn.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest

from dbdyno.cli.app import main
from dbdyno.cli.output import Exit
from dbdyno.run.lua.finding import find_script
from tests.engine.mariadb import MariaDB

EVENTS = 3
OPTIONS = ("--tables=1", "--table-size=50", "--range-size=5")
SCRIPTS = (
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|(?<![\w?])-?\d+(?:\.\d+)?\b")


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    assert shutil.which("sysbench"), "install it: apt-get install sysbench"
    server = MariaDB(log_output="TABLE")
    try:
        server.execute("create database sbtest")
        yield server
    finally:
        server.remove()


def options_of(script: str) -> tuple[str, ...]:
    """Those about ranges are not every script's."""
    return OPTIONS[:2] if script.startswith("select_") else OPTIONS


def sysbench(server: MariaDB, script: str, command: str, *more: str) -> None:
    connection = (f"--mysql-socket={server.socket_path}", "--mysql-user=loader")
    subprocess.run(
        ["sysbench", script, *connection, *options_of(script), *more, command],
        check=True,
        capture_output=True,
        timeout=60,
    )


def dbdyno(server: MariaDB, *words: str, script: str) -> None:
    url = f"mysql://loader@localhost/sbtest?socket={server.socket_path}"
    command, *flags = words
    code = main([command, *flags, "--target", url, "--", *options_of(script)])
    assert code in {Exit.OK, Exit.NOT_VALID}  # three events are not worth a number


def logged(server: MariaDB, act: Callable[[], None]) -> list[str]:
    """What the session that used the table most has asked for, values left out."""
    server.execute("truncate mysql.general_log", "set global general_log = on")
    act()
    server.execute("set global general_log = off")
    rows = server.execute(
        "select thread_id, command_type, cast(argument as char) from mysql.general_log"
        " where user_host like '%loader%' order by event_time"
    )
    threads = [thread for thread, _, text in rows if "sbtest1" in text]
    busiest = max(threads, key=threads.count)
    return [
        f"{kind}: {_VALUE.sub('?', text)}"
        for thread, kind, text in rows
        if thread == busiest and kind in {"Query", "Prepare", "Execute"}
    ]


@pytest.mark.parametrize("mode", ["auto", "disable"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_server_is_asked_for_the_same(server: MariaDB, home, script: str, mode: str) -> None:
    assert find_script(f"{script}.lua"), script
    sysbench(server, script, "cleanup")
    sysbench(server, script, "prepare")
    counted = (f"--events={EVENTS}", "--time=0", f"--db-ps-mode={mode}")
    theirs = logged(server, lambda: sysbench(server, script, "run", *counted))
    run = ("run", f"{script}.lua", "-c", "1", "-t", str(EVENTS), "--warmup", "0")
    quiet = ("--telemetry", "off", "-P", "0", "-M", "simple" if mode == "disable" else "prepared")
    ours = logged(server, lambda: dbdyno(server, *run, *quiet, script=script))
    assert ours == theirs


@pytest.mark.parametrize("script", ["oltp_read_write", "select_random_points", "bulk_insert"])
def test_preparing_asks_for_the_same(server: MariaDB, home, script: str) -> None:
    sysbench(server, script, "cleanup")
    theirs = logged(server, lambda: sysbench(server, script, "prepare"))
    sysbench(server, script, "cleanup")
    ours = logged(server, lambda: dbdyno(server, "load", f"{script}.lua", script=script))
    assert ours == theirs
