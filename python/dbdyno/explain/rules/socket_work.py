"""Most of the work for a statement is its way through the kernel and the wake-up at its end.

Looks for: CPU time in the kernel's sockets and in sleeping and waking, in backends that serve the
load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
Each round trip has this cost once, whatever the statement does.

Source: Stonebraker and others, *The End of an Architectural Era*, VLDB 2007, on what is not useful
work.

Wrong when: the replies are large: then it is the rows that take the time, not the round trips.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.record import Severity
from dbdyno.model.run import Run

ORDINARY = 0.45
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class SocketWork(WorkClaim, frozen=True, kw_only=True):
    """Sockets, sleeping and waking."""

    what: ClassVar[str] = "Receiving requests, sending replies, sleeping and waking"
    severity: ClassVar[Severity] = "note"

    why: ClassVar[str] = (
        "A round trip costs the same for a short statement as for a long one: with many "
        "short ones it is most of their cost."
    )
    advice: ClassVar[list[str]] = [
        (
            "Send several statements at once (a pipeline), or put them into a procedure; "
            "ask for several rows by one statement."
        )
    ]
    refute: ClassVar[str] = "Run again with the statements in a pipeline: this part must shrink."


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(
        run,
        SocketWork,
        work_on("kernel_network", "kernel_scheduling"),
        ORDINARY,
    )


RULE = Rule(
    id="socket_work",
    title="The kernel's path of requests and replies",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
