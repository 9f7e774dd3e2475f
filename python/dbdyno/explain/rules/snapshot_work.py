"""Each statement takes a snapshot of what is running: the more there is, the longer it takes.

Looks for: CPU time in taking snapshots and in judging which versions of a row are visible, in
backends that serve the load.

Arithmetic: samples of the profile in these functions, and their part of what serves all (memory,
interrupts), over all samples of these backends; that part of the clients' time on a CPU, and, of
their time waiting for one, the part of the CPU time in use.

Source: PostgreSQL 14 release notes (scalability of GetSnapshotData with idle connections).

Wrong when: a statement reads very many rows: each is judged. Where InnoDB's functions have no
names, its snapshots look like work on rows, and are not counted.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, with_services, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.12
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class SnapshotWork(WorkClaim, frozen=True, kw_only=True):
    """Taking snapshots, and visibility."""

    what: ClassVar[str] = "Snapshots and visibility of rows"
    why: ClassVar[str] = (
        "The list of running transactions is read for each snapshot, and each row's "
        "version is compared with it."
    )
    advice: ClassVar[list[str]] = [
        (
            "Use fewer connections (a pool), above all idle ones that are within a "
            "transaction; end old transactions."
        )
    ]
    refute: ClassVar[str] = "Run again without the idle connections: this part must shrink."


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    snapshots = work_on("snapshots")
    return claim_of(run, SnapshotWork, snapshots, ORDINARY, with_services(run, snapshots))


RULE = Rule(
    id="snapshot_work",
    title="Snapshots of many connections",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
