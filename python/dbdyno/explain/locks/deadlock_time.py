"""The time in which some deadlock was pending: it existed and was not yet detected.

The server checks for one only after a session has waited for deadlock_timeout; until then everyone
who needs its rows waits. With λ deadlocks per second that each last τ and occur independently, some
deadlock is pending for 1 − e^(−λτ) of the time.
"""

import math

from dbdyno.analysis.events.server_events import DEADLOCKS
from dbdyno.analysis.series.readings import total
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.session_samples import measured_s
from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.resources.failing import DEADLOCK
from dbdyno.explain.resources.settings import span_s
from dbdyno.model.run import Run


def deadlocks_seen(run: Run) -> float:
    """Deadlocks reported to the engine or counted by the server, whichever is more."""
    failures = full_record(run).failures
    counted = sum(failure.count for failure in failures if failure.failure_class == DEADLOCK)
    return max(counted, deadlocks_counted_in(run) or 0.0)


def deadlocks_counted_in(run: Run) -> float | None:
    """Deadlocks as the server counted them; None if it does not."""
    counted = (total(run, counter, "") for counter in DEADLOCKS)
    return next((count for count in counted if count is not None), None)


def pending_share(run: Run) -> float:
    """Share of the measured time; 0 if the server's timeout is not known."""
    found = deadlocks_seen(run)
    seconds = measured_s(run)
    if not found or not seconds:
        return 0.0
    try:
        timeout_s = span_s(server_facts(run), "deadlock_timeout")
    except LackingError:
        return 0.0
    return 1.0 - math.exp(-found / seconds * timeout_s)
