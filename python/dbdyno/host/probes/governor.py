"""Whether the CPUs run at their full frequency."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Probe, ProbeResult


def check(root: Path) -> ProbeResult:
    """Read the governors of all cores."""
    governor = cpu.governor(root)
    if governor is None:
        return ProbeResult(level="ok", found="no frequency scaling by the kernel")
    if governor == "performance":
        return ProbeResult(level="ok", found=governor)
    return ProbeResult(
        level="warning",
        found=governor,
        remedy="As root: cpupower frequency-set -g performance.",
    )


PROBE = Probe(
    title="frequency governor",
    meaning="A core that lowers its frequency between bursts makes light loads look slow, and "
    "repeated runs differ with temperature and with the load on other cores.",
    check=check,
)
