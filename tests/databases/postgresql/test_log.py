"""The log of real servers, in every format.

Each file was written by a server of that version during a checkpoint, a vacuum, a deadlock, a
temporary file, a failure, a crash and a shutdown.
"""

import math
import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from dbdyno.databases.postgresql.telemetry.log import LINE_MAX, PostgresqlLog
from dbdyno.databases.postgresql.telemetry.log.message import Prefix, moment_ns
from dbdyno.model.telemetry import LogEntry

LOGS = Path(__file__).parent / "logs"
ALL = ["15.txt", "15.csv", "15.json", "18.txt"]
LINE = "2026-11-21 01:10:42.608 UTC [1] LOG:  checkpoint starting: time\n"


def log_of(name: str) -> str:
    return (LOGS / name).read_text()


def entries(*pieces: str) -> list[LogEntry]:
    log = PostgresqlLog()
    return [entry for piece in (*pieces, "") for entry in log.feed(piece)]


def only(found: list[LogEntry], topic: str) -> LogEntry:
    (entry,) = [entry for entry in found if entry.topic == topic]
    return entry


@pytest.mark.parametrize("name", ALL)
def test_events_are_reported_in_their_order(name: str) -> None:
    topics = [entry.topic for entry in entries(log_of(name)) if entry.topic != "autoanalyze"]
    assert topics == [
        "start",
        "checkpoint_start",
        "checkpoint_end",
        "temporary_file",
        "temporary_file",
        "error",
        "lock_wait",
        "deadlock",
        "lock_wait",
        "autovacuum",
        "stop",
        "start",
        "checkpoint_start",
        "checkpoint_end",
        "start",
        "stop",
        "checkpoint_start",
        "checkpoint_end",
    ]


def test_the_three_formats_of_one_log_agree() -> None:
    text, table, objects = (entries(log_of(name)) for name in ("15.txt", "15.csv", "15.json"))
    assert text == table == objects


@pytest.mark.parametrize("name", ALL)
def test_pieces_may_end_anywhere(name: str) -> None:
    text = log_of(name)
    whole = entries(text)
    assert entries(*text) == whole
    assert entries(*(text[at : at + 1000] for at in range(0, len(text), 1000))) == whole


def test_a_checkpoint_has_its_parts() -> None:
    end = next(entry for entry in entries(log_of("15.txt")) if entry.topic == "checkpoint_end")
    assert end.at_ns == datetime(2026, 11, 21, 1, 12, 16, 836_000, UTC).timestamp() * 10**9
    assert end.values == {
        "reason": "immediate force wait",
        "buffers_written": 91,
        "wal_added": 0,
        "wal_removed": 0,
        "wal_recycled": 0,
        "write_s": 0.002,
        "sync_s": 0.005,
        "total_s": 0.009,
        "files_synced": 46,
        "longest_sync_s": 0.001,
        "distance_kb": 485,
        "estimate_kb": 485,
    }


def test_a_vacuum_has_its_table_and_its_work() -> None:
    for name in ("15.txt", "18.txt"):
        values = only(entries(log_of(name)), "autovacuum").values
        assert (values["database"], values["table"]) == ("postgres", "t")
        assert values["removed"] == 404
        assert values["remain"] == 100
        assert values["index_scans"] == 1
        assert values["not_yet_removable"] == 0
        assert {"elapsed_s", "cpu_user_s", "buffers_hit", "wal_bytes"} <= values.keys()


def test_tables_outside_public_keep_their_schema() -> None:
    vacuum = 'automatic vacuum to prevent wraparound of table "db.other.Odd name": index scans: 2'
    values = only(entries(f"LOG:  {vacuum}\n"), "autovacuum").values
    assert values == {"database": "db", "table": "other.Odd name", "index_scans": 2}


def test_a_deadlock_shows_who_waited_for_whom_and_no_statement() -> None:
    values = only(entries(log_of("15.txt")), "deadlock").values
    assert values["sqlstate"] == "40P01"
    assert str(values["detail"]).count("waits for ShareLock on transaction") == 2
    assert "update" not in str(values["detail"])


def test_a_wait_for_a_lock_has_its_time() -> None:
    waits = [entry.values for entry in entries(log_of("18.txt")) if entry.topic == "lock_wait"]
    assert [values["outcome"] for values in waits] == ["still waiting", "acquired"]
    assert 200 < float(waits[0]["waited_ms"]) < float(waits[1]["waited_ms"])
    assert waits[0]["mode"] == "ShareLock"
    assert str(waits[0]["thing"]).startswith("transaction ")


def test_temporary_files_have_their_size() -> None:
    found = entries(log_of("15.txt"))
    sizes = [entry.values["bytes"] for entry in found if entry.topic == "temporary_file"]
    assert sizes == [352256, 280000]


def test_a_crash_is_no_shutdown() -> None:
    found = [entry for entry in entries(log_of("18.txt")) if entry.topic in ("start", "stop")]
    reasons = [entry.values.get("reason") for entry in found]
    assert reasons == [None, "crash", "recovery", None, "fast"]
    assert found[1].values["signal"] == 9


def test_an_error_has_its_sqlstate_where_the_prefix_has_it() -> None:
    assert only(entries(log_of("15.txt")), "error").values == {"sqlstate": "23505"}
    assert only(entries(log_of("18.txt")), "error").values == {}


def test_a_process_id_is_no_sqlstate() -> None:
    prefix = Prefix()
    assert prefix.sqlstate("2026-11-21 01:10:42 UTC [40001] 23505 ") == ""
    assert prefix.sqlstate("2026-11-21 01:10:42 UTC [40001] 00000 ") == "00000"
    assert prefix.sqlstate("2026-11-21 01:10:43 UTC [40001] 23505 ") == "23505"


SECOND = 1795223442 * 10**9  # 2026-11-21 01:10:42 UTC


@pytest.mark.parametrize(
    ("prefix", "at_ns"),
    [
        ("2026-11-21 01:10:42.608 UTC [17] ", SECOND + 608_000_000),
        ("2026-11-21 01:10:42 GMT ", SECOND),
        ("2026-11-21 04:10:42 +03 app=x ", SECOND),
        ("2026-11-20 19:40:42 -05:30 ", SECOND),
        ("u@d 1795223442.608 [17] ", SECOND + 608_000_000),
        ("[17] u@d ", 0),
        ("2026-11-21 01:10:42 XYZT ", 0),
    ],
)
def test_moments(prefix: str, at_ns: int) -> None:
    assert moment_ns(prefix) == at_ns
    (entry,) = entries(f"{prefix}LOG:  checkpoint starting: time\n")
    assert entry.at_ns == at_ns


def test_a_message_waits_for_more_of_it_until_nothing_comes() -> None:
    log = PostgresqlLog()
    assert log.feed(LINE) == []
    assert [entry.topic for entry in log.feed("")] == ["checkpoint_start"]
    assert log.feed("") == []


def test_reading_begins_in_the_middle_of_a_message() -> None:
    middle = "\ttuples: 5 removed\n2026-11-21 01:10:42 UTC [1] DETAIL:  deadlock detected\n"
    assert [entry.topic for entry in entries(middle + LINE)] == ["checkpoint_start"]


def test_a_log_in_another_language_yields_nothing_and_breaks_nothing() -> None:
    german = "2026-11-21 01:10:42.608 UTC [1] LOG:  Checkpoint beginnt: time\n"
    french = "2026-11-21 01:10:42.608 UTC [1] ERREUR:  division par zéro\n"
    assert entries(german + french) == []


@pytest.mark.parametrize(
    "rubbish",
    [
        "\x00\xff\ufffd\n",
        '{"timestamp":\n',
        "[]\n{}\n",
        '2026-11-21 01:10:42.608 UTC,"\n',
        ":  \n" * 9,
    ],
)
def test_rubbish_is_passed_over(rubbish: str) -> None:
    assert [entry.topic for entry in entries(rubbish + LINE)] == ["checkpoint_start"]


def test_a_line_without_an_end_takes_no_more_than_its_share() -> None:
    log = PostgresqlLog()
    for _ in range(5):
        log.feed("x" * LINE_MAX)
    assert len(log._rest) <= LINE_MAX
    assert [entry.topic for entry in log.feed(f"\n{LINE}") + log.feed("")] == ["checkpoint_start"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("odd", ["0", "-1", "99", "9" * 400, "odd", ""])
def test_an_odd_value_costs_only_itself(name: str, odd: str) -> None:
    """In place of each number of each line; the line after it is read as ever."""
    text = log_of(name)
    for line in dict.fromkeys(text.splitlines()):
        for number in re.finditer(r"\d+(\.\d+)?", line):
            changed = f"{line[: number.start()]}{odd}{line[number.end() :]}\n"
            found = entries(changed, LINE)
            assert "checkpoint_start" in {entry.topic for entry in found} or name != "15.txt"
            for entry in found:
                kept = msgspec.msgpack.decode(msgspec.msgpack.encode(entry), type=LogEntry)
                numbers = [value for value in kept.values.values() if isinstance(value, float)]
                assert all(map(math.isfinite, numbers)), changed
