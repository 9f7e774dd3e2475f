"""The CPUs: their frequency, nodes and clock, and who else gets their time."""

from pathlib import Path

from dbdyno.host import cpu
from dbdyno.host.describe import kernel
from dbdyno.host.doctor import ProbeResult, probe

_STEAL_NOTED = 0.001
_STEAL_HARMFUL = 0.01
# Those that are read without a system call: on x86, on ARM, and in guests of KVM and Hyper-V.
_FAST_CLOCKS = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "tk-fast"}


@probe(
    "frequency governor",
    meaning="A core that lowers its frequency between bursts makes light loads look slow, and "
    "repeated runs differ with temperature and with the load on other cores.",
)
def governor(root: Path) -> ProbeResult:
    """Read the governors of all cores."""
    found = cpu.governor(root)
    if found is None:
        return ProbeResult(level="ok", found="no frequency scaling by the kernel")
    if found == "performance":
        return ProbeResult(level="ok", found=found)
    return ProbeResult(
        level="warning",
        found=found,
        remedy="As root: cpupower frequency-set -g performance.",
    )


@probe(
    "NUMA nodes",
    meaning="Memory of another node is slower: runs differ with the nodes on which the server's "
    "cache and processes happen to be.",
)
def numa(root: Path) -> ProbeResult:
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


def judge_steal(share: float | None) -> ProbeResult:
    """Judge the share of stolen time."""
    if share is None:
        return ProbeResult(level="note", found="not available here")
    found = f"{share:.2%} of CPU time since boot"
    if share < _STEAL_NOTED:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(
        level="warning" if share >= _STEAL_HARMFUL else "note",
        found=found,
        remedy="Use an instance with dedicated CPUs, and repeat runs at different times of day.",
    )


@probe(
    "stolen time",
    meaning="While the hypervisor runs other guests, this host stands still without noticing: "
    "throughput drops and latencies grow for no reason inside it.",
)
def steal(root: Path) -> ProbeResult:
    """Read ``/proc/stat``."""
    return judge_steal(cpu.steal_share(root))


@probe(
    "scheduler autogroups",
    meaning="MariaDB and MySQL are one session with a thread per connection. On shared cores a "
    "load generator of another session runs as soon as a single reply is there: context switches "
    "multiply, and whether they do changes from run to run. A private server of one run is of "
    "dbdyno's session; each process of PostgreSQL is a session of its own.",
)
def autogroup(root: Path) -> ProbeResult:
    """Read the kernel's setting; kernels without the feature do not have it."""
    if not kernel(root).sched_autogroup_enabled:
        return ProbeResult(level="ok", found="threads compete as equals")
    return ProbeResult(
        level="warning",
        found="on: each session gets an equal share of a core, however many threads it has",
        remedy="To measure a kept or installed MariaDB or MySQL, as root: sysctl "
        "kernel.sched_autogroup_enabled=0, and then start the server. Compare only runs with the "
        "same setting: PostgreSQL, too, differs with it.",
    )


@probe(
    "clock source",
    meaning="The clock is read several times per transaction; a slow one costs CPU time in the "
    "engine and in the server, and makes short latencies inaccurate.",
)
def clock_source(root: Path) -> ProbeResult:
    """Read the current clock source."""
    source = kernel(root).clock_source
    if source is None:
        return ProbeResult(level="note", found="not available here")
    if source in _FAST_CLOCKS:
        return ProbeResult(level="ok", found=source)
    return ProbeResult(
        level="warning",
        found=f"{source}: each reading is a system call or slower",
        remedy="Boot with clocksource=tsc if the CPU's time stamp counter is stable (see dmesg).",
    )
