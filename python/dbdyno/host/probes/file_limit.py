"""How many connections the limit on open files allows."""

from pathlib import Path

from dbdyno.host.doctor import Probe, ProbeResult
from dbdyno.host.file_limit import clients_admitted, hard_limit

_CLIENTS_WANTED = 10_000
_HOW_TO_RAISE = (
    "Raise the hard limit: `ulimit -Hn NUMBER` as root in the shell that starts dbdyno, "
    "`nofile` in /etc/security/limits.conf, LimitNOFILE= of a systemd unit, or "
    "`--ulimit nofile=NUMBER` of a container."
)


def judge(files: int | None) -> ProbeResult:
    """Judge the limit."""
    if files is None:
        return ProbeResult(level="ok", found="no limit")
    clients = clients_admitted(files)
    found = f"{files} open files: up to {clients} clients"
    if clients >= _CLIENTS_WANTED:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(level="note", found=found, remedy=_HOW_TO_RAISE)


def check(_root: Path) -> ProbeResult:
    """Read this process's own limit."""
    return judge(hard_limit())


PROBE = Probe(
    title="open files",
    meaning="Every client has a connection, and every connection is an open file.",
    check=check,
)
