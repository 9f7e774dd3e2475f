"""Parses the server's log as it grows: pieces of text in, entries that matter to a run out.

Nothing is opened or followed here. Memory is bounded whatever comes: a line or a message without an
end is truncated.
"""

from dbdyno.databases.postgresql.telemetry.log.message import (
    LogMessage,
    Prefix,
    begins_message,
    read_message,
)
from dbdyno.databases.postgresql.telemetry.log.topics import topic_of
from dbdyno.model.telemetry import LogEntry

LINE_MAX = 1 << 16
LINES_MAX = 500
MESSAGE_MAX = 300


class PostgresqlLog:
    """Parses one log from any position."""

    def __init__(self) -> None:
        self._rest = ""
        self._lines: list[str] = []
        self._prefix = Prefix()
        self._checkpoint_reason = ""

    def feed(self, text: str) -> list[LogEntry]:
        """Return the entries of the messages that are complete with this piece.

        A message is complete when the next one begins, or when an empty piece shows that nothing
        followed: the server writes a message at once.
        """
        if not text:
            return [] if self._rest else self._closed()
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[:LINE_MAX]
        return [entry for line in lines for entry in self._line(line.rstrip("\r"))]

    def _line(self, line: str) -> list[LogEntry]:
        if begins_message(line):
            ended = self._closed()
            self._lines = [line]
            return ended
        if 0 < len(self._lines) < LINES_MAX:  # none: reading began in the middle of a message
            self._lines.append(line)
        return []

    def _closed(self) -> list[LogEntry]:
        lines, self._lines = self._lines, []
        logged = read_message(lines, self._prefix) if lines else None
        entry = self._entry(logged) if logged else None
        return [entry] if entry else []

    def _entry(self, logged: LogMessage) -> LogEntry | None:
        topic = topic_of(logged)
        if topic is None:
            return None
        return LogEntry(
            at_ns=logged.at_ns,
            topic=topic.name,
            severity=logged.severity,
            message=logged.message.partition("\n")[0][:MESSAGE_MAX],
            values=topic.values(logged) | self._reason(topic.name, logged),
        )

    def _reason(self, topic: str, logged: LogMessage) -> dict[str, float | str]:
        """Return a checkpoint's reason, which is in its first message but not in its last."""
        if topic == "checkpoint_start":
            self._checkpoint_reason = logged.message.partition(": ")[2]
        is_checkpoint = topic.startswith("checkpoint_") and self._checkpoint_reason
        return {"reason": self._checkpoint_reason} if is_checkpoint else {}
