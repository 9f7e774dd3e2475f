"""Busy processes that do not belong to the run."""

from msgspec.structs import replace

from dbdyno.host.observed_host import SHARE_MIN, HostSource, ObservedHost
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Return how long each was busy since the first reading."""
    table = host.processes
    of_the_run = {process.pid for its in host.groups.values() for process in its.members(table)}
    strangers = (its for its in table.listed().values() if its.pid not in of_the_run)
    # ``ps``, too, shows a thread of the kernel in brackets.
    named = (
        replace(process, name=f"[{process.name}]") if process.of_kernel else process
        for process in table.again(strangers)
    )
    return {name: {"cpu_us": busy_us} for name, busy_us in host.others.read(named).items()}


SOURCE = HostSource(
    name="busiest",
    read=read,
    watches="other processes, by name, during periods of five seconds or more in which they used "
    f"more than {SHARE_MIN:.0%} of a core",
    objects="`name/number` of the process; the kernel's threads as `[name]/number`",
    counters=frozenset({"cpu_us"}),
    every_s=5.0,
    share_max=0.0002,  # listing hundreds of processes is expensive, and it rarely matters
    files="/proc/PID/stat",
)
