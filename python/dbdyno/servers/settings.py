"""The settings of a private server: few, each with its reason, and checked before the start.

They suit a host that serves one database, and are as durable as the server's defaults. Nothing that
only improves benchmark results is changed unless ``--durability`` or the user requests it.
"""

import re
import shutil
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError, nearest
from dbdyno.servers.groups import available_memory_bytes

MIB = 1 << 20
GIB = 1 << 30
CONNECTIONS_SPARE = 20  # for control connections, telemetry and the server's own reserve
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|[kmgt]b?)?", re.ASCII | re.IGNORECASE)
_UNIT_BYTES = {"b": 1, "k": 1 << 10, "m": MIB, "g": GIB, "t": 1 << 40}
_FREE_BYTES: dict[int, int] = {}
"""What was free on each disk when a server was first placed there, by the number of its device."""
# Among hundreds of long names of a few common words, some are half alike by chance.
_LEAST_ALIKE = 0.6


class Setting(Struct, frozen=True):
    """A setting that was chosen, and the reason."""

    name: str
    value: str
    reason: str


class Machine(Struct, frozen=True):
    """The properties of the host that determine the settings."""

    memory_bytes: int
    disk_free_bytes: int

    def log_bytes(self, least: int, most: int) -> int:
        """Return the size of a WAL or redo log: a tenth of the free space within these bounds.

        It is rounded down to a power of two: two runs have the same on a disk that changes little.
        """
        tenth = self.disk_free_bytes // 10
        return max(least, min(most, 1 << max(0, tenth.bit_length() - 1)))


def this_machine(
    folder: Path, server_limit_bytes: int | None = None, *, servers: int = 1
) -> Machine:
    """Return what each of so many servers has of this host, within the limits that hold for it.

    ``folder`` is on the disk that holds the WAL or redo log. The free space of a disk is determined
    once: the servers that one command starts are compared, and what the first ones wrote must not
    change the settings of the next.
    """
    available_bytes = available_memory_bytes() // servers
    free_bytes = _FREE_BYTES.setdefault(folder.stat().st_dev, shutil.disk_usage(folder).free)
    return Machine(
        memory_bytes=min(available_bytes, server_limit_bytes or available_bytes),
        disk_free_bytes=free_bytes // servers,
    )


def choose_settings(
    defaults: Iterable[Setting], promised: Iterable[Setting], by_user: Mapping[str, str]
) -> tuple[Setting, ...]:
    """Merge our settings, those of a durability level, and the user's: the later one wins."""
    # Servers ignore a name's case, or take dashes, too: here it has one spelling.
    requested = [
        Setting(given.lower().replace("-", "_"), value, "asked for")
        for given, value in by_user.items()
    ]
    chosen: dict[str, Setting] = {}
    for setting in (*defaults, *promised, *requested):
        chosen.pop(setting.name, None)  # a replacement goes to the end
        chosen[setting.name] = setting
    return tuple(chosen.values())


def refuse_placed(title: str, settings: Iterable[Setting], placed: Container[str]) -> None:
    """Refuse settings that decide where the server is, or how it is reached: dbdyno does."""
    for setting in settings:
        if setting.name in placed:
            raise DbdynoError(
                "bad_setting",
                f"{setting.name} cannot be set: dbdyno chooses where a private {title} keeps its "
                "data and listens",
                "for other locations or addresses start a server yourself and use --target",
            )


def settings_summary(settings: Iterable[Setting]) -> str:
    """Describe the settings that were chosen for a server."""
    return f"server settings: {', '.join(f'{one.name}={one.value}' for one in settings)}"


def connections_max(connections: int, least: int) -> Setting:
    """Return a setting that admits all clients, and no less than the server's default."""
    value = max(least, connections + CONNECTIONS_SPARE)
    return Setting("max_connections", str(value), "all clients, plus a reserve")


def unknown_setting(title: str, name: str, known: Sequence[str], listing: str) -> DbdynoError:
    """Return the error for an unknown setting; ``listing`` is a command that shows all settings."""
    hint = nearest(name, known, f"{listing} lists them all", least_alike=_LEAST_ALIKE)
    return DbdynoError("unknown_setting", f"{title} has no setting {name!r}", hint)


def refused_setting(title: str, complaint: str) -> DbdynoError:
    """Return the error for a value that the server refuses, in the server's words."""
    return DbdynoError("bad_setting", f"{title} refuses: {complaint}", "see its documentation")


def size_bytes(value: str, bare_unit_bytes: int) -> int:
    """Parse a size as either kind of server does; ``bare_unit_bytes`` is the unit of a bare number.

    Returns 0, which always fits, for a size that cannot be parsed: the server will refuse it.
    """
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        return 0
    number, unit = match.groups()
    return round(float(number) * (_UNIT_BYTES[unit[0].lower()] if unit else bare_unit_bytes))
