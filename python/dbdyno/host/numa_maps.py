"""Reads ``/proc/PID/numa_maps``: the memory policy of each mapping, and the nodes of its pages.

The kernel walks all pages of a process for it and locks the process's memory meanwhile: therefore
only a few of many processes are read. Reading requires root or the process's own user; what cannot
be read is left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dbdyno.host import files
from dbdyno.host.processes import Process

# The first process has mapped everything that is shared.
PROCESSES_MAX = 8
# As in ``7f00 interleave:0-1 …``; not all policies name nodes.
_POLICY = re.compile(r"\S+ (?P<word>prefer \(many\)|\w+)(?::(?P<nodes>[\d,-]+))?")
_PAGES = re.compile(r"\bN(\d+)=(\d+)")
_PAGE_KB = re.compile(r"\bkernelpagesize_kB=(\d+)")


class Policy(NamedTuple):
    """A memory policy in the kernel's words; ``nodes`` is empty if it names none."""

    mode: str
    nodes: str

    def __str__(self) -> str:
        """Return the policy as the kernel writes it."""
        return f"{self.mode}:{self.nodes}" if self.nodes else self.mode


def policies(root: Path, process_id: int) -> set[Policy] | None:
    """Return the policies of a process's mappings; None if the kernel does not report them."""
    content = files.text(root / f"proc/{process_id}/numa_maps")
    if content is None:
        return None
    found = map(_POLICY.match, content.splitlines())
    return {Policy(one["word"], one["nodes"] or "") for one in found if one}


def memory_by_node(root: Path, processes: Sequence[Process]) -> dict[str, int]:
    """Return bytes by node number, for the first process and those with the most CPU time.

    A mapping that processes share is counted once, with the numbers of the process that touched
    most.
    """
    private: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    most = sorted(processes[1:], key=lambda process: process.used.cpu_us, reverse=True)
    for process in (*processes[:1], *most[: PROCESSES_MAX - 1]):
        for mapping, node, size in _mapped(root, process.pid):
            if " anon=" in mapping:
                private[node] += size
            else:
                place = mapping.split(None, 1)[0]
                shared[place, node] = max(shared[place, node], size)
    for (_, node), size in shared.items():
        private[node] += size
    return dict(sorted(private.items()))


def _mapped(root: Path, pid: int) -> Iterator[tuple[str, str, int]]:
    """Yield (line, node, bytes) of each mapping and each node with pages of it."""
    for line in (files.text(root / f"proc/{pid}/numa_maps") or "").splitlines():
        match = _PAGE_KB.search(line)
        page_bytes = int(match[1]) * 1024 if match else 4096
        for node, pages in _PAGES.findall(line):
            yield line, node, int(pages) * page_bytes
