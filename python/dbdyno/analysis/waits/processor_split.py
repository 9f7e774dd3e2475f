"""Splits the sessions' time into time on a CPU and time waiting for one.

A server does not know which of its sessions are on a CPU; the kernel does. Two kinds of time hide
it:

- a session that is active and waits for nothing is on a CPU or in the run queue;
- a session that has been sent a request and still looks idle is on the network, or woken and in
  the run queue: it reports itself active only once it runs. The busier the CPUs, the fewer running
  sessions a sample sees: the sampler needs a CPU, too.

Let C be the CPU time and Q the run-queue time of all the server's processes, and A the first kind
of time: C goes to A first, the rest of A is queueing; what C and Q have beyond A belongs to the
second kind, at most all of it. Sessions woken from other waits (locks, I/O) are in Q as well, so
for the second kind the queueing is an upper bound.

Some servers do not report every wait: then the rest of A is queueing only as far as Q reaches, and
beyond that a wait without a name.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.alignment import over
from dbdyno.analysis.series.readings import Span, covered, growth, total
from dbdyno.analysis.series.timeline import Timeline
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.waits.session_samples import measured_s
from dbdyno.model.counters import Counter, Processes
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run

COVERED_MIN = 0.9
"""Below this share of the measured part, the server's CPU time says too little about it."""
_INTERVAL_COVERED_MIN = 0.5
"""The same of one interval of a curve: the first reading comes a little after the load begins."""
_CPU, _QUEUE = (Processes.user_us, Processes.system_us), (Processes.run_queue_us,)


class ProcessorSplit(Struct, frozen=True, kw_only=True):
    """Shares of the time sampled as ``cpu``, and of that sampled as ``client_or_network``."""

    running_of_active: float = 1.0
    unknown_of_active: float = 0.0
    running_of_way: float = 0.0
    queued_of_way: float = 0.0
    is_known: bool = False

    def kinds(self, seen_as: PartKind) -> Iterator[tuple[PartKind, float]]:
        """The kinds that make up a sampled kind, each with its share."""
        shares: dict[PartKind, float] = {seen_as: 1.0}
        if seen_as == "cpu":
            running, unknown = self.running_of_active, self.unknown_of_active
            shares = {"cpu": running, "cpu_queue": 1 - running - unknown, "other_wait": unknown}
        elif seen_as == "client_or_network":
            running, queued = self.running_of_way, self.queued_of_way
            shares = {"cpu": running, "cpu_queue": queued, seen_as: 1 - running - queued}
        return ((kind, share) for kind, share in shares.items() if share > 0)


def processor_split(
    run: Run, active_s: float, on_the_way_s: float, sampled_share: float = 1.0
) -> ProcessorSplit:
    """Split the session-seconds of both kinds; unchanged if the server's CPU time is not known.

    Samples represent ``sampled_share`` of the run; the kernel, which counts all of it, is taken to
    have counted evenly.
    """
    used_s, queued_s = _server_s(run, *_CPU), _server_s(run, *_QUEUE)
    if used_s is None or queued_s is None or cpu_time_covered(run) < COVERED_MIN:
        return ProcessorSplit()
    used_s, queued_s = used_s * sampled_share, queued_s * sampled_share
    return _split(run, used_s, queued_s, active_s, on_the_way_s)


def processor_splits(
    run: Run, line: Timeline, active: Series, on_the_way: Series
) -> list[ProcessorSplit]:
    """The split of each interval, from the mean number of sessions of both kinds in it.

    Unchanged in an interval whose CPU time or sessions are not known; in all if the measured part's
    CPU time is not known.
    """
    used, queued = _server_mean(run, line, *_CPU), _server_mean(run, line, *_QUEUE)
    if used is None or queued is None or cpu_time_covered(run) < COVERED_MIN:
        return [ProcessorSplit()] * len(line.time_s)
    amounts = np.stack([used, queued, active, on_the_way], axis=1)
    return [
        ProcessorSplit() if np.isnan(known).any() else _split(run, *known.tolist())
        for known in amounts
    ]


def _split(
    run: Run, used_s: float, queued_s: float, active_s: float, on_the_way_s: float
) -> ProcessorSplit:
    running_s = min(used_s, active_s)
    beyond_s = active_s - running_s
    reports_all_waits = run.database.has("all_waits_named")
    unknown_s = 0.0 if reports_all_waits else max(beyond_s - queued_s, 0.0)
    hidden_running_s = min(used_s - running_s, on_the_way_s)
    hidden_queued_s = max(queued_s - beyond_s, 0.0)
    return ProcessorSplit(
        running_of_active=running_s / active_s if active_s else 1.0,
        unknown_of_active=unknown_s / active_s if active_s else 0.0,
        running_of_way=hidden_running_s / on_the_way_s if on_the_way_s else 0.0,
        queued_of_way=min(hidden_queued_s, on_the_way_s - hidden_running_s) / on_the_way_s
        if on_the_way_s
        else 0.0,
        is_known=True,
    )


def cpu_time_covered(run: Run) -> float:
    """The share of the measured part in which the server's CPU time was read.

    It is less than 1 if the server's first process ended: whatever uses CPU time then, a server
    that was started again included, looks like another program.
    """
    return covered(run, Processes.source, measured_s(run))


def _server_mean(run: Run, line: Timeline, *counters: Counter) -> Series | None:
    """The mean number of the server's processes of which the kernel counted this in each interval.

    NaN where it was not read; None if it never was.
    """
    grown = [growth(run, counter, "server") for counter in counters]
    counted_us = [
        over(its, line.time_s, line.time_s + line.seconds, _INTERVAL_COVERED_MIN)
        for its in grown
        if its is not None
    ]
    if len(counted_us) < len(counters):
        return None
    mean: Series = sum(counted_us) / 1e6 / line.seconds
    return mean


def _server_s(run: Run, *counters: Counter) -> float | None:
    """Seconds that the kernel counted for the server's processes; None if it was not read.

    Only until the end of the load, as for session samples: no session waited for what the server
    does after it, which may be much cleaning up.
    """
    under_load = Span(end_s=measured_s(run))
    counted = [total(run, counter, "server", under_load) for counter in counters]
    return None if None in counted else sum(filter(None, counted)) / 1e6
