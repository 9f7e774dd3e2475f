"""Which data files a server's program can read, as far as the program itself reports.

Two builds of one PostgreSQL may report the same version and differ in the catalog: one does not
start on the other's files. Builds with the same catalog share prepared data, to the byte, as a
comparison of builds requires. Starts no program.
"""

import mmap
import re
from functools import cache
from pathlib import Path

# The name of a tablespace's folder, a constant in every PostgreSQL: PG_18_202506291.
CATALOG = re.compile(rb"PG_\d+_(\d{9})\0")


def catalog_of(server: Path) -> str:
    """Return the catalog version of a PostgreSQL program; empty if the file contains none."""
    found = server.stat()
    return _catalog_in(server, found.st_mtime_ns, found.st_size)


@cache
def _catalog_in(server: Path, _changed_ns: int, _size: int) -> str:
    """Search each program once, and again after it was rebuilt."""
    with server.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as code:
        found = CATALOG.search(code)
        return found[1].decode() if found else ""
