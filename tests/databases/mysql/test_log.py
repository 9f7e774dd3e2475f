"""The error logs of MariaDB and MySQL, in pieces of any length."""

import re
import time
from datetime import UTC, datetime

import msgspec
import pytest

from dbdyno.databases.mysql.telemetry.log import MysqlLog
from dbdyno.model.telemetry import LogEntry

MARIADB = """\
2026-11-21  1:47:42 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=177536214
2026-11-21  1:47:43 0 [Note] mariadbd: ready for connections.
Version: '10.11.19-MariaDB'  socket: '/run/s.sock'  port: 0  Debian 12
2026-11-21  2:01:28 30 [Note] InnoDB: Transactions deadlock detected, dumping detailed information.
2026-11-21  2:01:28 30 [Note] InnoDB:\x20
*** (1) TRANSACTION:
TRANSACTION 1221050, ACTIVE 0 sec starting index read
2026-11-21  2:01:28 30 [Note] InnoDB: *** WE ROLL BACK TRANSACTION (1)
2026-11-21 12:01:29 29 [Warning] Aborted connection 29 to db: 'sb' user: 'loader' host: \
'localhost' (Got an error reading communication packets)
2026-11-21 12:01:30 0 [ERROR] InnoDB: Unable to write to the log
2026-11-21 12:01:31 0 [Note] mariadbd (initiated by: unknown): Normal shutdown
"""
MYSQL = """\
2026-11-21T01:47:42.125000Z 0 [System] [MY-010931] [Server] /opt/mysqld: ready for connections. \
Version: '8.0.33'
2026-11-21T01:47:43.5Z 8 [Note] [MY-012468] [InnoDB] Transactions deadlock detected, dumping.
"""


def topics(*pieces: str) -> list[str]:
    log = MysqlLog()
    return [entry.topic for piece in pieces for entry in log.feed(piece)]


def test_what_matters_of_mariadbs_log():
    entries = MysqlLog().feed(MARIADB)
    assert [(entry.topic, entry.severity) for entry in entries] == [
        ("start", "NOTE"),
        ("start", "NOTE"),
        ("deadlock", "NOTE"),
        ("aborted_connection", "WARNING"),
        ("error", "ERROR"),
        ("stop", "NOTE"),
    ]
    assert entries[0].values == {"reason": "recovery"}
    aborted = {"reason": "Got an error reading communication packets", "user": "loader"}
    assert entries[3].values == aborted
    assert entries[4].message == "Unable to write to the log"


def test_mariadb_writes_local_time():
    (entry,) = MysqlLog().feed("2026-11-21  1:47:43 0 [ERROR] anything\n")
    wanted = time.mktime((2026, 11, 21, 1, 47, 43, 0, 0, -1))
    assert entry.at_ns == int(wanted) * 10**9


def test_mysql_writes_the_zone():
    start, deadlock = MysqlLog().feed(MYSQL)
    assert (start.topic, deadlock.topic) == ("start", "deadlock")
    wanted = datetime(2026, 11, 21, 1, 47, 42, 125000, tzinfo=UTC).timestamp()
    assert start.at_ns == round(wanted * 1e6) * 1000
    assert deadlock.message.startswith("Transactions deadlock")


@pytest.mark.parametrize(
    "line",
    [
        "261121  1:47:43 [ERROR] mysqld got signal 11 ;",  # MariaDB
        "2026-11-21T01:47:43Z UTC - mysqld got signal 11 ;",  # MySQL
    ],
)
def test_a_crash_is_told_in_a_form_of_its_own(line: str):
    (entry,) = MysqlLog().feed(f"{line}\n")
    assert (entry.topic, entry.severity, entry.values) == ("stop", "ERROR", {"reason": "crash"})
    there = "Z" in line
    wanted = datetime(2026, 11, 21, 1, 47, 43, tzinfo=UTC if there else None).timestamp()
    assert entry.at_ns == int(wanted) * 10**9


def test_pieces_may_end_anywhere():
    assert topics(*MARIADB) == topics(MARIADB)


def test_a_time_that_cannot_be_is_not_known():
    (entry,) = MysqlLog().feed("2026-99-99 99:99:99 0 [ERROR] anything\n")
    assert entry.at_ns == 0


@pytest.mark.parametrize("text", ["\0\xff\n" * 10, "x" * 200_000, "\n\n"])
def test_rubbish_gives_nothing(text: str):
    assert topics(text) == []


@pytest.mark.parametrize("odd", ["0", "-1", "99", "9" * 400, "odd", ""])
def test_an_odd_value_costs_only_itself(odd: str) -> None:
    """In place of each number of each line; the line after it is read as ever."""
    after = "2026-11-21  1:47:43 0 [Note] mariadbd: ready for connections.\n"
    for line in MARIADB.splitlines():
        for number in re.finditer(r"\d+", line):
            changed = f"{line[: number.start()]}{odd}{line[number.end() :]}\n"
            found = MysqlLog().feed(changed + after)
            assert found[-1].topic == "start"
            assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=list[LogEntry])
