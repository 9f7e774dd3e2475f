"""Memory by NUMA node, and on which nodes the server's memory lies."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dbdyno.host import files
from dbdyno.host.processes import Process
from dbdyno.host.watched import HostSource, WatchedHost
from dbdyno.model.source import Numbers

_FIELDS = {"free_bytes": "MemFree", "used_bytes": "MemUsed"}
# The kernel walks all pages of a process to tell their nodes, and holds its memory meanwhile.
# So few are asked; the first has mapped what all share.
_PROCESSES_MAX = 8

_PAGES = re.compile(r"\bN(\d+)=(\d+)")
_PAGE_KB = re.compile(r"\bkernelpagesize_kB=(\d+)")


def read(host: WatchedHost) -> dict[str, Numbers]:
    """Each node."""
    told = {folder.name: _node(folder) for folder in _nodes(host)}
    for node, node_bytes in _servers(host).items():
        told.setdefault(node, {})["server_bytes"] = node_bytes
    return dict(told)


def _nodes(host: WatchedHost) -> list[Path]:
    return sorted((host.root / "sys/devices/system/node").glob("node[0-9]*"))


def _node(folder: Path) -> dict[str, float]:
    """Lines such as ``Node 0 MemFree:  23182736 kB``."""
    lines = [line.split() for line in (files.text(folder / "meminfo") or "").splitlines()]
    told = {words[2].rstrip(":"): int(words[3]) * 1024 for words in lines}
    return {name: told[field] for name, field in _FIELDS.items() if field in told}


def _servers(host: WatchedHost) -> dict[str, int]:
    """Private memory of the processes asked, and what the one that shares most has mapped."""
    if "server" not in host.groups:
        return {}
    private: Counter[str] = Counter()
    shared: list[Counter[str]] = []
    for process in _asked(host.groups["server"].members(host.processes)):
        content = files.text(host.root / f"proc/{process.pid}/numa_maps") or ""
        own, common = _mapped(content.splitlines())
        private += own
        shared.append(common)
    return dict(private + max(shared, key=lambda pages: pages.total(), default=Counter()))


def _asked(members: list[Process]) -> list[Process]:
    longest = sorted(members[1:], key=lambda process: process.used.cpu_us, reverse=True)
    return [*members[:1], *longest[: _PROCESSES_MAX - 1]]


def _mapped(lines: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Bytes by node: anonymous memory, and all that others may have mapped as well."""
    private: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for line in lines:
        size = _PAGE_KB.search(line)
        page_bytes = int(size[1]) * 1024 if size else 4096
        for node, pages in _PAGES.findall(line):
            (private if " anon=" in line else shared)[f"node{node}"] += int(pages) * page_bytes
    return private, shared


def lack(host: WatchedHost) -> str | None:
    """Why no node is watched."""
    if len(_nodes(host)) > 1:
        return None
    return "this machine has one memory node"


SOURCE = HostSource(
    name="memory_nodes",
    read=read,
    watches="memory of each NUMA node, free and used, and the server's there (of its first "
    f"process and the {_PROCESSES_MAX - 1} that took most processor time)",
    objects="`node0` …",
    counters=frozenset(),
    levels=frozenset({*_FIELDS, "server_bytes"}),
    every_s=5.0,
    files="/sys/devices/system/node/*/meminfo; /proc/PID/numa_maps as root or as the server's user",
    lack=lack,
)
