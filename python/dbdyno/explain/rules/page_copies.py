"""The server reads pages again that the kernel still has: each costs a system call and a copy.

Looks for: CPU time in reads and writes of files, in backends that serve the load.

Arithmetic: samples of the profile in the kernel, in system calls that read or write files, over all
samples of these backends; that part of the clients' time on a CPU, and, of their time waiting for
one, the part of the CPU time in use. A larger cache saves all of it only if the data fits into the
CPU's caches: copying a page, and looking for it, bring it there, from where the server then reads
it; a page in a large cache of its own it must fetch from memory itself. The rest of the system call
is saved in any case. At most all of the server's own work on its cache is saved as well: it checks
each page that it reads, and pushes another one out. Waits for storage are not in it: no CPU is used
in them.

Source: PostgreSQL manual, *shared_buffers*; MySQL manual, *Buffer Pool*.

Wrong when: files are written, not read: temporary files, or the log.
"""

from typing import ClassVar

from dbdyno.analysis.processor.profile import Part
from dbdyno.explain.resources.server_work import (
    Served,
    WorkClaim,
    claim_of,
    share_of_work,
    work_on,
)
from dbdyno.explain.rule import NOTICED, NotFound, Rule
from dbdyno.formatting import percent
from dbdyno.model.record import ProcessorPart
from dbdyno.model.run import Run

_COPYING = ("read", "pread", "pwrite", "io_")
"""How the names of the system calls begin that read or write pages; logs grow by ``write``."""
_READING = ("read", "pread", "io_")
_FETCHING = ("_copy_to_iter", "copy_page_to_iter", "rep_movs", "copy_user", "filemap_get", "xas_")
"""How the names of the kernel's functions begin that fetch a page from memory."""


class PageCopies(WorkClaim, frozen=True, kw_only=True):
    """Reads and writes of files, without waits for storage."""

    what: ClassVar[str] = "Reading and writing files in the kernel"
    saved_share: float
    """Of the CPU time for the load: what goes away even if the data is larger than CPU caches."""

    @property
    def seen(self) -> list[str]:
        """How much of it a larger cache saves."""
        return [
            *super().seen,
            f"A larger cache saves {percent(self.saved_share)} at least, and all of it if the data "
            "fits into the CPU's caches: otherwise the server fetches pages from memory itself.",
        ]

    why: ClassVar[str] = (
        "A page in the server's own cache costs a lookup; one in the kernel's costs a "
        "system call, a copy of the page, and another page pushed out."
    )
    advice: ClassVar[list[str]] = [
        (
            "Enlarge the server's own cache (shared_buffers, innodb_buffer_pool_size) "
            "until it holds what the load uses."
        )
    ]
    refute: ClassVar[str] = "Run again with a cache as large as the data: this part must vanish."


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone. What only writes is a log, or pages that are written once."""
    reads = share_of_work(run, lambda part: part.file.startswith(_READING) and _is_copying(part))
    if reads < NOTICED:
        return NotFound(f"reading files took {percent(reads)} of its CPU time")
    copying = share_of_work(run, _is_copying)
    # Each page that is read is also checked, and another one pushed out.
    keeping = share_of_work(run, work_on("buffers"))
    return claim_of(
        run,
        PageCopies,
        _is_copying,
        served=Served(copying, copying + keeping),
        saved_share=share_of_work(run, _is_overhead),
    )


def _is_copying(part: Part | ProcessorPart) -> bool:
    return part.subsystem == "kernel_files" and part.file.startswith(_COPYING)


def _is_overhead(part: Part | ProcessorPart) -> bool:
    return _is_copying(part) and not part.function.startswith(_FETCHING)


RULE = Rule(
    id="page_copies",
    title="Pages copied from the kernel's cache",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
