"""Busy processes that do not belong to the run."""

from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.host.other_processes import SHARE_MIN
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Return how long each was busy since the first reading."""
    table = host.processes
    of_the_run = {process.pid for its in host.groups.values() for process in its.members(table)}
    strangers = (its for its in table.listed().values() if its.pid not in of_the_run)
    busy = host.others.read(table.again(strangers))
    return {name: {"cpu_us": busy_us} for name, busy_us in busy.items()}


SOURCE = HostSource(
    name="busiest",
    read=read,
    watches="other processes, by name, during periods of five seconds or more in which they used "
    f"more than {SHARE_MIN:.0%} of a core",
    objects="`name/number` of the process",
    counters=frozenset({"cpu_us"}),
    every_s=5.0,
    share_max=0.0002,  # listing hundreds of processes is expensive, and it rarely matters
    files="/proc/PID/stat",
)
