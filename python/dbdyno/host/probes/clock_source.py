"""Which clock source the kernel uses."""

from pathlib import Path

from dbdyno.host.describe import kernel
from dbdyno.host.doctor import Probe, ProbeResult

# Those that are read without a system call: on x86, on ARM, and in guests of KVM and Hyper-V.
_FAST = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "tk-fast"}


def check(root: Path) -> ProbeResult:
    """Read the current clock source."""
    source = kernel(root).clock_source
    if source is None:
        return ProbeResult(level="note", found="not available here")
    if source in _FAST:
        return ProbeResult(level="ok", found=source)
    return ProbeResult(
        level="warning",
        found=f"{source}: each reading is a system call or slower",
        remedy="Boot with clocksource=tsc if the CPU's time stamp counter is stable (see dmesg).",
    )


PROBE = Probe(
    title="clock source",
    meaning="The clock is read several times per transaction; a slow one costs CPU time in the "
    "engine and in the server, and makes short latencies inaccurate.",
    check=check,
)
