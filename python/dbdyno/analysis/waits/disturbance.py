"""What took CPU time from a run: other programs, the hypervisor, a cgroup's quota.

Programs through which the load's own connections pass (a pooler, a proxy) belong to the run, and
the kernel's threads mostly work for it: neither is a disturbance. If the server's processes cannot
be seen here, its programs may be among the others: then only programs of other names count.

``taken`` is what makes a run invalid: only time in which the host's CPUs were saturated counts, and
of others' CPU time at most as large a part as that of its runnable time in which the run waited
for a CPU. Programs that run only when nobody else wants to (``nice``), and those on a host with
idle CPUs, take nothing. Time that the hypervisor took is time in which this host wanted to run.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.readings import Span, covered, objects, total
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.waits.processor_split import COVERED_MIN
from dbdyno.analysis.waits.processor_time import (
    SATURATED,
    busiest_others,
    is_of_kernel,
    others_over_time,
    processor_time,
    sees_server,
)
from dbdyno.model.counters import Busiest, ControlGroup, Processes
from dbdyno.model.run import Run, once

NOTICED = 0.05
"""Of the host's CPU time: what is less is hardly distinguishable from the host's own noise."""
NAMES_MAX = 3

_ON_THE_WAY = frozenset(
    {"pgbouncer", "pgcat", "odyssey", "pgpool", "haproxy", "envoy", "proxysql", "maxscale"}
    | {
        "dbdyno-delay",
        "mysqlrouter",
        "docker-proxy",
        "slirp4netns",
        "pasta",
        "socat",
        "stunnel",
        "ssh",
        "sshd",
    }
)
_SERVERS = frozenset({"postgres", "postmaster", "mariadbd", "mysqld", "sqlservr", "oracle"})


class Disturbance(Struct, frozen=True, kw_only=True):
    """Shares are of the CPU time of the host's ``cores`` during the measurement."""

    cores: float
    sees_server: bool
    """Whether the server's processes are on this host: otherwise only the load generator's are."""
    others: float
    stolen: float
    taken: float
    """What others and the hypervisor took from the run while the CPUs were saturated."""
    seconds: float
    """For how long others and the hypervisor used a noticeable share."""
    duration_s: float
    programs: Mapping[str, float]
    """Of other programs, by ``name/number``, the busiest first."""

    @property
    def is_noticed(self) -> bool:
        """Whether the run's numbers are in doubt."""
        return self.others + self.stolen >= NOTICED


@once
def disturbance(run: Run) -> Disturbance | None:
    """What others did on this host; None if that is not known."""
    whole_s = duration_s(run)
    if whole_s <= 0:
        return None
    used = processor_time(run)
    edges_s = np.append(np.arange(0.0, whole_s, 1.0), whole_s)
    over_time = others_over_time(run, edges_s)
    is_known = covered(run, Processes.source, whole_s) >= COVERED_MIN
    if used is None or over_time is None or not is_known:
        return None
    seconds = np.diff(edges_s)
    # Their use between two listings is taken to be as within them.
    seen_s = covered(run, Busiest.source, whole_s) * whole_s
    used_s = busiest_others(run)
    named = {
        name: its_s / seen_s / used.cores for name, its_s in used_s.items() if seen_s and its_s
    }
    part_of_run = _ON_THE_WAY if sees_server(run) else _ON_THE_WAY | _SERVERS
    programs = {
        name: share
        for name, share in named.items()
        if not is_of_kernel(name) and name.rpartition("/")[0] not in part_of_run
    }
    of_others = _part_of_others(run, used.others, named, programs)
    others = over_time.others * of_others
    noticed = others + over_time.stolen >= NOTICED
    is_saturated = 1.0 - over_time.idle >= SATURATED
    taken = over_time.stolen + np.minimum(others, over_time.waited)
    return Disturbance(
        cores=used.cores,
        sees_server=sees_server(run),
        others=used.others * of_others,
        stolen=used.stolen,
        taken=float((taken * seconds)[is_saturated].sum() / whole_s),
        seconds=float(seconds[noticed].sum()),
        duration_s=whole_s,
        programs=programs,
    )


def busiest_programs(cores: Mapping[str, float], least: float) -> str:
    """The busiest programs that used so many cores: ``burn/4242 1.00, cc1 (5 processes) 0.61``.

    ``cores`` are those of each process, by ``name/number``.
    """
    used: dict[str, float] = {}
    processes: dict[str, list[str]] = {}
    for process, its in cores.items():
        name = process.rpartition("/")[0]
        used[name] = used.get(name, 0.0) + its
        processes.setdefault(name, []).append(process)
    named = [
        f"{one[0] if len(one) == 1 else f'{name} ({len(one)} processes)'} {used[name]:.2f}"
        for name, one in sorted(processes.items(), key=lambda its: -used[its[0]])
        if used[name] >= least
    ]
    return ", ".join(named[:NAMES_MAX])


def throttled_shares(run: Run) -> dict[str, float]:
    """The part of the measurement for which the cgroups of server and engine were throttled.

    In periods in which the quota was exhausted, the processes stood still for a part of the time
    at most; the throttled time is added up over the cores; and processes that used u of a host's n
    cores ran for at least u/n of the time. All are upper bounds. Empty if no cgroup was read:
    without one there is no quota to exhaust.
    """
    whole_s, used, shares = duration_s(run), processor_time(run), {}
    if not whole_s:
        return {}
    for who in objects(run, ControlGroup.source):
        periods, ran_out, throttled_us = (
            total(run, counter, who, Span(end_s=whole_s)) or 0.0
            for counter in (
                ControlGroup.periods,
                ControlGroup.throttled_periods,
                ControlGroup.throttled_us,
            )
        )
        if periods:
            ran = getattr(used, who, 0.0)
            shares[who] = min(ran_out / periods, throttled_us / 1e6 / whole_s, 1.0 - ran)
    return shares


def _part_of_others(
    run: Run,
    others: float,
    named: Mapping[str, float],
    programs: Mapping[str, float],
) -> float:
    """The part of others' CPU time that counts: what has no name only if it cannot be the server's.

    Without a name are programs too short-lived to be listed, and those of other containers.
    """
    if not others:
        return 0.0
    disturbing, known = sum(programs.values()), sum(named.values())
    counted = others - (known - disturbing) if sees_server(run) else disturbing
    return min(max(counted / others, 0.0), 1.0)
