"""Sessions that wait for an internal lock keep a CPU busy.

Looks for: CPU time in the server's internal locks and in the kernel's part of them (futexes), in
backends that serve the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
A lock without contention takes a few of hundred samples as well.

Source: Anderson, *The Performance of Spin Lock Alternatives*, IEEE TPDS 1(1), 1990.

Wrong when: the locks are free, and simply taken very often.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.1
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class Spinning(WorkClaim, frozen=True, kw_only=True):
    """Taking, spinning for and releasing them."""

    what: ClassVar[str] = "Internal locks"
    why: ClassVar[str] = "A session that spins uses the CPU that the holder of the lock may need."
    advice: ClassVar[list[str]] = [
        ("Use fewer connections at once (a pool), so that fewer wait for the same lock.")
    ]
    refute: ClassVar[str] = (
        "Run with half the clients: this part must shrink, and throughput must hardly fall."
    )


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(run, Spinning, work_on("internal_locks", "kernel_futexes"), ORDINARY)


RULE = Rule(
    id="spinning",
    title="CPU time spent waiting for internal locks",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
