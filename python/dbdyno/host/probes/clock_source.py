"""Which clock source the kernel uses."""

from pathlib import Path

from dbdyno.host.describe import kernel
from dbdyno.host.doctor import Finding, Probe

# Those that are read without a system call: on x86, on ARM, and in guests of KVM and Hyper-V.
_FAST = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "tk-fast"}


def look(root: Path) -> Finding:
    """Read the current clock source."""
    source = kernel(root).clock_source
    if source is None:
        return Finding(level="note", found="not available here")
    if source in _FAST:
        return Finding(level="ok", found=source)
    return Finding(
        level="warning",
        found=f"{source}: each reading is a system call or slower",
        mend="Boot with clocksource=tsc if the CPU's time stamp counter is stable (see dmesg).",
    )


PROBE = Probe(
    title="clock source",
    meaning="The clock is read several times per transaction; a slow one costs CPU time in the "
    "engine and in the server, and makes short latencies inaccurate.",
    look=look,
)
