"""Whether the kernel divides CPU time between sessions before it does between threads."""

from pathlib import Path

from dbdyno.host.describe import kernel
from dbdyno.host.doctor import Probe, ProbeResult


def check(root: Path) -> ProbeResult:
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


PROBE = Probe(
    title="scheduler autogroups",
    meaning="MariaDB and MySQL are one session with a thread per connection. On shared cores a "
    "load generator of another session runs as soon as a single reply is there: context switches "
    "multiply, and whether they do changes from run to run. A private server of one run is of "
    "dbdyno's session; each process of PostgreSQL is a session of its own.",
    check=check,
)
