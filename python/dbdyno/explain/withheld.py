"""CPU time that is withheld from the server or the load generator while the host may be idle.

A cgroup that exhausted its quota waits for the next period; a process that was stopped by a signal
waits for another.
"""

import numpy as np

from dbdyno.analysis.disturbance import throttled_shares as of_recording
from dbdyno.analysis.readings import level
from dbdyno.explain.case import Case
from dbdyno.explain.needs import levels, needed
from dbdyno.explain.processors import sees_server


def is_withheld(case: Case, at_least: float) -> bool:
    """Whether CPU time was withheld for this share of the run."""
    stopped = stopped_share(case) if sees_server(case) else 0.0
    return max([stopped, *throttled_shares(case).values()]) >= at_least


def throttled_shares(case: Case) -> dict[str, float]:
    """The part of the run for which each cgroup was throttled, of those that were read."""
    duration_s = needed(case.record.duration_s or None, "nothing was measured")
    return of_recording(case.recording, duration_s)


def stopped_share(case: Case) -> float:
    """The share of the server's processes that were stopped, over all samples."""
    count = levels(case, "processes", "count", "server").value
    stopped = level(case.recording, "processes", "stopped", "server")
    if stopped is None:
        return 0.0
    return float(np.mean(stopped.value)) / max(float(np.mean(count)), 1.0)
