"""The kernel's page cache: which files of a folder are in it, and how they are dropped.

Dropping files needs no privileges; if pages remain nevertheless, the whole cache is dropped, if
permitted. Nothing is lost: pages are written to disk first.
"""

import ctypes
import mmap
import os
from pathlib import Path

DROP_CACHES = Path("/proc/sys/vm/drop_caches")
PAGE_CACHE = "1"


def drop_files(*folders: Path) -> str:
    """Drop the files of these folders from the page cache; return what was done, in words."""
    paths = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    os.sync()  # dirty pages cannot be dropped
    size = 0
    for path in paths:
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            size += os.fstat(file.fileno()).st_size
    text = f"dropped its {len(paths)} files ({size / 1e6:.1f} MB) from the page cache"
    left = sum(map(bool, map(pages_cached, paths)))
    if not left:
        return text
    try:
        DROP_CACHES.write_text(PAGE_CACHE)
    except OSError:
        return f"{text}, but pages of {left} files remained"
    return f"{text}, then the whole page cache: pages of {left} files had remained"


def pages_cached(path: Path) -> int:
    """How many of a file's pages are in the page cache; counting reads none in."""
    size = path.stat().st_size
    if not size:
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as seen:
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(seen)
        try:
            ctypes.CDLL(None).mincore(ctypes.byref(start), ctypes.c_size_t(size), pages)
        finally:
            del start  # otherwise the mapping could not be closed
        return sum(page & 1 for page in bytes(pages))
