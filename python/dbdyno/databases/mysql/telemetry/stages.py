"""The wait that a session's stage implies if nothing better is known.

The list of sessions names the stage of each statement, such as ``Updating``. Most stages are work.
A few are waits by name, and ``Commit`` mostly is one: for the flush of the log, by the session
itself or by the leader of its group. What a session really does in a stage is known to the kernel.
"""

import re
from typing import NamedTuple


class Wait(NamedTuple):
    """A type of wait, and its name; both empty for none."""

    kind: str
    event: str


NONE = Wait("", "")
LOCK = re.compile(r"Waiting for (.+) lock$|^(User) lock$")
COMMITS = re.compile(r"\s*(commit|end)\b", re.IGNORECASE)
COMMIT = "Commit"
STAGES = {
    "Commit": Wait(COMMIT, "commit"),
    "waiting for handler commit": Wait(COMMIT, "handler commit"),
    "Waiting for prior transaction to commit": Wait(COMMIT, "group commit"),
    "Waiting for semi-sync ACK from slave": Wait("Replication", "semi-sync"),
    "Waiting for semi-sync ACK from replica": Wait("Replication", "semi-sync"),
    "Waiting for table flush": Wait("Lock", "table flush"),
    "Reading from net": Wait("Client", "read"),
    "Receiving from client": Wait("Client", "read"),
    "Writing to net": Wait("Client", "write"),
    "Sending to client": Wait("Client", "write"),
    "User sleep": Wait("Timeout", "sleep"),
}


def wait_of_stage(stage: str, text: str) -> Wait:
    """Return the wait of a stage, ``NONE`` for work. All stages of a COMMIT are the same wait."""
    lock = LOCK.search(stage)
    if lock:
        return Wait("Lock", lock[1] or "user")
    if COMMITS.match(text):
        return STAGES["Commit"]
    return STAGES.get(stage, NONE)
