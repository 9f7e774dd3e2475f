"""The fault matrix names tests that exist, for every fault in this list, on both databases."""

import re
import subprocess
import sys
from functools import cache

import pytest

from tests.reliability.matrix import ROOT, ROWS, Row

FAULTS = {
    "server": {
        "the server is killed",
        "the server is killed and restarted",
        "the server is stopped for 5 s",
        "the server is stopped for good",
        "the server stops while data is loaded",
        "the server is gone before the first transaction",
        "more clients than the server admits",
        "all connections are taken",
        "the network is cut",
        "the network is cut for 1 s",
        "the network loses every packet",
        "connections are half-open",
        "the network delays each packet",
        "connections are reset",
        "the server's certificate changes",
    },
    "parts": {
        "dbdyno itself is killed",
        "dbdyno is killed behind its full screen",
        "the full screen of `--tui` is killed",
        "its guard is killed",
        "its engine is killed",
        "its telemetry is killed",
    },
    "host": {
        "Ctrl-C, SIGTERM or a closed terminal",
        "the engine falls silent",
        "the engine is paused",
        "a load is killed, or fills the disk, and is repeated",
        "a study is killed and resumed",
        "the disk is full for the run folder",
        "the disk is full before a private server starts",
        "the disk of a private server fills while data is loaded",
        "the disk of a private server fills during the run",
        "20 starts at once in one home",
        "a home that may only be read",
        "the clock is set",
    },
    "shared loads": {
        "an agent of a shared load is killed",
        "the Ray cluster of a shared load is stopped, or started again",
        "an agent of a shared load falls silent",
        "one host of a shared load cannot reach the server, or is refused by it",
        "dbdyno is killed while agents share its load",
        "what should be an agent is none, or of another build",
    },
    "hostile servers": {
        "lying and huge lengths, random bytes, other protocols",
        "endless notices",
        "endless rows",
        "endless rounds of authentication",
        "a handshake that never ends",
        "no encryption, or plain bytes instead of it",
        "PostgreSQL: a request for the password in the clear",
        "MariaDB, MySQL: a request for the password in the clear",
        "a swapped RSA key without TLS",
        "a request for a local file",
    },
    "folders and texts": {
        "a damaged file of a run folder, a study, a data set or a kept server",
        "a run folder, a data set or a kept server from somebody else",
        "removals of what is not in the home",
        "a changed record of a kept server",
        "markup, escape sequences, line breaks, formulas and marks of direction in names and "
        "messages",
        "secrets by every road, and quoted by the server in errors and in its log",
    },
}


def test_the_matrix_is_complete() -> None:
    assert set().union(*FAULTS.values()) == ROWS.keys()


@cache
def collected() -> frozenset[str]:
    """The IDs of all tests in the Python files that the page names."""
    files = {name.partition("::")[0] for row in ROWS.values() for name in row.tests}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [*command, *sorted(file for file in files if file.endswith(".py"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(listed.stdout.splitlines())


def found(name: str) -> list[str]:
    """The IDs of a test of the page: one for each of its parameters."""
    file, _, function = name.partition("::")
    if file.endswith(".rs"):
        text = (ROOT / file).read_text(encoding="utf-8")
        return [name] if re.search(rf"#\[test\]\s+fn {function}\(\)", text) else []
    return [test for test in collected() if test == name or test.startswith(f"{name}[")]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_outcome_is_stated_and_shown_by_tests_that_exist(row: Row) -> None:
    assert all(cell for cell in row.cells.values()), "an empty cell"
    assert row.tests, "no test"
    assert [name for name in row.tests if not found(name)] == []


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.is_of_servers], ids=lambda row: row.fault
)
def test_it_is_shown_on_both_databases(row: Row) -> None:
    on_mariadb = [
        re.search("mariadb|mysql", test) is not None for name in row.tests for test in found(name)
    ]
    assert {True, False} == {*on_mariadb}
