"""The settings of a private server: few, each with its reason, and checked before the start.

They suit a machine that serves one database, and are as durable as the server's own defaults:
what dbdyno measures with them is a server that keeps its promises. Nothing that only flatters a
benchmark is touched unless ``--durability`` or the user says so.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError, nearest
from dbdyno.servers.memory_limit import memory_limit_bytes

MIB = 1 << 20
GIB = 1 << 30
CONNECTIONS_SPARE = 20  # for control connections, telemetry and the server's own reserve
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|[kmgt]b?)?", re.ASCII | re.IGNORECASE)
_UNIT_BYTES = {"b": 1, "k": 1 << 10, "m": MIB, "g": GIB, "t": 1 << 40}


class Setting(Struct, frozen=True):
    """One setting that was chosen, and why."""

    name: str
    value: str
    reason: str


class Machine(Struct, frozen=True):
    """What the settings are computed from."""

    memory_bytes: int
    disk_free_bytes: int


def this_machine(folder: Path, server_limit_bytes: int | None = None) -> Machine:
    """The machine we are on, within the limits of its container and the server's own.

    ``folder`` is on the disk that takes the log of changes.
    """
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = (installed, memory_limit_bytes(), server_limit_bytes)
    return Machine(
        memory_bytes=min(limit for limit in limits if limit is not None),
        disk_free_bytes=shutil.disk_usage(folder).free,
    )


def choose_settings(
    ours: Iterable[Setting], promised: Iterable[Setting], theirs: Mapping[str, str]
) -> tuple[Setting, ...]:
    """Ours, then those of a promise of durability, then the user's own: the later one wins."""
    asked = [Setting(name, value, "asked for") for name, value in theirs.items()]
    chosen: dict[str, Setting] = {}
    for setting in (*ours, *promised, *asked):
        chosen.pop(setting.name, None)  # what replaces another comes last
        chosen[setting.name] = setting
    return tuple(chosen.values())


def settings_told(settings: Iterable[Setting]) -> str:
    """What was chosen for a server, for the person who waits."""
    return f"server settings: {', '.join(f'{one.name}={one.value}' for one in settings)}"


def connections_max(connections: int, least: int) -> Setting:
    """Room for all clients, and not less than the server's own default."""
    value = max(least, connections + CONNECTIONS_SPARE)
    return Setting("max_connections", str(value), "all clients, plus a reserve")


def unknown_setting(title: str, name: str, known: Sequence[str], listing: str) -> DbdynoError:
    """The error for a name that the server does not know; ``listing`` shows all it knows."""
    hint = nearest(name, known, f"{listing} lists them all")
    return DbdynoError("unknown_setting", f"{title} has no setting {name!r}", hint)


def refused_setting(title: str, complaint: str) -> DbdynoError:
    """The error for a value that the server does not take, in its own words."""
    return DbdynoError("bad_setting", f"{title} refuses: {complaint}", "see its documentation")


def size_bytes(value: str, bare_unit_bytes: int) -> int:
    """A size as either kind of server reads it; a number alone counts ``bare_unit_bytes``.

    One that cannot be read is the server's to judge: that is 0 here, which fits anywhere.
    """
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        return 0
    number, unit = match.groups()
    return round(float(number) * (_UNIT_BYTES[unit[0].lower()] if unit else bare_unit_bytes))
