"""sysbench scripts send the same statements here as in sysbench itself.

Both prepare, run each script for a few events with one client, and clean up; what the server
logs is compared, without the values, which are random.
"""

import shutil
from collections.abc import Iterator

import pytest

from dbdyno.cli import main
from dbdyno.run.lua.script_files import find_script
from tests.run.logging_servers import LoggingMariaDB, LoggingPostgres, LoggingServer, sysbench
from tests.support.ended import ENDED

pytestmark = pytest.mark.usefixtures("home")

EVENTS = 3
SMALL = ("--tables=1", "--table-size=50")
MODES = {"auto": "prepared", "disable": "simple"}
SCRIPTS = {
    "bulk_insert": SMALL,
    "oltp_point_select": (*SMALL, "--range-size=5"),
    "oltp_read_only": (*SMALL, "--range-size=5"),
    "oltp_read_write": (*SMALL, "--range-size=5"),
    "oltp_write_only": SMALL,
    "oltp_update_index": SMALL,
    "oltp_update_non_index": SMALL,
    "oltp_insert": SMALL,
    "oltp_delete": SMALL,
    "select_random_points": SMALL,
    "select_random_ranges": SMALL,
}
WITH_FIXED_KEYS = ("bulk_insert",)  # every run numbers its rows from 1


@pytest.fixture(
    scope="module", params=[LoggingMariaDB, LoggingPostgres], ids=["mariadb", "postgres"]
)
def server(request: pytest.FixtureRequest) -> Iterator[LoggingServer]:
    assert shutil.which("sysbench"), "install it: apt-get install sysbench"
    started = request.param()
    yield started
    started.remove()


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_server_receives_the_same_statements(server: LoggingServer, script: str) -> None:
    assert find_script(f"{script}.lua"), script
    given = SCRIPTS[script]

    def sysbench_statements(command: str, *more: str) -> list[str]:
        return server.logged(lambda: sysbench(server, script, command, *given, *more))

    def dbdyno_statements(*arguments: str) -> list[str]:
        return server.logged(lambda: dbdyno(server, *arguments, "--", *given))

    prepared = sysbench_statements("prepare")
    cleaned = dbdyno_statements("script", f"{script}.lua", "cleanup")
    assert dbdyno_statements("load", f"{script}.lua") == prepared
    for mode, sent in MODES.items():
        if script in WITH_FIXED_KEYS:
            server.empty("sbtest1")
        ran = sysbench_statements("run", f"--events={EVENTS}", "--time=0", f"--db-ps-mode={mode}")
        if script in WITH_FIXED_KEYS:
            server.empty("sbtest1")
        assert dbdyno_statements("run", f"{script}.lua", "-M", sent, *counted()) == ran
    assert sysbench_statements("cleanup") == cleaned
    assert server.tables() == 0


def counted() -> tuple[str, ...]:
    """Options for a few events of one client, without any other statements to the server."""
    return ("-c", "1", "-t", str(EVENTS), "--warmup", "0", "--telemetry", "off", "-P", "0")


def dbdyno(server: LoggingServer, command: str, *arguments: str) -> None:
    own, dashes, scripts = (
        arguments[: arguments.index("--")],
        "--",
        arguments[arguments.index("--") + 1 :],
    )
    code = main([command, *own, "--target", server.url, dashes, *scripts])
    assert code in ENDED
