"""What the server's processes are there for, by the titles that they give themselves.

A title begins with the product and, if it is set, the name of the cluster. Titles of sessions
contain names that users chose, but are never as short as those of the server's own processes.
"""

from dbdyno.databases.telemetry import TaskClasses

_OWN = r"^[^:]+: (?:[^:]+: )?"

TASK_CLASSES: TaskClasses = (
    ("cleanup", _OWN + r"autovacuum (?:launcher|worker)\b"),
    ("writer", _OWN + r"(?:checkpointer|background writer|writer)(?: process)?\s*$"),
    ("wal", _OWN + r"(?:wal ?writer(?: process)?|walsummarizer|archiver.*|startup.*)\s*$"),
    ("wal", _OWN + r"(?:walsender|walreceiver) "),
    ("logger", _OWN + r"logger(?: process)?\s*$"),
    ("worker", _OWN + r"(?:parallel worker|parallel (?:leader )?apply worker|io worker)\b"),
    ("foreign", _OWN + r"\S.* \S+ (?:\[local\]|[\w.:%]+\(\d+\))"),
)
