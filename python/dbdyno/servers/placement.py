"""Where on the host a private server runs: CPUs, memory nodes, limits, folders.

Text in, checked values out; what the host does not have is refused before anything starts. The
guard applies the placement, and ``host/placement.py`` verifies that the kernel did.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers.groups import available_memory_bytes

Policy: TypeAlias = Literal["interleave", "localalloc", "bind", "preferred"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

# The kernel's numbers; only the last is newer than the others (Linux 3.8).
MODES: dict[Policy, int] = {"preferred": 1, "bind": 2, "interleave": 3, "localalloc": 4}
NODES_MAX = 64
CORES_MIN = 0.01  # the kernel allows no less than 1 ms of each 100 ms
ALL_NODES = "all"
ONLINE_NODES = Path("/sys/devices/system/node/online")


class Cpus(Struct, frozen=True):
    """CPU numbers, in order."""

    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Write the list as briefly as the kernel does."""
        return list_text(self.numbers)


class NumaPolicy(Struct, frozen=True, kw_only=True):
    """A memory policy in numactl's terms; ``nodes`` is empty if it has none, or means all."""

    policy: Policy
    nodes: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Write it as after ``--numa``."""
        if self.policy == "localalloc":
            return self.policy
        return f"{self.policy}={list_text(self.nodes) if self.nodes else ALL_NODES}"


class Placement(Struct, frozen=True, kw_only=True):
    """What a private server is bound to; None leaves it to the host."""

    numa: NumaPolicy | None = None
    server_cpus: Cpus | None = None
    server_cores: float | None = None
    server_memory_bytes: int | None = None
    data_folder: Path | None = None
    wal_folder: Path | None = None

    def as_options(self) -> dict[str, str]:
        """Return what is requested, by the names of the options."""
        given = {
            "numa": self.numa,
            "server-cpus": self.server_cpus,
            "server-cores": self.server_cores,
            "server-memory": self.server_memory_bytes,
            "data-folder": self.data_folder,
            "wal-folder": self.wal_folder,
        }
        return {name: f"{value}" for name, value in given.items() if value is not None}


ANYWHERE = Placement()


def numa_policy(text: str) -> NumaPolicy:
    """Parse ``interleave=all``, ``localalloc``, ``bind=0`` or ``preferred=1``."""
    word, _, nodes = text.strip().removeprefix("--").partition("=")
    policy = next((known for known in POLICIES if known == word), None)
    is_whole = (not nodes) if policy == "localalloc" else bool(nodes)
    if policy is None or not is_whole:
        raise ValueError(
            f'"{text}" is not a memory policy: write interleave=all, localalloc, bind=0 '
            "or preferred=1, as numactl does"
        )
    if nodes == ALL_NODES and policy != "preferred":
        return NumaPolicy(policy=policy)
    return NumaPolicy(policy=policy, nodes=number_list(nodes) if nodes else ())


def cpus(text: str) -> Cpus:
    """Parse ``0``, ``0-3`` or ``0,2-3``."""
    return Cpus(number_list(text))


def number_list(text: str) -> tuple[int, ...]:
    """Parse numbers as the kernel lists them: ``0``, ``0-3``, ``0,2-3``."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", part, re.ASCII)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f'"{text}" is not a list of numbers: write 0, 0-3 or 0,2-3')
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(numbers))


def list_text(numbers: Sequence[int]) -> str:
    """Write the list as briefly as the kernel does."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def refuse_impossible(placement: Placement) -> None:
    """Refuse CPUs, nodes, folders and resources that do not exist here."""
    if placement.server_cpus:
        refuse_missing_cpus("--server-cpus", placement.server_cpus)
    _refuse_missing_nodes(placement.numa)
    _refuse_impossible_limits(placement.server_cores, placement.server_memory_bytes)
    for flag, folder in (
        ("--data-folder", placement.data_folder),
        ("--wal-folder", placement.wal_folder),
    ):
        if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
            why = "is not writable" if folder.is_dir() else "is not a folder"
            raise impossible(f"{flag} {folder} {why}", "create it, or name another")


def _refuse_impossible_limits(cores: float | None, memory_bytes: int | None) -> None:
    """Refuse limits that the kernel does not accept, and those that would limit nothing."""
    if cores is not None and cores < CORES_MIN:
        raise impossible(
            f"--server-cores {cores:g} is too small",
            f"the minimum for a control group is {CORES_MIN:g}",
        )
    available = len(os.sched_getaffinity(0))
    if cores is not None and cores > available:
        raise impossible(
            f"--server-cores {cores:g} exceeds the cores available here", f"available: {available}"
        )
    available_bytes = available_memory_bytes()
    if memory_bytes is not None and memory_bytes > available_bytes:
        raise impossible(
            f"--server-memory {memory_bytes >> 20}MB exceeds the memory available here",
            f"available: {available_bytes >> 20}MB",
        )


def refuse_missing_cpus(flag: str, wanted: Cpus) -> None:
    """Refuse CPUs that this process may not use, or that do not exist."""
    allowed = sorted(os.sched_getaffinity(0))
    missing = sorted(set(wanted.numbers) - set(allowed))
    if missing:
        raise impossible(
            f"{flag} {wanted} names CPUs that are not available: {list_text(missing)}",
            f"available: {list_text(allowed)}",
        )


def nodes_online() -> tuple[int, ...]:
    """Return the memory nodes of this host; a kernel without NUMA has one."""
    try:
        return number_list(ONLINE_NODES.read_text())
    except OSError:
        return (0,)


def policy_order(numa: NumaPolicy) -> dict[str, object]:
    """Return the policy as the guard's system call takes it."""
    return {"mode": MODES[numa.policy], "nodes": policy_nodes(numa)}


def policy_nodes(numa: NumaPolicy) -> tuple[int, ...]:
    """Return the nodes of the policy; local memory is wherever the process runs."""
    return () if numa.policy == "localalloc" else numa.nodes or nodes_online()


def _refuse_missing_nodes(numa: NumaPolicy | None) -> None:
    if numa is None:
        return
    online = nodes_online()
    missing = sorted(set(numa.nodes) - set(online))
    if missing:
        raise impossible(
            f"--numa {numa} names memory nodes that do not exist: {list_text(missing)}",
            f"this host has {list_text(online)}",
        )
    if online[-1] >= NODES_MAX:
        raise impossible(f"--numa supports nodes 0 to {NODES_MAX - 1}; this host has {online[-1]}")


def impossible(message: str, hint: str = "") -> DbdynoError:
    """Return the error for a placement that is impossible here."""
    return DbdynoError("impossible_placement", message, hint)
