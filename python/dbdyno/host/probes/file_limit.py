"""How many connections the limit on open files admits."""

import resource
from pathlib import Path

from dbdyno.host.doctor import Finding, Probe
from dbdyno.host.file_limit import DESCRIPTORS_SPARE, HOW_TO_RAISE

_CLIENTS_WANTED = 10_000


def judge(hard_limit: int) -> Finding:
    """What the limit admits."""
    if hard_limit == resource.RLIM_INFINITY:
        return Finding(level="ok", found="no limit")
    clients = max(hard_limit - DESCRIPTORS_SPARE, 0)
    found = f"{hard_limit} open files: up to {clients} clients"
    if clients >= _CLIENTS_WANTED:
        return Finding(level="ok", found=found)
    return Finding(level="note", found=found, mend=HOW_TO_RAISE)


def look(_root: Path) -> Finding:
    """Reads this process's own limit."""
    return judge(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


PROBE = Probe(
    title="open files",
    meaning="Every client is a connection, and every connection an open file.",
    look=look,
)
