"""How much memory is free for a server and its data."""

from pathlib import Path

from dbdyno.host import memory
from dbdyno.host.doctor import Finding, Probe

_ENOUGH_BYTES = 2 * 2**30


def look(root: Path) -> Finding:
    """Read ``/proc/meminfo``."""
    found = memory.describe(root)
    told = f"{found.available_bytes / 2**30:.1f} of {found.total_bytes / 2**30:.1f} GiB available"
    if found.available_bytes >= _ENOUGH_BYTES:
        return Finding(level="ok", found=told)
    return Finding(
        level="warning", found=told, mend="Stop other programs, or use a smaller --scale."
    )


PROBE = Probe(
    title="free memory",
    meaning="A private server uses a quarter of the memory for its cache, and the rest is page "
    "cache for its files; on a host that swaps, swapping is what you measure.",
    look=look,
)
