"""Time lost waiting for resources: the kernel's pressure stall information."""

from pathlib import Path

from dbdyno.host import files
from dbdyno.host.cgroup import groups_of
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

_WANTS = ("cpu", "io", "memory")


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read the host's, and that of the server's own control group if it has one."""
    paths = {want: f"{host.root}/proc/pressure/{want}" for want in _WANTS}
    if (group := _servers_group(host)) is not None:
        paths |= {f"server/{want}": f"{group}/{want}.pressure" for want in _WANTS}
    stalled = {name: _stalled(path) for name, path in paths.items()}
    return {name: numbers for name, numbers in stalled.items() if numbers}


def _servers_group(host: ObservedHost) -> Path | None:
    """Return the server's group: only version 2 reports groups; the root's is the host's."""
    server = host.groups.get("server")
    groups = groups_of(host.root, server.first) if server else None
    if groups is None or groups.version != 2 or groups.paths.get("", "/") == "/":
        return None
    return next(iter(groups.above("")), None)


def _stalled(path: str) -> dict[str, float]:
    """Parse lines such as ``some avg10=0.00 avg60=0.00 avg300=0.00 total=1234``."""
    lines = (line.split() for line in (files.text(path) or "").splitlines())
    return {f"{fields[0]}_us": int(fields[-1].removeprefix("total=")) for fields in lines}


def lack(host: ObservedHost) -> str | None:
    """Return why pressure is not reported; None if it is."""
    if _stalled(f"{host.root}/proc/pressure/cpu"):
        return None
    return "this kernel keeps no pressure stall information (built without, or needs psi=1)"


SOURCE = HostSource(
    name="pressure",
    read=read,
    watches="pressure stall information: time in which some processes, or all non-idle ones, "
    "waited for CPU, I/O or memory",
    objects="`cpu`, `io`, `memory`; `server/cpu` … for the server's own control group",
    counters=frozenset({"some_us", "full_us"}),
    files="/proc/pressure; *.pressure of version 2 control groups",
    lack=lack,
)
