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
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.frame import Done
from dbdyno.model.plan import Plan
from dbdyno.run.plan import planned_ns

# The end of a run is checked about once an interval; missing more than this has another cause.
SHORTFALL_MAX = 0.01
_SILENT = "the server stopped answering"


@dataclass(frozen=True)
class Limits:
    """The shares above which a run is invalid: of failed transactions, and of lost CPU time."""

    failures_max: float
    disturbance_max: float


def invalid_reasons(
    plan: Plan,
    done: Done,
    *,
    limits: Limits,
    violations: Sequence[str],
    disturbance: Disturbance | None,
) -> list[str]:
    """Return every reason why the run is invalid, in words for users."""
    return [
        *_disturbed(disturbance, limits.disturbance_max),
        *done.invalid_reasons,
        *_ended_early(plan, done),
        *_failed_too_often(done, limits.failures_max),
        *(f"invariant violated: {violation}" for violation in violations),
    ]


def _disturbed(found: Disturbance | None, disturbance_max: float) -> list[str]:
    """Return the reason if others took so much that the result is not the server's.

    If all want the CPUs, a share that others take is missing from the throughput of a closed loop.
    """
    if found is None or found.taken <= disturbance_max:
        return []
    return [
        f"the host was disturbed: others took {percent(found.taken)} of the CPU time while the run "
        f"waited for it, more than the {percent(disturbance_max)} allowed (--max-disturbance)"
    ]


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


def _ended_early(plan: Plan, done: Done) -> list[str]:
    if done.end != "complete":
        reason = f": {done.reason}" if done.reason else ""
        is_silent = done.end == "stalled" and reason.endswith(_SILENT)
        return [f"the run was {done.end}{reason}{_how_long(plan) if is_silent else ''}"]
    planned = planned_ns(plan)
    if planned is not None and done.measured_ns < planned * (1 - SHORTFALL_MAX):
        length = f"{done.measured_ns / 1e9:.1f} s of the requested {planned / 1e9:.1f} s"
        return [f"the run ended after {length}: the scripts of all clients had ended"]
    requested = plan.clients * (plan.transactions_per_client or 0)
    ended = done.counters.ok + done.counters.failed + done.counters.skipped
    if ended < requested:
        return [
            f"only {count(ended)} of the requested {count(requested)} transactions ended: the "
            "scripts of clients had ended"
        ]
    return []


def _how_long(plan: Plan) -> str:
    """Return for how long: a server that computes for longer before the first row is as silent."""
    limit = seconds(plan.stall_limit_ns / 1e9)
    return f" for {limit}: if statements take that long to answer, raise --stall-limit"


def _failed_too_often(done: Done, failures_max: float) -> list[str]:
    ended = done.counters.ok + done.counters.failed
    if not done.counters.ok:
        return [_nothing_done(done)] if done.end == "complete" else []  # the end's reason says why
    if not done.counters.committed:
        counted = done.counters
        ends = {
            "rolled back by the script": counted.rolled_back,
            "rolled back by the server": counted.aborted,
            "left open": counted.left_open,
        }
        outcomes = ", ".join(f"{count(n)} {what}" for what, n in ends.items() if n)
        return [f"no transaction was committed: {outcomes}"]
    share = done.counters.failed / ended
    if share <= failures_max:
        return []
    allowed = percent(failures_max)
    return [f"{percent(share)} of the transactions failed, more than the {allowed} allowed"]


def _nothing_done(done: Done) -> str:
    """Return the reason; transactions that were due earlier may have taken all the time."""
    waiting = done.counters.waiting
    if not waiting:
        return "no transaction completed"
    return (
        "no transaction that became due during the measurement completed: "
        f"{waiting} had not started when the run ended"
    )
