"""How many NUMA nodes there are."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Probe, ProbeResult


def check(root: Path) -> ProbeResult:
    """Count the nodes."""
    nodes = cpu.numa_nodes(root)
    if nodes == 1:
        return ProbeResult(level="ok", found="one node")
    return ProbeResult(
        level="note",
        found=f"{nodes} nodes",
        remedy="Place the server, the same way in each run: --numa (interleave=all for a large "
        "cache), and --server-cpus and --engine-cpus on different nodes.",
    )


PROBE = Probe(
    title="NUMA nodes",
    meaning="Memory of another node is slower: runs differ with the nodes on which the server's "
    "cache and processes happen to be.",
    check=check,
)
