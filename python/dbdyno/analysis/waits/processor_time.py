"""Who used the host's CPU while the run was measured.

    capacity = server + further servers + engine + dbdyno + others + stolen + idle

from the kernel's accounting, in core-seconds. What is counted for the host and for none of dbdyno's
processes was used by others, including kernel threads. The kernel counts the host's time in ticks
and that of processes exactly: if the processes add up to more than the host's time in use, they
share that in proportion. A server on another host, or one that cannot be seen here, has none of it:
its processes, if they are on this host after all, are others.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.readings import growth, level, objects
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.counters import Busiest, Counter, Machine, Processes
from dbdyno.model.run import Run, once

RUN = ("server", "further_servers", "engine", "dbdyno")
"""The processes of the run."""

SATURATED = 0.8
"""Above this CPU utilization, work has to queue for a core now and then."""

_BUSY = (Machine.user_us, Machine.system_us, Machine.irq_us)
_IDLE = (Machine.idle_us, Machine.iowait_us)
CPU_TIMES = (Processes.user_us, Processes.system_us)


class ProcessorTime(Struct, frozen=True, kw_only=True):
    """Shares of the host's CPU time in the measured part; they add up to 1."""

    cores: float
    server: float
    further_servers: float = 0.0
    """Standbys on this host, and further targets."""
    engine: float
    dbdyno: float
    others: float
    stolen: float
    idle: float

    @property
    def in_use(self) -> float:
        """CPU time used by anyone, including other machines on the same cores."""
        return 1.0 - self.idle


class OthersTime(Struct, frozen=True, kw_only=True):
    """For each span of time, shares of the host's CPU time: others', the hypervisor's, and idle.

    ``waited`` is the part of the time in which the processes of server and engine were runnable
    that they waited for a CPU; 1 where the kernel does not count it.
    """

    others: Series
    stolen: Series
    idle: Series
    waited: Series


def sees_server(run: Run) -> bool:
    """Whether the server's processes are on this host, and readable."""
    return "server" in objects(run, Processes.source)


@once
def processor_time(run: Run) -> ProcessorTime | None:
    """The host's CPU time, divided; None if it was not read."""
    shares = _shares(run, np.array([0.0, duration_s(run)]))
    processors = level(run, Machine.processors)
    if shares is None or processors is None:
        return None
    whole = {who: float(share[0]) for who, share in shares.items()}
    return ProcessorTime(cores=float(processors.value[-1]), **whole)


def others_over_time(run: Run, edges_s: Series) -> OthersTime | None:
    """What others used between each two of these instants; None if it was not read."""
    shares = _shares(run, edges_s)
    if shares is None:
        return None
    return OthersTime(
        others=shares["others"],
        stolen=shares["stolen"],
        idle=shares["idle"],
        waited=_waited(run, edges_s),
    )


def is_of_kernel(name: str) -> bool:
    """Whether a busy process is a thread of the kernel: ``[kworker/0:1]/7``.

    It mostly works for the run's own storage and network.
    """
    return name.startswith("[")


def busiest_others(run: Run) -> dict[str, float]:
    """Core-seconds of other processes by name, as far as they were seen; the busiest first."""
    edges_s = np.array([0.0, duration_s(run)])
    used_s = {
        name: float(_grown(run, edges_s, (Busiest.cpu_us,), name)[0]) / 1e6
        for name in objects(run, Busiest.source)
    }
    return dict(sorted(used_s.items(), key=lambda one: one[1], reverse=True))


def _shares(run: Run, edges_s: Series) -> dict[str, Series] | None:
    counters = (*_BUSY, *_IDLE, Machine.steal_us)
    known = [growth(run, counter) is not None for counter in counters]
    if not all(known) or growth(run, Processes.user_us) is None:
        return None
    busy, idle = (_grown(run, edges_s, kinds) for kinds in (_BUSY, _IDLE))
    stolen = _grown(run, edges_s, (Machine.steal_us,))
    capacity = np.maximum(busy + idle + stolen, 1.0)
    used_us = {who: _grown(run, edges_s, CPU_TIMES, who) for who in RUN}
    together = np.sum(list(used_us.values()), axis=0)
    counted = np.maximum(np.maximum(busy, together), 1.0)
    return {
        **{who: its / counted * busy / capacity for who, its in used_us.items()},
        "others": np.maximum(1.0 - together / counted, 0.0) * busy / capacity,
        "stolen": stolen / capacity,
        "idle": idle / capacity,
    }


def _waited(run: Run, edges_s: Series) -> Series:
    queued, used = np.zeros(len(edges_s) - 1), np.zeros(len(edges_s) - 1)
    if growth(run, Processes.run_queue_us) is None:
        return queued + 1.0
    for who in ("server", "engine"):
        queued += _grown(run, edges_s, (Processes.run_queue_us,), who)
        used += _grown(run, edges_s, CPU_TIMES, who)
    return np.asarray(queued / np.maximum(queued + used, 1.0))


def _grown(
    run: Run,
    edges_s: Series,
    counters: tuple[Counter, ...],
    of: str | None = None,
) -> Series:
    """Growth of these counters together, between each two of these instants.

    Between two readings a counter is taken to grow evenly; where none could be read, not at all.
    """
    total = np.zeros(len(edges_s))
    for counter in counters:
        grown = growth(run, counter, of)
        if grown is None or not len(grown.time_s):
            continue
        after = np.cumsum(grown.delta)
        times = np.stack([grown.time_s - grown.seconds, grown.time_s], axis=1).ravel()
        values = np.stack([after - grown.delta, after], axis=1).ravel()
        total += np.interp(edges_s, times, values)
    return np.diff(total)
