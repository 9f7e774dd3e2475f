"""Whether the CPUs run at their full frequency."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Finding, Probe


def look(root: Path) -> Finding:
    """Read the governors of all cores."""
    governor = cpu.governor(root)
    if governor is None:
        return Finding(level="ok", found="no frequency scaling by the kernel")
    if governor == "performance":
        return Finding(level="ok", found=governor)
    return Finding(
        level="warning",
        found=governor,
        mend="As root: cpupower frequency-set -g performance.",
    )


PROBE = Probe(
    title="frequency governor",
    meaning="A core that lowers its frequency between bursts makes light loads look slow, and "
    "repeated runs differ with temperature and with the load on other cores.",
    look=look,
)
