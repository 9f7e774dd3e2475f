"""How much space the folder of private servers and runs has."""

from pathlib import Path

from dbdyno.home import home
from dbdyno.host import disk
from dbdyno.host.doctor import Probe, ProbeResult

_ENOUGH_BYTES = 10 * 2**30


def judge(folder: Path, free_bytes: int) -> ProbeResult:
    """Judge the free space."""
    found = f"{free_bytes / 2**30:.1f} GiB free in {folder}"
    if free_bytes >= _ENOUGH_BYTES:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(
        level="warning",
        found=found,
        remedy="Remove old runs (dbdyno runs rm), or set DBDYNO_HOME to a folder on a larger disk.",
    )


def check(_root: Path) -> ProbeResult:
    """Read the free space of the file system of ``DBDYNO_HOME``."""
    return judge(home(), disk.free_bytes(home()))


PROBE = Probe(
    title="free disk",
    meaning="Private servers keep their data and WAL there: tpcb at scale 100 takes 1.5 GB, and "
    "its WAL a few more.",
    check=check,
)
