"""How much memory is free for a server and its data."""

from pathlib import Path

from dbdyno.host import memory
from dbdyno.host.doctor import Probe, ProbeResult

_ENOUGH_BYTES = 2 * 2**30


def check(root: Path) -> ProbeResult:
    """Read ``/proc/meminfo``."""
    found = memory.describe(root)
    text = f"{found.available_bytes / 2**30:.1f} of {found.total_bytes / 2**30:.1f} GiB available"
    if found.available_bytes >= _ENOUGH_BYTES:
        return ProbeResult(level="ok", found=text)
    return ProbeResult(
        level="warning", found=text, remedy="Stop other programs, or use a smaller --scale."
    )


PROBE = Probe(
    title="free memory",
    meaning="A private server uses a quarter of the memory for its cache, and the rest is page "
    "cache for its files; on a host that swaps, swapping is what you measure.",
    check=check,
)
