"""The messages that matter for a run, and the numbers in them.

For servers with English messages, versions 12 to 18. A number that a version does not log is left
out; the messages of a server in another language are not recognized.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from re import Pattern

from dbdyno.databases.postgresql.telemetry.log.message import LogMessage


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A kind of message: its beginning, and the patterns of its numbers and words.

    They are searched for in the message and its detail. ``fixed`` are values that the kind of
    message implies.
    """

    name: str
    begins: Pattern[str]
    numbers: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)

    def values(self, logged: LogMessage) -> dict[str, float | str]:
        """Return the values found in the message; for an error also its SQLSTATE."""
        text = f"{logged.message}\n{logged.detail}"
        state = {"sqlstate": logged.sqlstate} if logged.sqlstate and logged.is_error else {}
        numbers = {
            name: number
            for name, found in _found(self.numbers, text)
            if isfinite(number := float(found[1]))
        }
        texts = {name: found[1] for name, found in _found(self.texts, text)}
        return {**numbers, **texts, **self.fixed, **state}


def _found(patterns: Mapping[str, str], text: str) -> list[tuple[str, re.Match[str]]]:
    searched = ((name, re.search(pattern, text)) for name, pattern in patterns.items())
    return [(name, match) for name, match in searched if match]


NUMBER = r"(\d+(?:\.\d+)?)"

# For both vacuum and analyze.
EFFORT = {
    "elapsed_s": rf"elapsed: {NUMBER} s",
    "cpu_user_s": rf"CPU: user: {NUMBER} s",
    "cpu_system_s": rf"system: {NUMBER} s",
    "buffers_hit": r"buffer usage: (\d+) hits",
    "buffers_read": r"(\d+) (?:misses|reads)",
    "buffers_dirtied": r"(\d+) dirtied",
    "wal_records": r"WAL usage: (\d+) records",
    "wal_images": r"(\d+) full page images",
    "wal_bytes": r"full page images, (\d+) bytes",
}

# Tables are named as in everything that dbdyno records.
TABLE = {
    "database": r'of table "([^."]+)\.',
    "table": r'of table "[^."]+\.(?:public\.)?(.+?)"',
}

TOPICS = (
    Topic(
        name="checkpoint_start",
        begins=re.compile(r"(?:checkpoint|restartpoint) starting:"),
    ),
    Topic(
        name="checkpoint_end",
        begins=re.compile(r"(?:checkpoint|restartpoint) complete\b"),
        numbers={
            "buffers_written": r"wrote (\d+) buffers",
            "slru_written": r"wrote (\d+) SLRU buffers",
            "wal_added": r"(\d+) WAL file\(s\) added",
            "wal_removed": r"(\d+) removed",
            "wal_recycled": r"(\d+) recycled",
            "write_s": rf"\bwrite={NUMBER} s",
            "sync_s": rf"\bsync={NUMBER} s",
            "total_s": rf"\btotal={NUMBER} s",
            "files_synced": r"sync files=(\d+)",
            "longest_sync_s": rf"\blongest={NUMBER} s",
            "distance_kb": r"\bdistance=(\d+) kB",
            "estimate_kb": r"\bestimate=(\d+) kB",
        },
    ),
    Topic(
        name="autovacuum",
        begins=re.compile(r"automatic (?:aggressive )?vacuum (?:to prevent wraparound )?of table"),
        numbers={
            "index_scans": r"index scans: (\d+)",
            "pages_removed": r"pages: (\d+) removed",
            "pages_remain": r"pages: \d+ removed, (\d+) remain",
            "removed": r"tuples: (\d+) removed",
            "remain": r"tuples: \d+ removed, (\d+) remain",
            "not_yet_removable": r"(\d+) are dead but not yet removable",
            "tuples_frozen": r"had (\d+) tuples frozen",
            **EFFORT,
        },
        texts=TABLE,
    ),
    Topic(
        name="autoanalyze",
        begins=re.compile(r"automatic analyze of table"),
        numbers=EFFORT,
        texts=TABLE,
    ),
    Topic(
        name="deadlock",
        begins=re.compile(r"deadlock detected"),
        texts={"detail": r"(Process \d+ waits for .+(?:\nProcess \d+ waits for .+){0,9})"},
    ),
    Topic(
        name="lock_wait",
        begins=re.compile(r"process \d+ (?:still waiting for|acquired) \w+ on "),
        numbers={"pid": r"process (\d+)", "waited_ms": rf"after {NUMBER} ms"},
        texts={
            "outcome": r"process \d+ (still waiting|acquired)",
            "mode": r"(?:waiting for|acquired) (\w+) on",
            "thing": r"(?:waiting for|acquired) \w+ on (.+) after",
        },
    ),
    Topic(
        name="temporary_file",
        begins=re.compile(r"temporary file: path "),
        numbers={"bytes": r"size (\d+)"},
    ),
    Topic(name="start", begins=re.compile(r"database system is ready to accept connections")),
    Topic(
        name="start",
        begins=re.compile(r"database system was not properly shut down"),
        fixed={"reason": "recovery"},
    ),
    Topic(
        name="stop",
        begins=re.compile(r"received (?:smart|fast|immediate) shutdown request"),
        texts={"reason": r"received (\w+)"},
    ),
    Topic(
        name="stop",
        begins=re.compile(r".+ \(PID \d+\) was terminated by signal"),
        numbers={"signal": r"by signal (\d+)"},
        fixed={"reason": "crash"},
    ),
)
ERROR = Topic(name="error", begins=re.compile(r""))


def topic_of(logged: LogMessage) -> Topic | None:
    """Return the topic of a message; ``ERROR`` for an error without a topic of its own."""
    known = next((topic for topic in TOPICS if topic.begins.match(logged.message)), None)
    return known or (ERROR if logged.is_error else None)
