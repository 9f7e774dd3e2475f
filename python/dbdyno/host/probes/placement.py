"""Whether a private server can be placed: NUMA memory policies and control groups."""

import ctypes
import os
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.host import files
from dbdyno.host.doctor import Probe, ProbeResult
from dbdyno.servers.groups import make_groups, remove_groups
from dbdyno.servers.guard import SET_MEMPOLICY

DEFAULT_POLICY = 0
CORES_TRIED = 1.0


def check(root: Path) -> ProbeResult:
    """Request the policy that applies already, and create a control group briefly."""
    missing = [*_without_policy(root), *_without_groups()]
    if not missing:
        return ProbeResult(level="ok", found="--numa, --server-cores and --server-memory work here")
    return ProbeResult(
        level="note",
        found="; ".join(missing),
        remedy="A container needs CAP_SYS_NICE for memory policies; control groups must be "
        "writable: systemd-run --user --scope -p Delegate=yes dbdyno …",
    )


def _without_policy(root: Path) -> list[str]:
    if files.text(root / "proc/self/numa_maps") is None:
        return ["no --numa: this kernel has no NUMA memory policies"]
    number = SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        return [f"no --numa: not supported on {os.uname().machine}"]
    call = ctypes.CDLL(None, use_errno=True).syscall
    if call(number, DEFAULT_POLICY, None, 0) != 0:
        return [f"no --numa: {os.strerror(ctypes.get_errno())}"]
    return []


def _without_groups() -> list[str]:
    try:
        remove_groups(make_groups(CORES_TRIED, 1 << 40))
    except DbdynoError as error:
        return [f"no --server-cores and --server-memory: {error.message}"]
    return []


PROBE = Probe(
    title="placement",
    meaning="Runs differ with the placement of the server's memory and processes; a study of "
    "placement must be able to control it.",
    check=check,
)
