"""How much CPU time the hypervisor gives to other guests."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.doctor import Probe, ProbeResult

_SHARE_NOTED = 0.001
_SHARE_HARMFUL = 0.01


def judge(share: float | None) -> ProbeResult:
    """Judge the share of stolen time."""
    if share is None:
        return ProbeResult(level="note", found="not available here")
    found = f"{share:.2%} of CPU time since boot"
    if share < _SHARE_NOTED:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(
        level="warning" if share >= _SHARE_HARMFUL else "note",
        found=found,
        remedy="Use an instance with dedicated CPUs, and repeat runs at different times of day.",
    )


def check(root: Path) -> ProbeResult:
    """Read ``/proc/stat``."""
    return judge(cpu.steal_share(root))


PROBE = Probe(
    title="stolen time",
    meaning="While the hypervisor runs other guests, this host stands still without noticing: "
    "throughput drops and latencies grow for no reason inside it.",
    check=check,
)
