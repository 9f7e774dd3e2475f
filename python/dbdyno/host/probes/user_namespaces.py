"""Whether root can run a server as an ordinary user."""

from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Finding, Probe
from dbdyno.servers.privileges import Identity, is_root, server_identity


def judge(identity: Identity | None) -> Finding:
    """Judge the identity of private servers; None if dbdyno does not run as root."""
    if identity is None:
        return Finding(level="ok", found="not needed: dbdyno runs as an ordinary user")
    if identity.account is None:
        return Finding(level="ok", found="available: private servers run as nobody in one")
    return Finding(
        level="note",
        found=f"not available: private servers run as {identity.account} instead",
        mend=f"Set DBDYNO_HOME to a folder that the account {identity.account} can enter, "
        "or run as an ordinary user.",
    )


def look(_root: Path) -> Finding:
    """Determine the user of private servers, which tries a namespace."""
    try:
        return judge(server_identity() if is_root() else None)
    except DbdynoError as error:
        return Finding(level="problem", found=error.message, mend=error.hint)


PROBE = Probe(
    title="user namespaces",
    meaning="PostgreSQL refuses to run as root; in a user namespace root can start it as another "
    "user.",
    look=look,
)
