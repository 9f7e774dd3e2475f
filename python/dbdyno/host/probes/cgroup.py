"""Whether the control group allows less than the host has."""

from pathlib import Path

from dbdyno.host import cgroup
from dbdyno.host.doctor import Probe, ProbeResult


def check(root: Path) -> ProbeResult:
    """Read the limits on this process."""
    limits = cgroup.describe(root)
    limited = []
    if limits.cpu_cores is not None:
        limited.append(f"{limits.cpu_cores:g} cores")
    if limits.memory_bytes is not None:
        limited.append(f"{limits.memory_bytes / 2**30:.1f} GiB of memory")
    if not limited:
        return ProbeResult(level="ok", found="no limit")
    return ProbeResult(
        level="warning" if limits.cpu_cores is not None else "note",
        found="limited to " + " and ".join(limited),
        remedy="Give the container whole cores (a cpuset) instead of a quota, and more memory "
        "than the database's cache needs.",
    )


PROBE = Probe(
    title="control group",
    meaning="Once a CPU quota is used up, all threads stop for the rest of the period: latencies "
    "then show stalls of tens of milliseconds that the database did not cause.",
    check=check,
)
