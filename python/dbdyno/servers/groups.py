"""Control groups: dbdyno's own, whose limits hold for it, and those of private servers below.

Supports both versions of the interface. The guard enters the groups that are created here before it
starts the server, and removes them afterwards; those of a guard that was itself killed are removed
when the next one is created. If something is missing (a controller, the right to write), the error
names it.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError

MOUNTS = Path("/sys/fs/cgroup")
PREFIX = "dbdyno-"
PERIOD_US = 100_000
HINT = (
    "run in a container or session whose control groups are writable (systemd-run --user --scope "
    "-p Delegate=yes), or leave --server-cores and --server-memory out"
)

CPU, MEMORY = "cpu", "memory"
V1_UNLIMITED_BYTES = 2**62  # version 1 represents "no limit" as the largest number of pages
Limits = Mapping[str, float]


class Group(Struct, frozen=True):
    """A control group; ``home`` is where the guard goes before the group is removed."""

    folder: str
    home: str
    files: dict[str, str]
    """The values written into it, by file."""


def make_groups(cores: float | None, memory_bytes: int | None) -> tuple[Group, ...]:
    """Create groups with these limits; none if there is no limit."""
    limits = {CPU: cores, MEMORY: memory_bytes}
    wanted = {controller: limit for controller, limit in limits.items() if limit is not None}
    if not wanted:
        return ()
    own = dict(memberships(Path("/proc/self/cgroup").read_text()))
    if (MOUNTS / "cgroup.controllers").exists():
        return (_made_v2(own.get("", "/"), wanted),)
    return tuple(_made_v1(own, controller, limit) for controller, limit in wanted.items())


def remove_groups(groups: tuple[Group, ...]) -> None:
    """Remove groups that no server has entered."""
    for group in groups:
        with suppress(OSError):
            Path(group.folder).rmdir()


def memberships(content: str) -> Iterator[tuple[str, str]]:
    """Yield (controller, path) of each line ``id:controllers:path``; version 2 names none."""
    for line in content.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def upwards(mount: Path, path: str) -> Iterator[Path]:
    """Yield the group's folder and its parents, as far as they are visible in this container."""
    folder = mount / path.lstrip("/")
    # Inside a container, the path may be the host's: then only the mount itself exists.
    yield from (f for f in (folder, *folder.parents) if f.is_relative_to(mount) and f.is_dir())


def available_memory_bytes() -> int:
    """Return the host's memory, or the limit of this process if that is lower."""
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = memory_limit_bytes()
    return installed if limit is None else min(installed, limit)


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Return the lowest limit of this process's group and those above it; None if there is none."""
    mounts = root / "sys/fs/cgroup"
    paths = {}
    with suppress(OSError):
        paths = dict(memberships((root / "proc/self/cgroup").read_text()))
    if (mounts / "cgroup.controllers").exists():
        files = [group / "memory.max" for group in upwards(mounts, paths.get("", "/"))]
    else:
        groups = upwards(mounts / "memory", paths.get("memory", "/"))
        files = [group / "memory.limit_in_bytes" for group in groups]
    limits = []
    for file in files:
        with suppress(OSError, ValueError):  # the root has no limit, and version 2 writes "max"
            limits.append(int(file.read_text()))
    return min((limit for limit in limits if limit < V1_UNLIMITED_BYTES), default=None)


def _made_v1(own: Mapping[str, str], controller: str, limit: float) -> Group:
    mount = MOUNTS / controller
    above = next(upwards(mount, own.get(controller, "/")), None)
    if controller not in own or above is None:
        raise _unavailable(f"the {controller} controller is not mounted below {MOUNTS}")
    return _made(above, above, _files(1, controller, limit))


def _made_v2(path: str, limits: Limits) -> Group:
    """Create a group below the nearest group that can delegate the controllers.

    The kernel forbids a group both to contain processes and to delegate controllers, so that this
    is rarely our own group, but its parent, if it was delegated to us.
    """
    files = {name: text for item in limits.items() for name, text in _files(2, *item).items()}
    home = next(upwards(MOUNTS, path), MOUNTS)
    for above in upwards(MOUNTS, path):
        if _hands_on(above, limits):
            return _made(above, home, files)
    wanted = " and ".join(limits)
    raise _unavailable(f"no parent group of this process delegates {wanted} and is writable")


def _hands_on(group: Path, limits: Limits) -> bool:
    """Whether subgroups can have the controllers; enables their delegation if necessary."""
    control = group / "cgroup.subtree_control"
    with suppress(OSError):
        missing = limits.keys() - set(control.read_text().split())
        if missing:
            control.write_text(" ".join(f"+{controller}" for controller in sorted(missing)))
        return os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK)
    return False


def _made(above: Path, home: Path, files: Mapping[str, str]) -> Group:
    _sweep(above)
    folder = above / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        folder.mkdir()
    except OSError as error:
        raise _unavailable(f"{folder}: {error.strerror}") from error
    for name, text in files.items():
        try:
            (folder / name).write_text(text)
        except OSError as error:  # only now the kernel refuses it, and names no file
            with suppress(OSError):
                folder.rmdir()
            raise _unavailable(f"writing {text!r} to {folder / name}: {error.strerror}") from error
    return Group(str(folder), str(home), dict(files))


def _sweep(above: Path) -> None:
    """Remove groups of dead processes; the kernel keeps those that contain processes."""
    for folder in above.glob(f"{PREFIX}*-*"):
        maker = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", maker).exists():
            with suppress(OSError):
                folder.rmdir()


def _files(version: int, controller: str, limit: float) -> dict[str, str]:
    """Return the values to write for a server's limit, by file, in a version of the interface."""
    quota = str(int(limit * PERIOD_US))
    return {
        (1, CPU): {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": quota},
        (1, MEMORY): {"memory.limit_in_bytes": str(int(limit))},
        (2, CPU): {"cpu.max": f"{quota} {PERIOD_US}"},
        (2, MEMORY): {"memory.max": str(int(limit))},
    }[version, controller]


def _unavailable(why: str) -> DbdynoError:
    return DbdynoError(
        "no_control_group", f"the server cannot be given a resource limit: {why}", HINT
    )
