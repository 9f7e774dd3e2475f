"""How many memory nodes there are."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Finding, Probe


def look(root: Path) -> Finding:
    """Counts them."""
    nodes = cpu.numa_nodes(root)
    if nodes == 1:
        return Finding(level="ok", found="one node")
    return Finding(
        level="note",
        found=f"{nodes} nodes",
        mend="Say where the server is to be, the same way each time: --numa (interleave=all for "
        "a large cache), and --server-cpus and --engine-cpus of different nodes.",
    )


PROBE = Probe(
    title="NUMA nodes",
    meaning="Memory of another node is slower: where the server's cache and its processes "
    "happen to lie makes runs differ.",
    look=look,
)
