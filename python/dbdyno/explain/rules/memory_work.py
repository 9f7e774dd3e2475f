"""Memory is allocated and freed, by the server and in the kernel.

Looks for: CPU time in allocators and in page faults, in backends that serve the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
Every load allocates; only what exceeds a fifth is spoken of.

Source: Gorman, *Understanding the Linux Virtual Memory Manager*, 2004, on page faults.

Wrong when: results are large: memory for their rows is needed whatever the allocator.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.2
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class MemoryWork(WorkClaim, frozen=True, kw_only=True):
    """Allocators, and faults of pages in the kernel."""

    what: ClassVar[str] = "Allocation of memory"
    why: ClassVar[str] = (
        "Memory that is given back to the kernel and taken again costs a fault for each page."
    )
    advice: ClassVar[list[str]] = [
        (
            "Keep connections open, so that their memory stays; try another allocator "
            "(jemalloc by LD_PRELOAD), huge pages, or a smaller work_mem where each "
            "statement takes all of it."
        )
    ]
    refute: ClassVar[str] = (
        "Run again with the other allocator or with huge pages: this part must shrink."
    )


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(run, MemoryWork, work_on("memory", "kernel_memory"), ORDINARY)


RULE = Rule(
    id="memory_work",
    title="Memory allocated and freed",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
