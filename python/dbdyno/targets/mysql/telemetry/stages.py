"""What a session's stage says of its waiting, where nothing better is known.

The list of sessions names the stage of each statement, such as ``Updating``. Most are work.
A few are waits by their names, and ``Commit`` mostly is one: for the log's flush, the own or
that of a group's leader. What a session really does in it tells the kernel, where it is asked.
"""

import re
from typing import NamedTuple


class Wait(NamedTuple):
    """A kind of wait, and its name; both empty for none."""

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
    """None for a stage of work. Of a COMMIT all stages are one."""
    lock = LOCK.search(stage)
    if lock:
        return Wait("Lock", lock[1] or "user")
    if COMMITS.match(text):
        return STAGES["Commit"]
    return STAGES.get(stage, NONE)
