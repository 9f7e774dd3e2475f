"""The server reads pages again that the kernel still has: each costs a system call and a copy.

Looks for: CPU time in reads and writes of files, in backends that serve the load.

Arithmetic: samples of the profile in the kernel, in system calls that read or write files, over all
samples of these backends; that part of the clients' time on a CPU, and, of their time waiting for
one, the part of the CPU time in use. Waits for storage are not in it: no CPU is used in them.

Source: PostgreSQL manual, *shared_buffers*; MySQL manual, *Buffer Pool*.

Wrong when: files are written, not read: temporary files, or the log.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run


class PageCopies(WorkClaim, frozen=True, kw_only=True):
    """Reads and writes of files, without waits for storage."""

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
    """By the profile alone."""
    return claim_of(
        run, PageCopies, "Reading and writing files in the kernel", work_on("kernel_files")
    )


RULE = Rule(
    id="page_copies",
    title="Pages copied from the kernel's cache",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
