"""Whether the processors are held at their full frequency."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Finding, Probe


def look(root: Path) -> Finding:
    """Reads the governors of all cores."""
    governor = cpu.governor(root)
    if governor is None:
        return Finding(level="ok", found="the kernel scales no frequency here")
    if governor == "performance":
        return Finding(level="ok", found=governor)
    return Finding(
        level="warning",
        found=governor,
        mend="cpupower frequency-set -g performance, as root.",
    )


PROBE = Probe(
    title="frequency governor",
    meaning="A core that slows down between bursts makes light loads look slow, and "
    "repeats differ with the temperature and the neighbours.",
    look=look,
)
