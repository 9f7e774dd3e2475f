"""A private PostgreSQL's settings, checked by its own program, and its configuration file."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.servers.product import Binaries
from dbdyno.servers.settings import (
    GIB,
    MIB,
    Machine,
    Setting,
    connections_max,
    refuse_placed,
    refused_setting,
    unknown_setting,
)

TITLE = "PostgreSQL"
PLACED = frozenset(
    {
        *("data_directory", "listen_addresses", "port"),
        *("unix_socket_directories", "unix_socket_permissions"),
    }
)
"""Where a private server is and how it is reached: users cannot set these."""


def choose_settings(machine: Machine, connections: int, _binaries: Binaries) -> list[Setting]:
    """Return our settings for this host."""
    buffers_mib = max(128, machine.memory_bytes // 4 // MIB)
    wal_gib = machine.log_bytes(least=GIB, most=16 * GIB) // GIB
    maintenance_mib = min(2048, max(64, machine.memory_bytes // 16 // MIB))
    return [
        Setting("shared_buffers", f"{buffers_mib}MB", "a quarter of the memory"),
        Setting("max_wal_size", f"{wal_gib}GB", "checkpoints are triggered by time, not by volume"),
        Setting("maintenance_work_mem", f"{maintenance_mib}MB", "indexes are built in memory"),
        connections_max(connections, least=100),
        Setting("track_io_timing", "on", "read and write times are measured"),
        Setting("log_checkpoints", "on", "the log explains dips"),
        Setting("log_autovacuum_min_duration", "0", "the log explains dips"),
        Setting("log_line_prefix", "%m [%p] ", "each log line has a timestamp"),
        Setting("log_timezone", "UTC", "log timestamps are unambiguous"),
        Setting("lc_messages", "C", "dbdyno reads the log as well"),
    ]


def check_settings(binaries: Binaries, settings: Sequence[Setting]) -> None:
    """Let the server's own program check names and values, on an empty configuration."""
    refuse_placed(TITLE, settings, PLACED)
    flags = [flag for s in settings for flag in ("-c", f"{s.name}={s.value}")]
    empty = ("-D", "/", "-c", "config_file=/dev/null")  # it writes nothing, and reads no data
    command = [str(binaries.server), "-C", "max_connections", *empty, *flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise _bad_setting(binaries.server, result.stderr)


def _bad_setting(postgres: Path, complaint: str) -> DbdynoError:
    fatal = [
        line.partition("FATAL:")[2].strip() for line in complaint.splitlines() if "FATAL:" in line
    ]
    text = fatal[-1] if fatal else complaint.strip()
    unknown = re.search(r'unrecognized configuration parameter "([^"]+)"', text)
    if unknown is None:
        return refused_setting(TITLE, text)
    known = known_settings(postgres)
    return unknown_setting(TITLE, unknown[1], known, "postgres --describe-config")


def known_settings(postgres: Path) -> list[str]:
    """Return the names of all settings that this server documents."""
    command = [str(postgres), "--describe-config"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t", 1)[0] for line in listing.splitlines()]


def configuration_text(settings: Sequence[Setting]) -> str:
    """Write the settings as lines of a configuration file."""
    return "".join(f"{s.name} = {quoted(s.value)}  # {s.reason}\n" for s in settings)


def quoted(value: str) -> str:
    """Quote a value for a configuration file."""
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"'{escaped}'"
