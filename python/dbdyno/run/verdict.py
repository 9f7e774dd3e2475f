"""Whether a run's results may be used, and why not. Pure.

*Valid* is defined narrowly, so that it means something: only the reasons below, and lookups of
a workload that find no row (``explain.misses``), make a run invalid. Everything else that weakens a
number is a doubt, which ``analysis`` determines.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from dbdyno.analysis.waits.disturbance import Disturbance
from dbdyno.analysis.workers import how_lost
from dbdyno.explain.statements.misses import Misses
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.frame import Done
from dbdyno.model.plan import Plan
from dbdyno.model.record import Status
from dbdyno.run.lua.commands import silence_reason
from dbdyno.run.measure import Measured
from dbdyno.run.plan import planned_ns

# The end of a run is checked about once an interval; missing more than this has another cause.
SHORTFALL_MAX = 0.01
_SILENT = "the server stopped answering"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the verdict on a run rests on; its reasons are in words for users."""

    plan: Plan
    measured: Measured
    violations: Sequence[str]
    """Invariants that were violated."""
    disturbance: Disturbance | None
    misses: Misses
    script_failure: str | None
    """Why what a sysbench script does once after the events failed."""
    failures_max: float
    disturbance_max: float
    """The shares above which the run is invalid: of failed transactions, and of lost CPU time."""

    @property
    def status(self) -> Status:
        """How the run ended, whether or not its results are valid."""
        if self.measured.was_interrupted:
            return "interrupted"
        if self.script_failure is not None:
            return "failed"
        done = self.measured.done
        return "done" if done and done.end == "complete" else "failed"

    @property
    def invalid_reasons(self) -> list[str]:
        """Every reason why the results may not be used; empty for a valid run."""
        done = self.measured.done
        reasons: list[str | None] = [self.without_end()]
        if done is not None:
            reasons = [
                self.disturbed(),
                *done.invalid_reasons,
                self.ended_early(done),
                self.failed_too_often(done),
                *(f"invariant violated: {violation}" for violation in self.violations),
            ]
        reasons += [*self.misses.invalid_reasons, self.script_failure]
        return [reason for reason in reasons if reason is not None]

    def without_end(self) -> str:
        """Why the engine reported no end."""
        if self.measured.was_silent:
            if self.plan.lua is not None:
                return silence_reason(self.plan)
            awaited = self.measured.awaited and f": {self.measured.awaited}"
            return f"the engine fell silent and was ended{awaited}"
        if self.measured.failed is not None:
            return f"the engine gave up: {self.measured.failed.message}"
        if self.measured.was_interrupted:
            return "the run was interrupted, and ended at once when it was interrupted again"
        return "the engine ended before the run did"

    def disturbed(self) -> str | None:
        """Whether others took so much that the result is not the server's.

        If all want the CPUs, a share that others take is missing from the throughput of a closed
        loop.
        """
        if self.disturbance is None or self.disturbance.taken <= self.disturbance_max:
            return None
        taken, allowed = percent(self.disturbance.taken), percent(self.disturbance_max)
        return (
            f"the host was disturbed: others took {taken} of the CPU time while the run "
            f"waited for it, more than the {allowed} allowed (--max-disturbance)"
        )

    def ended_early(self, done: Done) -> str | None:
        """Whether less was measured than planned."""
        plan = self.plan
        if done.end != "complete":
            reason = f": {done.reason}" if done.reason else ""
            if done.end == "stalled" and reason.endswith(_SILENT):
                # A server that computes for longer before the first row is as silent.
                limit = seconds(plan.stall_limit_ns / 1e9)
                reason += f" for {limit}: if statements take that long to answer, raise "
                reason += "--stall-limit"
            return f"the run was {done.end}{reason}"
        planned = planned_ns(plan)
        if planned is not None and done.measured_ns < planned * (1 - SHORTFALL_MAX):
            length = f"{done.measured_ns / 1e9:.1f} s of the requested {planned / 1e9:.1f} s"
            return f"the run ended after {length}: the scripts of all clients had ended"
        requested = plan.requesting_clients * (plan.transactions_per_client or 0)
        ended = done.counters.ok + done.counters.failed + done.counters.skipped
        if ended < requested:
            lost = [
                f"worker {how_lost(part)}"
                for part in self.measured.workers
                if part.lost_at_s is not None
            ]
            return (
                f"only {count(ended)} of the requested {count(requested)} transactions ended: "
                f"{'; '.join(lost) or 'the scripts of clients had ended'}"
            )
        return None

    def failed_too_often(self, done: Done) -> str | None:
        """Whether too few transactions did what they were to do."""
        counted = done.counters
        if not counted.ok:
            if done.end != "complete":
                return None  # the end's reason says why
            if not counted.waiting:
                return "no transaction completed"
            # Transactions that were due earlier may have taken all the time.
            return (
                "no transaction that became due during the measurement completed: "
                f"{counted.waiting} had not started when the run ended"
            )
        if not counted.committed:
            ends = {
                "rolled back by the script": counted.rolled_back,
                "rolled back by the server": counted.aborted,
                "left open": counted.left_open,
            }
            outcomes = ", ".join(f"{count(n)} {what}" for what, n in ends.items() if n)
            return f"no transaction was committed: {outcomes}"
        share = counted.failed / (counted.ok + counted.failed)
        if share <= self.failures_max:
            return None
        allowed = percent(self.failures_max)
        return f"{percent(share)} of the transactions failed, more than the {allowed} allowed"


# As PostgreSQL, and as MariaDB and MySQL say it; without the schema or database.
_MISSING_TABLE = re.compile(
    r"""relation\ "(?:[^"]*\.)?([^".]+)"\ does\ not\ exist
        | Table\ '(?:[^']*\.)?([^'.]+)'\ doesn't\ exist""",
    re.VERBOSE,
)


def meant_table(reasons: Iterable[str], tables: Iterable[str]) -> str | None:
    """Return what to say about a table that was not found, if one of the others has such a name."""
    known = {name.rpartition(".")[2].casefold(): name for name in tables}
    for missing in filter(None, map(_MISSING_TABLE.search, reasons)):
        name = missing[1] or missing[2]
        if near := get_close_matches(name.casefold(), known, 1):
            return f"no table is named {name}: did you mean {known[near[0]]}?"
    return None
