"""Releases the shared memory of a PostgreSQL that was killed: it outlives its processes.

A server that ends by itself, however quickly, leaves none. One that was killed releases it when it
starts again on its data; this is for the others. Its lock file names a segment of System V, whose
header says which data it belongs to and which file below /dev/shm lists the other segments.

Runs as a program, for a guard that does not import dbdyno: only the standard library. What belongs
to a server that runs is never touched.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct, error

SEGMENT_LINE = 6  # of postmaster.pid: the segment's key and number
HEADER = Struct("@iiNNIPQQ")  # PGShmemHeader: magic, control's handle, device and inode are read
MAGIC = 679_834_894
LIST_HEADER = Struct("@III")  # dsm_control_header: magic, slots that were used, slots
LIST_MAGIC = 0x9A503D32
LIST_OFFSET = 16  # where the slots begin: their size differs between versions, and is what is left
SLOT = Struct("@II")  # the segment's handle, and how many use it: none in a free slot
PLACE = Path("/dev/shm")
IPC_RMID = 0
SHM_RDONLY = 0o10000
FAILED = ctypes.c_void_p(-1).value


def release(data: Path) -> None:
    """Release what the server that had this data folder has left, if it was killed."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        _, segment = map(int, lines[SEGMENT_LINE].split())
    except (OSError, IndexError, ValueError):  # it ended by itself, or before it had any
        return
    if _is_running(lines[0]):
        return
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, SHM_RDONLY)
    if address == FAILED:
        return
    magic, *_, control, _, device, inode = HEADER.unpack(ctypes.string_at(address, HEADER.size))
    libc.shmdt(ctypes.c_void_p(address))
    place = data.stat()
    if (magic, device, inode) == (MAGIC, place.st_dev, place.st_ino):
        for handle in _handles(control):
            _file(handle).unlink(missing_ok=True)
        libc.shmctl(segment, IPC_RMID, None)


def _is_running(process: str) -> bool:
    """Whether there is such a process; one that has ended remains until somebody has asked."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _handles(control: int) -> Iterator[int]:
    """Yield the handles of all segments, with that of their list at the end."""
    with suppress(OSError, error):
        content = _file(control).read_bytes()
        magic, used, slots = LIST_HEADER.unpack_from(content)
        if magic == LIST_MAGIC:
            size = (len(content) - LIST_OFFSET) // slots
            for number in range(used):
                handle, users = SLOT.unpack_from(content, LIST_OFFSET + number * size)
                if users:
                    yield handle
            yield control


def _file(handle: int) -> Path:
    return PLACE / f"PostgreSQL.{handle}"


if __name__ == "__main__":
    release(Path(os.fsdecode(sys.argv[1])))
