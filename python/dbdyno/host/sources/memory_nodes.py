"""Memory by NUMA node, and the nodes of the server's memory."""

from pathlib import Path

from dbdyno.host import files
from dbdyno.host.numa_maps import PROCESSES_MAX, memory_by_node
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

_FIELDS = {"free_bytes": "MemFree", "used_bytes": "MemUsed"}


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read each node."""
    nodes = {folder.name: _node(folder) for folder in _nodes(host)}
    server = host.groups.get("server")
    processes = server.members(host.processes) if server else []
    for node, node_bytes in memory_by_node(host.root, processes).items():
        nodes.setdefault(f"node{node}", {})["server_bytes"] = node_bytes
    return dict(nodes)


def _nodes(host: ObservedHost) -> list[Path]:
    return sorted((host.root / "sys/devices/system/node").glob("node[0-9]*"))


def _node(folder: Path) -> dict[str, float]:
    """Parse lines such as ``Node 0 MemFree: 23182736 kB``."""
    lines = [line.split() for line in (files.text(folder / "meminfo") or "").splitlines()]
    meminfo = {fields[2].rstrip(":"): int(fields[3]) * 1024 for fields in lines}
    return {name: meminfo[field] for name, field in _FIELDS.items() if field in meminfo}


def lack(host: ObservedHost) -> str | None:
    """Return why nodes are not read; None if they are."""
    if len(_nodes(host)) > 1:
        return None
    return "this host has one memory node"


SOURCE = HostSource(
    name="memory_nodes",
    read=read,
    watches="free and used memory of each NUMA node, and the server's memory there (of its first "
    f"process and the {PROCESSES_MAX - 1} with the most CPU time)",
    objects="`node0` …",
    counters=frozenset(),
    levels=frozenset({*_FIELDS, "server_bytes"}),
    every_s=5.0,
    files="/sys/devices/system/node/*/meminfo; /proc/PID/numa_maps as root or as the server's user",
    lack=lack,
)
