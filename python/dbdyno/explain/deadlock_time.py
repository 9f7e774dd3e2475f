"""The time in which some deadlock was pending: it existed and was not yet detected.

The server checks for one only after a session has waited for deadlock_timeout; until then everyone
who needs its rows waits. With λ deadlocks per second that each last τ and occur independently, some
deadlock is pending for 1 − e^(−λτ) of the time.
"""

import math

from dbdyno.analysis.readings import total
from dbdyno.analysis.server_events import DEADLOCKS
from dbdyno.analysis.session_samples import measured_s
from dbdyno.explain.case import Case
from dbdyno.explain.failing import DEADLOCK
from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.settings import span_s


def deadlocks_seen(case: Case) -> float:
    """Deadlocks reported to the engine or counted by the server, whichever is more."""
    failures = case.record.failures
    counted = sum(failure.count for failure in failures if failure.failure_class == DEADLOCK)
    return max(counted, deadlocks_counted_in(case) or 0.0)


def deadlocks_counted_in(case: Case) -> float | None:
    """Deadlocks as the server counted them; None if it does not."""
    counted = (total(case.recording, source, name, "") for source, name in DEADLOCKS)
    return next((count for count in counted if count is not None), None)


def pending_share(case: Case) -> float:
    """Share of the measured time; 0 if the server's timeout is not known."""
    found = deadlocks_seen(case)
    seconds = measured_s(case.recording)
    if not found or not seconds:
        return 0.0
    try:
        timeout_s = span_s(server_facts(case), "deadlock_timeout")
    except LackingError:
        return 0.0
    return 1.0 - math.exp(-found / seconds * timeout_s)
