"""CPU time that is withheld from the server or the load generator while the host may be idle.

A cgroup that exhausted its quota waits for the next period; a process that was stopped by a signal
waits for another.
"""

import numpy as np

from dbdyno.analysis.readings import level, was_read
from dbdyno.explain.case import Case
from dbdyno.explain.needs import LackingError, grown, known_objects, levels, needed
from dbdyno.explain.processors import processor_time, sees_server


def is_withheld(case: Case, at_least: float) -> bool:
    """Whether CPU time was withheld for this share of the run."""
    stopped = stopped_share(case) if sees_server(case) else 0.0
    return max([stopped, *throttled_shares(case).values()]) >= at_least


def throttled_shares(case: Case) -> dict[str, float]:
    """The part of the run for which each cgroup was throttled, of those that were read."""
    return {who: _throttled_share(case, who) for who in _groups(case)}


def _groups(case: Case) -> list[str]:
    """Whose cgroup was read; without one there is no quota to exhaust."""
    if not was_read(case.recording, "control_group"):
        return []
    return known_objects(case, "control_group")


def _throttled_share(case: Case, who: str) -> float:
    periods = grown(case, "control_group", "periods", who)
    if not periods:
        return 0.0
    ran_out = grown(case, "control_group", "throttled_periods", who) / periods
    throttled_s = grown(case, "control_group", "throttled_us", who) / 1e6
    duration_s = needed(case.record.duration_s or None, "nothing was measured")
    return min(ran_out, throttled_s / duration_s, 1.0 - _ran_at_least(case, who))


def _ran_at_least(case: Case, who: str) -> float:
    """The part of the time in which a cgroup ran, if it had all cores whenever it did."""
    try:
        used = processor_time(case)
    except LackingError:
        return 0.0
    return {"server": used.server, "engine": used.engine}.get(who, 0.0)


def stopped_share(case: Case) -> float:
    """The share of the server's processes that were stopped, over all samples."""
    count = levels(case, "processes", "count", "server").value
    stopped = level(case.recording, "processes", "stopped", "server")
    if stopped is None:
        return 0.0
    return float(np.mean(stopped.value)) / max(float(np.mean(count)), 1.0)
