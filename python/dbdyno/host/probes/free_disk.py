"""How much space the folder of private servers and runs has."""

from pathlib import Path

from dbdyno.home import home
from dbdyno.host import disk
from dbdyno.host.doctor import Finding, Probe

_ENOUGH_BYTES = 10 * 2**30


def judge(folder: Path, free_bytes: int) -> Finding:
    """Judge the free space."""
    found = f"{free_bytes / 2**30:.1f} GiB free in {folder}"
    if free_bytes >= _ENOUGH_BYTES:
        return Finding(level="ok", found=found)
    return Finding(
        level="warning",
        found=found,
        mend="Remove old runs (dbdyno runs rm), or set DBDYNO_HOME to a folder on a larger disk.",
    )


def look(_root: Path) -> Finding:
    """Read the free space of the file system of ``DBDYNO_HOME``."""
    return judge(home(), disk.free_bytes(home()))


PROBE = Probe(
    title="free disk",
    meaning="Private servers keep their data and WAL there: tpcb at scale 100 takes 1.5 GB, and "
    "its WAL a few more.",
    look=look,
)
