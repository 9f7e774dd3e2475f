"""The server's processes, or its threads, by what they are there for."""

from dbdyno.host.observed_host import HostSource, ObservedHost, ServerEndedError
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Return the CPU time of each class so far."""
    assert host.server_tasks is not None
    group = host.groups["server"]
    used_us = host.server_tasks.read(group, host.processes)
    if not used_us and group.was_seen:
        raise ServerEndedError("the server's process has ended")
    return {of: {"cpu_us": us} for of, us in used_us.items()}


def lack(host: ObservedHost) -> str | None:
    """Return why they cannot be told apart, or None."""
    if "server" not in host.groups:
        return "the server's processes are not known: it runs on another host or in a container"
    return None if host.server_tasks else "what the server's processes are there for is not known"


SOURCE = HostSource(
    name="server_tasks",
    read=read,
    lack=lack,
    watches="CPU time of the server's processes or threads by what they are there for; those of "
    "sessions that came and went between two readings are `client` if clients reconnect, else "
    "`rest`",
    objects="`client`, `foreign`, `telemetry` (sessions of the load, of others, of dbdyno), "
    "`cleanup` (vacuum, purge), `writer` (pages, checkpoints), `wal`, `logger`, `worker` (I/O, "
    "parallel queries), `rest`",
    counters=frozenset({"cpu_us"}),
    files="/proc/PID/stat, /proc/PID/task/TID/schedstat, /proc/PID/cmdline",
)
