"""The processes of the run: the server with its backends, the engine, dbdyno itself."""

from dbdyno.host.group import ProcessGroup
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Return the sums of each group; one that has ended is left out."""
    return host.of_each_group(ProcessGroup.read)


SOURCE = HostSource(
    name="processes",
    read=read,
    watches="processes of the server, the engine and dbdyno itself: CPU time (`cpu_us` to the "
    "microsecond; its parts in ticks of each process), run-queue time, "
    "context switches, page faults, number by state, and memory (shared memory counted once)",
    objects="`server`, `further_servers` (standbys, and further targets), `engine`, `dbdyno`",
    counters=frozenset(
        {
            "cpu_us",
            "user_us",
            "system_us",
            "run_queue_us",
            "voluntary_switches",
            "involuntary_switches",
            "minor_faults",
            "major_faults",
        }
    ),
    levels=frozenset({"count", "running", "waiting_for_disk", "stopped", "memory_bytes"}),
    files="/proc/PID/stat, /proc/PID/status, /proc/PID/schedstat",
)
