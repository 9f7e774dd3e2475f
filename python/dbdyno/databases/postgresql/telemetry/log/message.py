"""A message of the server's log, parsed from any of the three formats that PostgreSQL writes.

Each line shows its format, so that it need not be configured. Text begins with ``log_line_prefix``,
of which only the time and the SQLSTATE are parsed. Lines that are not understood are ignored, since
logs contain foreign lines, too.
"""

import csv
import json
import re
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from msgspec import Struct

SEVERITIES = "DEBUG[1-5]?|INFO|NOTICE|WARNING|LOG|ERROR|FATAL|PANIC"
FIELDS = "DETAIL|HINT|QUERY|CONTEXT|LOCATION|STATEMENT|BACKTRACE"
# None of these words is in the prefix, and continuation lines are indented.
HEAD = re.compile(rf"(?P<prefix>[^\t].*?|)(?P<word>{SEVERITIES}|{FIELDS}):  (?P<text>.*)")
MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d{1,6})?(?: ([A-Z][A-Za-z]+|[+-]\d\d(?::?\d\d)?))?"
)
EPOCH = re.compile(r"(?<![\d.])(\d{10})\.(\d{3})(?!\d)")
YEARS = range(1971, 2262)  # nanoseconds since 1970 have 64 bits
TABLE_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [^ ,]+,")
SQLSTATE = re.compile(r"[0-9A-Z]{5}")
SUCCESS = "00000"
UNIVERSAL = ("UTC", "GMT")


class LogMessage(Struct, frozen=True):
    """One message. ``at_ns`` is Unix time, 0 if unknown; ``sqlstate`` is empty if not logged."""

    at_ns: int
    severity: str
    sqlstate: str
    message: str
    detail: str = ""

    @property
    def is_error(self) -> bool:
        """Whether this is an error."""
        return self.severity in ("ERROR", "FATAL", "PANIC")


def begins_message(line: str) -> bool:
    """Whether a line begins a message, rather than continuing one."""
    if line.startswith("{") or TABLE_LINE.match(line):
        return True
    head = HEAD.match(line)
    return head is not None and re.fullmatch(SEVERITIES, head["word"]) is not None


class Prefix:
    """Finds the SQLSTATE in the prefixes of a text log, once it knows its position.

    Every message that is not an error has SQLSTATE 00000, which shows the position; a process ID
    looks much like an SQLSTATE.
    """

    def __init__(self) -> None:
        self._place: int | None = None

    def sqlstate(self, prefix: str) -> str:
        """Return the prefix's SQLSTATE; empty if there is none or its position is not known yet."""
        tokens = re.findall(r"\w+", prefix)
        if SUCCESS in tokens:
            self._place = tokens.index(SUCCESS) - len(tokens)
        if self._place is None or len(tokens) < -self._place:
            return ""
        token = tokens[self._place]
        return token if SQLSTATE.fullmatch(token) else ""


def read_message(lines: list[str], prefix: Prefix) -> LogMessage | None:
    """Return the message in these lines; None if they are none."""
    if lines[0].startswith("{"):
        return _from_json(lines[0])
    if TABLE_LINE.match(lines[0]):
        return _from_table("\n".join(lines))
    return _from_text(lines, prefix)


def _from_json(line: str) -> LogMessage | None:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    names = ("timestamp", "error_severity", "state_code", "message", "detail")
    moment, *texts = (str(found.get(name, "")) for name in names)
    return LogMessage(moment_ns(moment), *texts)


def _from_table(text: str) -> LogMessage | None:
    """Parse CSV by the positions of its columns: the time first, the severity twelfth, etc."""
    try:
        row = next(csv.reader([text], strict=True))
    except csv.Error:
        return None
    return LogMessage(moment_ns(row[0]), *row[11:15]) if len(row) > 14 else None


def _from_text(lines: list[str], prefix: Prefix) -> LogMessage | None:
    first = HEAD.match(lines[0])
    if first is None:
        return None
    fields = _fields(lines)
    return LogMessage(
        at_ns=moment_ns(first["prefix"]),
        severity=first["word"],
        sqlstate=prefix.sqlstate(first["prefix"]),
        message="\n".join(fields[first["word"]]),
        detail="\n".join(fields.get("DETAIL", ())),
    )


def _fields(lines: list[str]) -> dict[str, list[str]]:
    """Return the message and its further fields, whose continuation lines are indented."""
    fields: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if head := HEAD.match(line):
            current = fields.setdefault(head["word"], [])
        current.append(head["text"] if head else line.removeprefix("\t"))
    return fields


def moment_ns(text: str) -> int:
    """Return the Unix time in a text; 0 if there is none, it cannot be, or its zone is unknown."""
    if epoch := EPOCH.search(text):
        return int(epoch[1] + epoch[2]) * 1_000_000
    found = MOMENT.search(text)
    if found is None:
        return 0
    try:
        moment = datetime.fromisoformat(found[1])
    except ValueError:
        return 0
    if moment.year not in YEARS:
        return 0
    zone = found[3] or ""
    if zone in UNIVERSAL:
        moment = moment.replace(tzinfo=UTC)
    elif zone[:1] in ("+", "-"):
        moment = moment.replace(tzinfo=_offset(zone))
    elif zone not in time.tzname:
        return 0
    return round(moment.timestamp()) * 10**9 + round(float(found[2] or 0) * 10**9)


def _offset(zone: str) -> timezone:
    sign = -1 if zone.startswith("-") else 1
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    return timezone(sign * timedelta(hours=hours, minutes=minutes))
