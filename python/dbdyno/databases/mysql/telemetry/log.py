"""Parses the error log as it grows: pieces of text in, entries that matter to a run out.

Nothing is opened or followed here. MariaDB writes local time, MySQL what ``log_timestamps`` says,
with a letter for UTC. A server that crashes writes its last line itself, in another form: MariaDB
with six digits for the day, MySQL without a severity. Lines that are not understood are ignored: of
a deadlock's many lines only the first becomes an entry.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dbdyno.model.telemetry import LogEntry

LINE_MAX = 1 << 16
MESSAGE_MAX = 300

HEAD = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d|\d{6})[T ] ?(?P<clock>\d?\d:\d\d:\d\d(?:\.\d+)?)"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?"
    r"(?: UTC -|(?: +\d+)? \[(?P<severity>\w+)\]) (?P<message>.*)"
)
YEARS = range(1971, 2262)  # nanoseconds since 1970 have 64 bits
LABELS = re.compile(r"^(?:\[[^\]]*\] )*(?:InnoDB: )?")


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A kind of message: its beginning, the patterns of its values, and its constant values."""

    name: str
    begins: str
    texts: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)

    def values(self, message: str) -> dict[str, float | str]:
        """Return the values found in the message."""
        searched = {name: re.search(pattern, message) for name, pattern in self.texts.items()}
        return {name: found[1] for name, found in searched.items() if found} | dict(self.fixed)


TOPICS = (
    Topic(name="start", begins=r".*: ready for connections"),
    Topic(
        name="start",
        begins=r"Starting crash recovery|Database was not shutdown normally",
        fixed={"reason": "recovery"},
    ),
    Topic(
        name="stop",
        begins=r".*(?:Normal shutdown|Received SHUTDOWN)",
        fixed={"reason": "shutdown"},
    ),
    Topic(name="stop", begins=r".*got signal \d+", fixed={"reason": "crash"}),
    Topic(name="deadlock", begins=r"Transactions? deadlock detected"),
    Topic(
        name="aborted_connection",
        begins=r"Aborted connection",
        texts={"reason": r"\(([^()]*)\)\s*$", "user": r"user: '([^']*)'"},
    ),
)
ERROR = Topic(name="error", begins="")


class MysqlLog:
    """Parses one log from any position."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[LogEntry]:
        """Return the entries of the lines that are complete with this piece."""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[:LINE_MAX]
        return [entry for line in lines if (entry := _entry(line.rstrip("\r")))]


def _entry(line: str) -> LogEntry | None:
    head = HEAD.match(line)
    if head is None:
        return None
    message = LABELS.sub("", head["message"])
    severity = (head["severity"] or "ERROR").upper()
    topic = _topic_of(message, severity)
    if topic is None:
        return None
    return LogEntry(
        at_ns=_moment_ns(head["day"], head["clock"], head["zone"] or ""),
        topic=topic.name,
        severity=severity,
        message=message[:MESSAGE_MAX],
        values=topic.values(message),
    )


def _topic_of(message: str, severity: str) -> Topic | None:
    known = next((topic for topic in TOPICS if re.match(topic.begins, message)), None)
    return known or (ERROR if severity == "ERROR" else None)


def _moment_ns(day: str, clock: str, zone: str) -> int:
    """Return Unix time in ns; without a zone it is local time; 0 if it is not a time."""
    day = day if "-" in day else f"20{day}"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock:0>8}{zone}")
    except ValueError:
        return 0
    if moment.year not in YEARS:
        return 0
    return round(moment.timestamp() * 1e6) * 1000
