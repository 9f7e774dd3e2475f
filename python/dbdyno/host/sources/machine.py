"""The CPUs as a whole: their time by state, and the demand for them."""

from dbdyno.host import cpu, files
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.host.processes import TICK_US
from dbdyno.model.source import Numbers

# In the order of /proc/stat: nice is added to user, softirq to irq.
_KINDS = (
    "user_us",
    "user_us",
    "system_us",
    "idle_us",
    "iowait_us",
    "irq_us",
    "irq_us",
    "steal_us",
)
_LINES = {
    "ctxt": "context_switches",
    "processes": "forks",
    "procs_running": "runnable",
    "procs_blocked": "blocked",
}


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read ``/proc/stat`` for all CPUs together."""
    stat = files.text(f"{host.root}/proc/stat") or ""
    spent: dict[str, float] = {}
    for kind, ticks in zip(_KINDS, cpu.times(stat), strict=False):
        spent[kind] = spent.get(kind, 0) + ticks * TICK_US
    # The kernel adjusts idle and iowait, sometimes downwards.
    held = {kind: host.continuity.held(("machine", kind), us) for kind, us in spent.items()}
    counted: dict[str, float] = {"processors": 0}
    for line in stat.splitlines():
        name, _, rest = line.partition(" ")  # the line of interrupts may contain a thousand numbers
        if name in _LINES:
            counted[_LINES[name]] = int(rest)
        counted["processors"] += name[3:].isdigit()
    return {"": held | counted}


SOURCE = HostSource(
    name="machine",
    read=read,
    watches="time of all CPUs by state, including steal; context switches, new processes, and the "
    "number of processes that are runnable or blocked on I/O",
    objects="the whole host",
    counters=frozenset({*_KINDS, "context_switches", "forks"}),
    levels=frozenset({"runnable", "blocked", "processors"}),
    files="/proc/stat",
)
