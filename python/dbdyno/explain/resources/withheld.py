"""CPU time that is withheld from the server or the load generator while the host may be idle.

A cgroup that exhausted its quota waits for the next period; a process that was stopped by a signal
waits for another.
"""

import numpy as np

from dbdyno.analysis.series.readings import level
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.waits.disturbance import throttled_shares as of_recording
from dbdyno.explain.needs import levels, needed
from dbdyno.explain.resources.processors import sees_server
from dbdyno.model.counters import Processes
from dbdyno.model.run import Run


def is_withheld(run: Run, at_least: float) -> bool:
    """Whether CPU time was withheld for this share of the run."""
    stopped = stopped_share(run) if sees_server(run) else 0.0
    return max([stopped, *throttled_shares(run).values()]) >= at_least


def throttled_shares(run: Run) -> dict[str, float]:
    """The part of the run for which each cgroup was throttled, of those that were read."""
    needed(duration_s(run) or None, "nothing was measured")
    return of_recording(run)


def stopped_share(run: Run) -> float:
    """The share of the server's processes that were stopped, over all samples."""
    count = levels(run, Processes.count, "server").value
    stopped = level(run, Processes.stopped, "server")
    if stopped is None:
        return 0.0
    return float(np.mean(stopped.value)) / max(float(np.mean(count)), 1.0)
