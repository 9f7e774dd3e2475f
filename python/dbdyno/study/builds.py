"""Which data files a server's program can read, as far as it says so itself.

Two builds of one PostgreSQL may call themselves the same version and differ in the catalog: one
does not start on the other's files. Where the programs agree they share prepared data, to the
byte, which is what a comparison of builds wants. Starts no program.
"""

import mmap
import re
from functools import cache
from pathlib import Path

# The name of a tablespace's folder, which every PostgreSQL holds as a constant: PG_18_202506291.
CATALOG = re.compile(rb"PG_\d+_(\d{9})\0")


def catalog_of(server: Path) -> str:
    """The version of the catalog of a PostgreSQL's program; empty for what does not tell."""
    found = server.stat()
    return _catalog_in(server, found.st_mtime_ns, found.st_size)


@cache
def _catalog_in(server: Path, _changed_ns: int, _size: int) -> str:
    """Looked for once in each program, and again when it was built anew."""
    with server.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as code:
        found = CATALOG.search(code)
        return found[1].decode() if found else ""
