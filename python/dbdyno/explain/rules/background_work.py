"""The server's own work in the background takes CPU time that the clients wait for.

Looks for: a CPU for which clients wait, and processes of the server that serve no session: vacuum
or purge, checkpoints and page writers, writers of the log, the logger.

Arithmetic: the CPU time of each kind of process, as the kernel counts it, over all CPU time in use;
that part of the clients' time waiting for a CPU. No profile is needed.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: the work would otherwise be done by the sessions themselves (writing pages): then they
would have to wait for it.
"""

from collections.abc import Mapping
from typing import ClassVar

from dbdyno.analysis.processor.profile import server_processes
from dbdyno.analysis.processor.subsystems import CLASSES
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import client_time, needed
from dbdyno.explain.resources.processors import processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import milliseconds, percent
from dbdyno.model.run import Run

_ADVICE: Mapping[str, str] = {
    "cleanup": "Let vacuum or purge work less at a time and more often; look for what keeps it "
    "busy (old transactions, updates of indexed columns).",
    "writer": "Make checkpoints rarer and spread them (max_wal_size, checkpoint_timeout; a larger "
    "redo log).",
    "wal": "Write less log: fewer indexes, fewer full-page images, larger transactions.",
    "logger": "Write less to the server's log while you measure.",
}

_UNREAD = "the CPU time of the server's processes was not counted by what they are for"


class BackgroundWork(LimitClaim, frozen=True, kw_only=True):
    """What processes without a session took of the CPU time in use."""

    busiest: str
    """The kind of processes that took most."""
    cpu_share: float
    """Of all CPU time in use."""
    cpu_us: float
    """Per transaction."""
    by_kind: Aside[dict[str, float]]

    @property
    def summary(self) -> str:
        return (
            f"Processes of the server without a session, above all {CLASSES[self.busiest]}, took "
            f"{percent(self.cpu_share)} of the CPU time in use: "
            f"{milliseconds(self.cpu_us / 1e3)} per transaction."
        )

    @property
    def seen(self) -> list[str]:
        parts = [f"{CLASSES[kind]} {percent(share)}" for kind, share in self.by_kind.items()]
        return [f"Of the server's CPU time: {', '.join(parts)}."]

    why: ClassVar[str] = "On a saturated host it runs in the place of the sessions of the load."

    @property
    def advice(self) -> list[str]:
        return [_ADVICE[self.busiest]]

    refute: ClassVar[str] = (
        "Run again with more cores for the server: response times must fall by this part at least."
    )


def look(run: Run) -> BackgroundWork | NotFound:
    """By the kernel's counts."""
    used = processor_time(run)
    counted = needed(server_processes(run) or None, _UNREAD)
    kinds = {part.processes: part for part in counted}
    meant = {kind: kinds[kind] for kind in kinds if kind in _ADVICE}
    of_server = sum(part.share for part in meant.values())
    of_used = of_server * used.server / needed(used.in_use or None, "no CPU time was used")
    if of_used < NOTICED:
        return NotFound(f"it took {percent(of_used)} of the CPU time in use")
    return BackgroundWork(
        share=client_time(run).share("cpu_queue") * of_used,
        busiest=next(iter(meant)),
        cpu_share=of_used,
        cpu_us=sum(part.us for part in meant.values()),
        by_kind={kind: part.share for kind, part in meant.items()},
        gains=gains_in(run),
    )


RULE = Rule(
    id="background_work",
    title="The server's work in the background",
    look=look,
    accounts_for=frozenset({"cpu_queue"}),
)
