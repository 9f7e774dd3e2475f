"""Verifies that a server runs where it was placed, and shows where its memory is.

Checks every process and thread of the server. Whatever differs from the request is an error.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.host import files, numa_maps
from dbdyno.host.describe import ROOT
from dbdyno.host.processes import ProcessTable
from dbdyno.servers.groups import Group
from dbdyno.servers.placement import Cpus, NumaPolicy, Placement, number_list, policy_nodes

# As in /proc/PID/numa_maps; newer kernels write ``prefer (many)``.
POLICY_MODES = {
    "interleave": ("interleave",),
    "localalloc": ("local", "default"),
    "bind": ("bind",),
    "preferred": ("prefer", "prefer (many)"),
}
# Within this time a process that is exiting has gone, even on a busy host.
ENDING_S = 1.0


def verified(
    placement: Placement, groups: Sequence[Group], process_id: int | None, root: Path = ROOT
) -> list[str]:
    """Return what was verified, each a sentence; raise an error for what differs."""
    if process_id is None:
        return []
    tree = ProcessTable(root).tree(process_id, fresh=True)
    server = _Placed(root, process_id, [process.pid for process in tree])
    found = [server.on_cpus(placement.server_cpus)] if placement.server_cpus else []
    found += [server.in_group(group) for group in groups]
    found += [server.under_policy(placement.numa)] if placement.numa else []
    return found


def memory_by_node(process_id: int, root: Path = ROOT) -> dict[str, int]:
    """Return the server's memory in bytes by node number; empty if it is not reported."""
    return numa_maps.memory_by_node(root, ProcessTable(root).tree(process_id, fresh=True))


@dataclass(frozen=True)
class _Placed:
    """The processes of a server: its first one, and all of them."""

    root: Path
    first: int
    pids: Sequence[int]

    def on_cpus(self, cpus: Cpus) -> str:
        """Verify the CPUs of every thread."""
        statuses = (
            files.keyed(files.text(status) or "")
            for pid in self.pids
            for status in (self.root / f"proc/{pid}/task").glob("*/status")
        )
        # A thread without this line has just ended.
        actual = {its["Cpus_allowed_list"] for its in statuses if "Cpus_allowed_list" in its}
        if actual != {str(cpus)}:
            raise _not_kept(f"the server is not on CPUs {cpus}, but on {_and(actual)}")
        return f"all processes of the server may run only on CPUs {cpus}"

    def in_group(self, group: Group) -> str:
        """Verify that all are in the control group, and its limits."""
        folder = Path(group.folder)
        if outside := self._outside(folder):
            raise _not_kept(f"processes of the server are outside its control group: {outside}")
        for name, wanted in group.files.items():
            actual = (folder / name).read_text().strip()
            if not _is_limit(actual, wanted):
                raise _not_kept(
                    f"the kernel turned the limit {wanted} in {folder / name} into {actual}"
                )
        limits = ", ".join(f"{name} {wanted}" for name, wanted in group.files.items())
        return f"all processes of the server are in a control group with {limits}"

    def _outside(self, folder: Path) -> list[int]:
        """Return the processes outside the group; an exiting one leaves it before it has gone."""
        outside = list(self.pids)
        for pause_s in (0, *repeat(ENDING_S / 20, 20)):
            time.sleep(pause_s)
            members = {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
            outside = [
                pid
                for pid in outside
                if pid not in members and (self.root / f"proc/{pid}").exists()
            ]
            if not outside:
                break
        return outside

    def under_policy(self, numa: NumaPolicy) -> str:
        """Verify the memory policy; a cpuset may have removed nodes from it."""
        found = numa_maps.policies(self.root, self.first)
        if found is None:
            raise _not_kept(
                f"numa_maps of process {self.first} cannot be read: NUMA placement unknown"
            )
        actual = _and(map(str, found))
        if not any(
            one.mode in POLICY_MODES[numa.policy]
            and (number_list(one.nodes) if one.nodes else ()) == policy_nodes(numa)
            for one in found
        ):
            raise _not_kept(f"the server's memory is not under --numa {numa}, but {actual}")
        return f"numa_maps of the server's first process shows {actual}"


def _is_limit(actual: str, wanted: str) -> bool:
    """Whether the limit is the requested one; the kernel rounds memory down to whole pages."""
    if actual == wanted:
        return True
    return actual.isdecimal() and wanted.isdecimal() and 0 <= int(wanted) - int(actual) < 65_536


def _and(items: Iterable[str]) -> str:
    return ", ".join(sorted(items)) or "nothing"


def _not_kept(message: str) -> DbdynoError:
    return DbdynoError(
        "placement_not_kept",
        message,
        "something else on this host places processes (a container, systemd, a cpuset)",
    )
