"""Settings that MariaDB and MySQL share, their configuration file, and its check beforehand."""

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

STATEMENTS_MAX = 1 << 20  # for all sessions together; 900 clients exceed the default
PLACED = frozenset(
    {
        *("basedir", "datadir", "innodb_data_home_dir", "innodb_log_group_home_dir", "tmpdir"),
        *("init_file", "log_error", "pid_file"),
        *("bind_address", "port", "skip_networking", "socket"),
    }
)
"""Where a private server is and how it is reached: users cannot set these."""
REDO_SIZES = ("innodb_log_file_size", "innodb_redo_log_capacity")
LOADING_REDO = "128M"
UNKNOWN = re.compile(r"unknown (?:variable|option) '(?:--)?([^'=]+)")
# Also refused are values that the server would silently replace by others.
REFUSALS = ("[ERROR]", "adjusted to", "not recognized", "is not a compiled character set")


def common_settings(machine: Machine, connections: int) -> list[Setting]:
    """Return our settings for this host, without the redo log's size."""
    pool_mib = max(128, machine.memory_bytes // 4 // MIB)
    return [
        Setting("innodb_buffer_pool_size", f"{pool_mib}M", "a quarter of the memory"),
        connections_max(connections, least=151),
        Setting(
            "max_prepared_stmt_count", str(STATEMENTS_MAX), "each client prepares its statements"
        ),
        Setting("local_infile", "ON", "data is loaded in bulk"),
        Setting("innodb_print_all_deadlocks", "ON", "the log explains failures"),
        Setting("skip_name_resolve", "ON", "no connection waits for DNS"),
    ]


def redo_log(name: str, machine: Machine) -> Setting:
    """Return the setting of that name, the redo log's size.

    It is smaller than PostgreSQL's, since it is allocated in full.
    """
    redo_mib = machine.log_bytes(least=256 * MIB, most=2 * GIB) // MIB
    return Setting(name, f"{redo_mib}M", "room for changes before dirty pages must be written")


def loading_settings(settings: Sequence[Setting]) -> dict[str, str]:
    """Return a small redo log for loading: it is created at full size, and copied with the data.

    It is created again at the size that a server has when that server starts.
    """
    return {s.name: LOADING_REDO for s in settings if s.name in REDO_SIZES}


def check_settings(title: str, binaries: Binaries, settings: Sequence[Setting]) -> None:
    """Let the server's own program check names and values, while it only prints its help."""
    refuse_placed(title, settings, PLACED)
    flags = [f"--{setting.name}={setting.value}" for setting in settings]
    complaints = [line for line in _help(binaries.server, flags)[1] if _is_refusal(line)]
    if not complaints:
        return
    for complaint in complaints:
        if unknown := UNKNOWN.search(complaint):
            raise _unknown(title, binaries.server, unknown[1])
    raise refused_setting(title, _tidy(complaints[0]))


def _help(server: Path, flags: Sequence[str]) -> tuple[str, list[str]]:
    """Return the help that the server prints, and its error messages."""
    command = [str(server), "--no-defaults", *flags, "--help", "--verbose"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout, result.stderr.splitlines()


def _is_refusal(line: str) -> bool:
    return any(sign in line for sign in REFUSALS)


def _unknown(title: str, server: Path, name: str) -> DbdynoError:
    return unknown_setting(title, name, known_settings(server), f"{server.name} --help --verbose")


def known_settings(server: Path) -> list[str]:
    """Return the names of all settings that this server documents."""
    listing = _help(server, [])[0].rpartition("Variables (--variable-name=value)")[2]
    names = re.findall(r"^([a-z][a-z0-9-]+) +\S", listing, re.MULTILINE)
    return [name.replace("-", "_") for name in names]


def _tidy(complaint: str) -> str:
    """Remove time, thread and level."""
    return complaint.rpartition("[ERROR] ")[2].rpartition("[Warning] ")[2].strip()


def configuration_text(settings: Sequence[Setting]) -> str:
    """Write the settings as lines of an option file."""
    return "".join(f"{s.name} = {quoted(s.value)}  # {s.reason}\n" for s in settings)


def quoted(value: str) -> str:
    """Quote a value for an option file."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
