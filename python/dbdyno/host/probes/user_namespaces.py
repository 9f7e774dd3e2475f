"""Whether root can run a server as an ordinary user."""

from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Probe, ProbeResult
from dbdyno.servers.privileges import Identity, is_root, server_identity


def judge(identity: Identity | None) -> ProbeResult:
    """Judge the identity of private servers; None if dbdyno does not run as root."""
    if identity is None:
        return ProbeResult(level="ok", found="not needed: dbdyno runs as an ordinary user")
    if identity.account is None:
        return ProbeResult(level="ok", found="available: private servers run as nobody in one")
    return ProbeResult(
        level="note",
        found=f"not available: private servers run as {identity.account} instead",
        remedy=f"Set DBDYNO_HOME to a folder that the account {identity.account} can enter, "
        "or run as an ordinary user.",
    )


def check(_root: Path) -> ProbeResult:
    """Determine the user of private servers, which tries a namespace."""
    try:
        return judge(server_identity() if is_root() else None)
    except DbdynoError as error:
        return ProbeResult(level="problem", found=error.message, remedy=error.hint)


PROBE = Probe(
    title="user namespaces",
    meaning="PostgreSQL refuses to run as root; in a user namespace root can start it as another "
    "user.",
    check=check,
)
