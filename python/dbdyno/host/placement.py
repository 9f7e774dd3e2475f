"""Verifies that a server runs where it was placed, and shows where its memory is.

Checks every process and thread of the server. Whatever differs from the request is an error.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
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
    pids = [process.pid for process in ProcessTable(root).tree(process_id, fresh=True)]
    found = []
    if placement.server_cpus:
        found.append(_seen_on(placement.server_cpus, pids, root))
    found += [_seen_in(group, pids, root) for group in groups]
    if placement.numa:
        found.append(_seen_under(placement.numa, process_id, root))
    return found


def memory_by_node(process_id: int, root: Path = ROOT) -> dict[str, int]:
    """Return the server's memory in bytes by node number; empty if it is not reported."""
    return numa_maps.memory_by_node(root, ProcessTable(root).tree(process_id, fresh=True))


def _seen_on(cpus: Cpus, pids: Iterable[int], root: Path) -> str:
    actual = set(_allowed_cpus(pids, root))
    if actual != {str(cpus)}:
        raise _not_kept(f"the server is not on CPUs {cpus}, but on {_and(actual)}")
    return f"all processes of the server may run only on CPUs {cpus}"


def _allowed_cpus(pids: Iterable[int], root: Path) -> Iterator[str]:
    """Yield the CPUs of each thread."""
    for pid in pids:
        for status in (root / f"proc/{pid}/task").glob("*/status"):
            fields = files.keyed(files.text(status) or "")
            if "Cpus_allowed_list" in fields:
                yield fields["Cpus_allowed_list"]


def _seen_in(group: Group, pids: Iterable[int], root: Path) -> str:
    folder = Path(group.folder)
    if outside := _outside(folder, pids, root):
        raise _not_kept(f"processes of the server are outside its control group: {outside}")
    for name, wanted in group.files.items():
        actual = (folder / name).read_text().strip()
        if not _is_limit(actual, wanted):
            raise _not_kept(
                f"the kernel turned the limit {wanted} in {folder / name} into {actual}"
            )
    limits = ", ".join(f"{name} {wanted}" for name, wanted in group.files.items())
    return f"all processes of the server are in a control group with {limits}"


def _outside(folder: Path, pids: Iterable[int], root: Path) -> list[int]:
    """Return the processes outside the group; an exiting one leaves it before it has gone."""
    outside = list(pids)
    for pause_s in (0, *repeat(ENDING_S / 20, 20)):
        time.sleep(pause_s)
        members = {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
        outside = [pid for pid in outside if pid not in members and (root / f"proc/{pid}").exists()]
        if not outside:
            break
    return outside


def _is_limit(actual: str, wanted: str) -> bool:
    """Whether the limit is the requested one; the kernel rounds memory down to whole pages."""
    if actual == wanted:
        return True
    return actual.isdecimal() and wanted.isdecimal() and 0 <= int(wanted) - int(actual) < 65_536


def _seen_under(numa: NumaPolicy, process_id: int, root: Path) -> str:
    found = numa_maps.policies(root, process_id)
    if found is None:
        raise _not_kept(f"numa_maps of process {process_id} cannot be read: NUMA placement unknown")
    actual = _and(map(str, found))
    if not any(_is_policy(one, numa) for one in found):
        raise _not_kept(f"the server's memory is not under --numa {numa}, but {actual}")
    return f"numa_maps of the server's first process shows {actual}"


def _is_policy(actual: numa_maps.Policy, wanted: NumaPolicy) -> bool:
    """Whether the policy is the requested one; a cpuset may have removed nodes from it."""
    nodes = number_list(actual.nodes) if actual.nodes else ()
    return actual.mode in POLICY_MODES[wanted.policy] and nodes == policy_nodes(wanted)


def _and(items: Iterable[str]) -> str:
    return ", ".join(sorted(items)) or "nothing"


def _not_kept(message: str) -> DbdynoError:
    return DbdynoError(
        "placement_not_kept",
        message,
        "something else on this host places processes (a container, systemd, a cpuset)",
    )
