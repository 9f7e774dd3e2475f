"""How much CPU time the hypervisor gives to other guests."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Finding, Probe

_SHARE_NOTED = 0.001
_SHARE_HARMFUL = 0.01


def judge(share: float | None) -> Finding:
    """Judge the share of stolen time."""
    if share is None:
        return Finding(level="note", found="not available here")
    found = f"{share:.2%} of CPU time since boot"
    if share < _SHARE_NOTED:
        return Finding(level="ok", found=found)
    return Finding(
        level="warning" if share >= _SHARE_HARMFUL else "note",
        found=found,
        mend="Use an instance with dedicated CPUs, and repeat runs at different times of day.",
    )


def look(root: Path) -> Finding:
    """Read ``/proc/stat``."""
    return judge(cpu.steal_share(root))


PROBE = Probe(
    title="stolen time",
    meaning="While the hypervisor runs other guests, this host stands still without noticing: "
    "throughput drops and latencies grow for no reason inside it.",
    look=look,
)
