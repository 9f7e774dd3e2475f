"""The settings of a private server: few, each with its reason, and checked before anything starts.

They suit a machine that serves one database, and are as durable as PostgreSQL's own defaults:
what dbdyno measures with them is a server that keeps its promises. Nothing that only flatters a
benchmark (fsync, wal_level, autovacuum) is touched.
"""

import difflib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError

MIB = 1 << 20
GIB = 1 << 30
CONNECTIONS_SPARE = 20  # for control connections, telemetry and autovacuum's reserve
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Setting(Struct, frozen=True):
    """One setting that was chosen, and why."""

    name: str
    value: str
    reason: str


class Machine(Struct, frozen=True):
    """What the settings are computed from."""

    memory_bytes: int
    disk_free_bytes: int


def this_machine(data_folder: Path) -> Machine:
    """The machine we are on, within the limits of its container."""
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = (Path(path) for path in CGROUP_LIMITS)
    words = [path.read_text().strip() for path in limits if path.exists()]
    granted = [int(word) for word in words if word.isdecimal()]
    return Machine(
        memory_bytes=min([installed, *granted]),
        disk_free_bytes=shutil.disk_usage(data_folder).free,
    )


def choose_settings(
    machine: Machine, connections: int, overrides: dict[str, str]
) -> tuple[Setting, ...]:
    """Ours for this machine, with the user's own on top and last."""
    ours = [setting for setting in _ours(machine, connections) if setting.name not in overrides]
    theirs = [Setting(name, value, "asked for") for name, value in overrides.items()]
    return (*ours, *theirs)


def _ours(machine: Machine, connections: int) -> list[Setting]:
    buffers_mib = max(128, machine.memory_bytes // 4 // MIB)
    wal_gib = max(1, min(16, machine.disk_free_bytes // 10 // GIB))
    maintenance_mib = min(2048, max(64, machine.memory_bytes // 16 // MIB))
    connections_max = max(100, connections + CONNECTIONS_SPARE)
    return [
        Setting("shared_buffers", f"{buffers_mib}MB", "a quarter of the memory"),
        Setting("max_wal_size", f"{wal_gib}GB", "checkpoints come by time, not by volume"),
        Setting("maintenance_work_mem", f"{maintenance_mib}MB", "indexes are built in memory"),
        Setting("max_connections", str(connections_max), "every client, and some to spare"),
        Setting("track_io_timing", "on", "reads and writes are measured, not guessed"),
        Setting("log_checkpoints", "on", "the log explains dips"),
        Setting("log_autovacuum_min_duration", "0", "the log explains dips"),
        Setting("log_line_prefix", "%m [%p] ", "each line of the log has its time"),
        Setting("log_timezone", "UTC", "a time of the log is one moment everywhere"),
        Setting("lc_messages", "C", "the log is read by dbdyno, too"),
    ]


def check_settings(postgres: Path, settings: tuple[Setting, ...]) -> None:
    """Lets the server's own binary judge names and values, on an empty configuration."""
    flags = [word for s in settings for word in ("-c", f"{s.name}={s.value}")]
    with tempfile.TemporaryDirectory(prefix="dbdyno-") as folder:
        Path(folder, "postgresql.conf").touch()
        command = [str(postgres), "-C", "max_connections", "-D", folder, *flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise _bad_setting(postgres, result.stderr)


def _bad_setting(postgres: Path, complaint: str) -> DbdynoError:
    fatal = [
        line.partition("FATAL:")[2].strip() for line in complaint.splitlines() if "FATAL:" in line
    ]
    text = fatal[-1] if fatal else complaint.strip()
    unknown = re.search(r'unrecognized configuration parameter "([^"]+)"', text)
    if unknown is None:
        return DbdynoError("bad_setting", f"PostgreSQL refuses: {text}", "see its documentation")
    name = unknown[1]
    near = difflib.get_close_matches(name, known_settings(postgres), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "postgres --describe-config lists them all"
    return DbdynoError("unknown_setting", f"PostgreSQL has no setting {name!r}", hint)


def known_settings(postgres: Path) -> list[str]:
    """The names of all settings that this server documents."""
    command = [str(postgres), "--describe-config"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t", 1)[0] for line in listing.splitlines()]


def configuration_text(settings: tuple[Setting, ...]) -> str:
    """The settings as lines of a configuration file."""
    return "".join(f"{s.name} = {quoted(s.value)}  # {s.reason}\n" for s in settings)


def quoted(value: str) -> str:
    """A value as a configuration file writes it."""
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"'{escaped}'"
